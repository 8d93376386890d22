"""``basic.desiredCount`` of a v1alpha1 Workload is positive."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.api_versions import V1ALPHA1
from validators import field
from validators.field import FieldError
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the count.  In later versions ``desiredCount`` is an unknown field."""
    for leaf in context.templates.validated_leaves:
        basic = leaf.scheduling_policy.basic
        if basic is not None and basic.desired_count is not None and basic.desired_count < 1:
            path = context.templates.path(leaf).join(("schedulingPolicy", "basic", "desiredCount"))
            yield field.invalid(path, basic.desired_count, "must be greater than or equal to 1")


RULE = Rule(
    id="desired-count",
    kinds=WORKLOAD,
    why="The count is a hint for how many pods a placement should have capacity for; zero or a negative number has no meaning.",
    source="KEP-4671, Basic Policy Extension",
    check=check,
    on=CREATE_AND_UPDATE,
    forms=frozenset({V1ALPHA1}),
    good=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: train}
spec:
  podGroups:
  - name: workers
    policy: {basic: {desiredCount: 8}}
""",
            kubernetes="1.35",
        ),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: train}
spec:
  podGroups:
  - name: workers
    policy: {basic: {desiredCount: 0}}
""",
            at=("spec.podGroups[0].policy.basic.desiredCount",),
            kubernetes="1.35",
        ),
    ),
)
