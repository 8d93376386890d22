"""A document among manifests is a Kubernetes object."""

from __future__ import annotations

from validators.rules.base import About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="not-kubernetes",
    kinds=frozenset(),
    about=About.FILE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="A stray document is often one whose separator or head was lost: it would be passed over in silence.",
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
