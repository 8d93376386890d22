"""Every document is a Kubernetes object."""

from __future__ import annotations

from validators.rules.base import About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="not-kubernetes",
    kinds=frozenset(),
    about=About.FILE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="A document that is not an object often lost its separator or its first lines, and would be ignored silently.",
    source="kubectl, reading of manifests",
    check=no_check,
    good=(
        Example("""\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
"""),
    ),
    bad=(
        Example(
            """\
replicas: 4
image: train
""",
            at=("",),
        ),
    ),
)
