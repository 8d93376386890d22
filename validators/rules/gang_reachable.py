"""A composite template asks for no more groups than it has child templates."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.workload import CompositePodGroupTemplate, CompositeShape
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Tells at ``minGroupCount``.  Only a warning: a controller may make several groups of one template."""
    for template in context.templates.validated_composites:
        gang = template.scheduling_policy.gang
        if gang is None or not isinstance(template, CompositePodGroupTemplate):
            continue
        children = len(template.pod_group_templates or ()) + len(template.composite_pod_group_templates or ())
        if not children or gang.min_group_count <= children or _count(context.templates.old(template)) == gang.min_group_count:
            continue
        yield field.invalid(
            context.templates.path(template).join(("schedulingPolicy", "gang", "minGroupCount")),
            gang.min_group_count,
            f"must be at most {children}, the number of child templates, unless several groups are made of one template: else it is never reached",
        )


def _count(shape: object) -> int | None:
    gang = shape.scheduling_policy.gang if isinstance(shape, CompositeShape) else None
    return None if gang is None else gang.min_group_count


RULE = Rule(
    id="gang-reachable",
    kinds=WORKLOAD,
    why="A minimum that no set of children can reach keeps every pod of the tree pending for ever.",
    source="KEP-6012, Scheduling policy; Multi-level gang scheduling",
    check=check,
    where=traits.GANG_ABOVE_CHILDREN,
    on=CREATE_AND_UPDATE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: serve}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {gang: {minGroupCount: 2}}
    podGroupTemplates:
    - name: prefill
      schedulingPolicy: {gang: {minCount: 4}}
    - name: decode
      schedulingPolicy: {gang: {minCount: 8}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: serve}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {gang: {minGroupCount: 3}}
    podGroupTemplates:
    - name: prefill
      schedulingPolicy: {gang: {minCount: 4}}
    - name: decode
      schedulingPolicy: {gang: {minCount: 8}}
""",
            at=("spec.compositePodGroupTemplates[0].schedulingPolicy.gang.minGroupCount",),
        ),
    ),
)
