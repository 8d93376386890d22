"""Templates cannot be added to a Workload or removed from it; their order may change."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field, gates
from validators.field import FieldError
from validators.rules.base import UPDATE_ONLY, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at an added item, and at a list for a removed item.  Templates are matched by name."""
    if context.form.templates_fixed:
        return
    for template_list in context.templates.lists:
        if template_list.immutable and template_list.new:
            yield field.forbidden(template_list.path, f"may not change while the feature gate {gates.COMPOSITE} is off")
        for index in template_list.added:
            yield field.forbidden(
                template_list.path / index, f"item may not be added: {template_list.new[index].name!r} is not in the old list"
            )
        for name in template_list.removed:
            yield field.forbidden(template_list.path, f"item may not be removed: {name!r} is missing")


_BEFORE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    schedulingPolicy: {basic: {}}
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
"""
_REORDERED = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
  - name: driver
    schedulingPolicy: {basic: {}}
"""

RULE = Rule(
    id="template-lists-fixed",
    kinds=WORKLOAD,
    why="Groups were created from these templates and refer to them by name.",
    source="KEP-6012, Changes to the Workload API; Kubernetes 1.37.1 (which forbids adding and removing, not reordering)",
    check=check,
    on=UPDATE_ONLY,
    good=(Example(_REORDERED, old=_BEFORE),),
    bad=(
        Example(_BEFORE.replace("driver", "launcher"), old=_BEFORE, at=("spec.podGroupTemplates[0]", "spec.podGroupTemplates")),
        Example("".join(_BEFORE.splitlines(keepends=True)[:-2]), old=_BEFORE, at=("spec.podGroupTemplates",)),
    ),
)
