"""A file is readable, UTF-8, and well-formed YAML or JSON without duplicate keys."""

from __future__ import annotations

from validators.rules.base import About, Example, Profile, Rule, no_check

RULE = Rule(
    id="unreadable",
    kinds=frozenset(),
    about=About.FILE,
    profile=Profile.KEP,
    why="An unreadable file cannot be validated, and parsers disagree about which of two duplicate keys counts.",
    source="YAML 1.1 as kubectl reads it; RFC 8259",
    check=no_check,
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
  schedulingPolicy: {gang: {minCount: 4, minCount: 8}}
""",
            at=("",),
        ),
    ),
)
