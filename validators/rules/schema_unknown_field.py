"""The API knows every field."""

from __future__ import annotations

from validators.model.objects import KINDS
from validators.rules.base import About, Example, Rule, no_check

RULE = Rule(
    id="schema-unknown-field",
    kinds=frozenset(KINDS) - {"Node"},
    about=About.SHAPE,
    why="The API server silently drops unknown fields, so the setting has no effect.",
    source="KEP-4671, KEP-5732, KEP-6012, KEP-6089; field names of Kubernetes 1.37.1",
    check=no_check,  # ``validators.schema`` creates the error, with a similar field: "did you mean ...?"
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
  schedulingPolicy: {gang: {minCount: 4}, minMember: 4}
  podGroupTemplateRef: {workloadName: train}
""",
            at=("spec.podGroupTemplateRef", "spec.schedulingPolicy.minMember"),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMod: {all: {}}  # misspelt
""",
            at=("spec.disruptionMod",),
            fixed="""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}  # misspelt
""",
        ),
    ),
)
