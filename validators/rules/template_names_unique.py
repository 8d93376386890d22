"""Template names are unique in a Workload, on all levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from kubeapi.workloads import CompositePodGroupTemplate, Template, Workload, WorkloadSpec
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import COMPOSITES, LEAVES, SPEC, Templates
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the item for a duplicate in one list, at the later template's ``name`` for one in different lists.

    "Later" is in the order of the API server: a list of composites comes before the lists below its items.
    """
    if not isinstance(context.new, Workload):
        return
    names = context.templates.names
    if len(set(names)) == len(names):
        return
    yield from _in_one_list(context.templates)
    yield from _across_lists(context.new.spec)


def _in_one_list(templates: Templates) -> Iterator[FieldError]:
    for template_list in templates.lists:
        if not template_list.refused:
            seen: dict[str, int] = {}
            for index, template in enumerate(template_list.new):
                first = seen.setdefault(template.name, index)
                if first != index:
                    yield duplicate(template_list.path / index, template.name, template_list.path / first)


def _across_lists(spec: WorkloadSpec) -> Iterator[FieldError]:
    seen: dict[str, FieldPath] = {}
    for index, leaf in enumerate(spec.pod_group_templates or ()):
        seen.setdefault(leaf.name, SPEC.join((LEAVES, index)))
    stack: list[tuple[FieldPath, WorkloadSpec | CompositePodGroupTemplate]] = [(SPEC, spec)]
    while stack:
        path, holder = stack.pop()
        if isinstance(holder, CompositePodGroupTemplate):
            yield from _one_list(path / LEAVES, holder.pod_group_templates or (), seen)
        composites = holder.composite_pod_group_templates or ()
        yield from _one_list(path / COMPOSITES, composites, seen)
        stack.extend((path.join((COMPOSITES, index)), composites[index]) for index in reversed(range(len(composites))))


def _one_list(path: FieldPath, listed: Sequence[Template], seen: dict[str, FieldPath]) -> Iterator[FieldError]:
    first_paths: dict[str, FieldPath] = {}
    for index, template in enumerate(listed):
        if template.name in seen:
            yield duplicate(path.join((index, "name")), template.name, seen[template.name])
        first_paths.setdefault(template.name, path / index)
    for name, first in first_paths.items():
        seen.setdefault(name, first)


def duplicate(path: FieldPath, name: str, first: FieldPath) -> FieldError:
    """Return the error at a name that is already used at the template *first*."""
    return field.duplicate(path, name, f"must be unique in the whole Workload; already used at {first}")


RULE = Rule(
    id="template-names-unique",
    kinds=WORKLOAD,
    why="A group refers to its template by name only, so two templates with one name make workloadRef ambiguous.",
    source="KEP-6012, API validation: Workload",
    check=check,
    relevant_traits=traits.REPEATED_NAME,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    schedulingPolicy: {basic: {}}
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {basic: {}}
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec.podGroupTemplates[1]",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - name: replica
      schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec.compositePodGroupTemplates[0].podGroupTemplates[0].name",),
        ),
    ),
)
