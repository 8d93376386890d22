"""A scheduling policy is exactly one of basic and gang."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import CompositePolicy, CompositeShape, LeafShape, Policy
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``schedulingPolicy``; on an update, only if the members of the union change."""
    if context.policy_is_fixed:
        return
    suspects: list[LeafShape | CompositeShape] = [
        each
        for each in context.templates.validated_leaves
        if (each.scheduling_policy.basic is None) is (each.scheduling_policy.gang is None)
    ]
    suspects += [
        each
        for each in context.templates.validated_composites
        if (each.scheduling_policy.basic is None) is (each.scheduling_policy.gang is None)
    ]
    for shape in suspects:
        policy, old = shape.scheduling_policy, context.templates.old(shape)
        if old is None or _choice(policy) != _choice(old.scheduling_policy):
            yield from checks.union(context.templates.path(shape) / "schedulingPolicy", {"basic": policy.basic, "gang": policy.gang})


def _choice(policy: Policy | CompositePolicy) -> tuple[bool, bool]:
    return policy.basic is not None, policy.gang is not None


RULE = Rule(
    id="policy-union",
    kinds=SHAPED,
    why="Basic places members one by one, gang all or nothing; a group must have exactly one of the two.",
    source="KEP-4671, API; KEP-6012, Scheduling policy",
    check=check,
    relevant_traits=traits.INVALID_POLICY,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy:
    basic: {}
    gang: {minCount: 4}
""",
            at=("spec.schedulingPolicy",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {}
""",
            at=("spec.podGroupTemplates[0].schedulingPolicy",),
        ),
    ),
)
