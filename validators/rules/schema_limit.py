"""Every number fits into its type: counts and priorities into 32 bits."""

from __future__ import annotations

from validators.model.objects import KINDS
from validators.rules.base import About, Example, Rule, no_check

RULE = Rule(
    id="schema-limit",
    kinds=frozenset(KINDS) - {"Node"},
    about=About.SHAPE,
    why="The API server cannot decode a number that does not fit into its type.",
    source="Kubernetes 1.37.1, types of scheduling.k8s.io",
    check=no_check,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 2147483647}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 2147483648}}
""",
            at=("spec.schedulingPolicy.gang.minCount",),
        ),
    ),
)
