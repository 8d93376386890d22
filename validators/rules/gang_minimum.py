"""A gang has a minimum of at least 1: ``minCount`` pods, or ``minGroupCount`` groups."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import CompositeGang, CompositeShape, Gang, LeafShape
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the count.  For the API server, 0 means absent."""
    if context.policy_is_fixed:
        return
    suspects: list[LeafShape | CompositeShape] = [
        each for each in context.templates.validated_leaves if (gang := each.scheduling_policy.gang) and gang.min_count < 1
    ]
    suspects += [
        each
        for each in context.templates.validated_composites
        if (composite_gang := each.scheduling_policy.gang) and composite_gang.min_group_count < 1
    ]
    for shape in suspects:
        count, old = _count(shape.scheduling_policy.gang), context.templates.old(shape)
        # A new gang is refused by another rule, and an unchanged count is not validated again.
        if old is not None and (old.scheduling_policy.gang is None or _count(old.scheduling_policy.gang) == count):
            continue
        name = "minCount" if isinstance(shape, LeafShape) else "minGroupCount"
        path = context.templates.path(shape).join(("schedulingPolicy", "gang", name))
        if count:
            yield field.invalid(path, count, "must be greater than or equal to 1")
        else:
            yield field.required(path, "must be given, and greater than or equal to 1")


def _count(gang: Gang | CompositeGang | None) -> int:
    if gang is None:
        return 0
    return gang.min_count if isinstance(gang, Gang) else gang.min_group_count


RULE = Rule(
    id="gang-minimum",
    kinds=SHAPED,
    why="A gang with a minimum of zero would be scheduled member by member; use the basic policy for that.",
    source="KEP-4671, API; KEP-6012, Scheduling policy",
    check=check,
    relevant_traits=traits.GANG_BELOW_ONE,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 1}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 0}}
""",
            at=("spec.schedulingPolicy.gang.minCount",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {gang: {minGroupCount: -1}}
""",
            at=("spec.schedulingPolicy.gang.minGroupCount",),
        ),
    ),
)
