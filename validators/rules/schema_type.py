"""Every value has the JSON type of its field."""

from __future__ import annotations

from validators.model.objects import KINDS
from validators.rules.base import About, Example, Rule, no_check

RULE = Rule(
    id="schema-type",
    kinds=frozenset(KINDS),
    about=About.SHAPE,
    why="The API server cannot decode such an object; often a template engine put quotes around a number, or YAML read a word as a "
    "boolean.",
    source="Kubernetes 1.37.1, types of scheduling.k8s.io",
    check=no_check,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: "no", labels: {revision: "7"}}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: no, labels: {revision: 7}}
spec:
  schedulingPolicy: {gang: {minCount: "4"}}
""",
            at=("metadata.name", "metadata.labels[revision]", "spec.schedulingPolicy.gang.minCount"),
            fixed="""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: "no", labels: {revision: "7"}}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
        ),
    ),
)
