"""``minGroupCount`` of a composite template is at most the number of its child templates."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import CompositePodGroupTemplate, CompositeShape
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``minGroupCount``.  A warning only: a controller may create several groups from one template."""
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
            f"must be at most {children}, the number of child templates, unless several groups are created from one template",
        )


def _count(shape: object) -> int | None:
    gang = shape.scheduling_policy.gang if isinstance(shape, CompositeShape) else None
    return None if gang is None else gang.min_group_count


RULE = Rule(
    id="gang-reachable",
    kinds=WORKLOAD,
    why="A minimum that the children cannot reach keeps every pod of the tree pending forever.",
    source="KEP-6012, Scheduling policy; Multi-level gang scheduling",
    check=check,
    relevant_traits=traits.GANG_ABOVE_CHILDREN,
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
