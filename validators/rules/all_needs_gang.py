"""Disruption mode All is for gangs: a leaf with the basic policy cannot have it."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import LeafShape
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``disruptionMode`` of leaves.  A composite may have the basic policy and be disrupted as a whole."""
    for leaf in context.templates.with_mode:
        mode = leaf.disruption_mode
        if isinstance(leaf, LeafShape) and mode is not None and mode.all is not None and leaf.scheduling_policy.basic is not None:
            yield field.invalid(
                context.templates.path(leaf) / "disruptionMode",
                "all",
                "must be `single` with the basic scheduling policy: `all` is for a gang",
            )


RULE = Rule(
    id="all-needs-gang",
    kinds=frozenset({"Workload", "PodGroup"}),
    why="Pods with the basic policy are placed one by one and useful one by one, so there is no reason to evict them together.",
    source="KEP-5710 (as Kubernetes 1.37's workloadbuilder and Job API enforce it)",
    check=check,
    relevant_traits=traits.BASIC_LEAF,
    profile=Profile.KEP,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {basic: {}}
  disruptionMode: {all: {}}
""",
            at=("spec.disruptionMode",),
        ),
    ),
)
