"""Groups with other values than the templates from which they were created: the API server accepts them, and their own values count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.groups import Group
from kubeapi.problem import Problem
from kubeapi.workloads import Workload
from scheduler_core.causes.input_problems import TemplateDiffers
from scheduler_core.model.names import Name
from validators.model.objects import namespace_of
from validators.model.templates import TemplatesByName
from validators.object_lookup import Lookup
from validators.rules.tree_matches_templates import differing_fields, template_of


def problems(groups: Iterable[Group], known: Lookup) -> Iterator[Problem]:
    """Yield a problem for each of *groups* that differs from its template; the Workloads are *known*."""
    by_workload: dict[int, TemplatesByName] = {}

    def templates_of(workload: Workload) -> TemplatesByName:
        return by_workload.setdefault(id(workload), TemplatesByName(workload))

    for group in groups:
        template = template_of(group, known, templates_of)
        if template is not None and (names := differing_fields(group, template, known)):
            name = Name(group.kind, namespace_of(group), group.metadata.name)
            yield Problem.about(name, TemplateDiffers(template.name, tuple(f"spec.{each}" for each in names)))
