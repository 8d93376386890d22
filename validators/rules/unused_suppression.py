"""A suppression has a reason, names an existing rule and hides a finding."""

from __future__ import annotations

from validators.rules.base import About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="unused-suppression",
    kinds=frozenset(),
    about=About.FILE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="A suppression that is no longer needed would hide the next finding of its rule.",
    source="Muster: `muster.dev/ignore` and `# muster: ignore[rule-id] reason`",
    check=no_check,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  # muster: ignore[all-needs-gang] the pods checkpoint together, see the design
  disruptionMode: {all: {}}
  schedulingPolicy: {basic: {}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: workers
  annotations: {muster.dev/ignore: "gang-minimum: to be fixed next week"}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("metadata.annotations[muster.dev/ignore]",),
        ),
    ),
)
