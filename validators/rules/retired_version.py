"""The API server still serves the version of the object."""

from __future__ import annotations

from validators.rules.base import SHAPED, About, Example, Profile, Rule, no_check

RULE = Rule(
    id="retired-version",
    kinds=SHAPED,
    about=About.SHAPE,
    profile=Profile.KEP,
    why="The API server refuses the object as an unknown kind.  `muster migrate` rewrites it for a current version, keeps all "
    "comments, and lists what could not be converted.",
    source="KEP-4671, API (v1alpha1); KEP-6012, Changes to the PodGroup API (v1alpha2 to v1alpha3)",
    check=no_check,
    good=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            kubernetes="1.36",
        ),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("apiVersion",),
        ),
    ),
)
