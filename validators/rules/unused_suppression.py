"""A suppression gives its reason, names a rule that exists, and hides something."""

from __future__ import annotations

from validators.rules.base import About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="unused-suppression",
    kinds=frozenset(),
    about=About.FILE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="A suppression that outlives its fault hides the next one.",
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
  annotations: {muster.dev/ignore: "gang-minimum: to be mended next week"}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("metadata.annotations[muster.dev/ignore]",),
        ),
    ),
)
