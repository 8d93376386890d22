"""The group, version and kind of an object are not those of a known kind with one letter that is wrong."""

from __future__ import annotations

from validators.rules.base import POD_TEMPLATES, SHAPED, About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="kind-known",
    kinds=SHAPED | POD_TEMPLATES,
    about=About.SHAPE,
    at_admission=Severity.OFF,
    profile=Profile.KEP,
    why="The API server refuses an object of a kind that it does not serve, and no other rule can validate it.  Kinds of all projects that "
    "Muster reads are known; objects of other kinds are not judged, and counted.",
    source="kubectl: no matches for kind",
    check=no_check,
    good=(
        Example("""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: registry.example/web:1}]}
"""),
        Example("""\
apiVersion: example.com/v1
kind: Deployment
metadata: {name: web}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: sheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("apiVersion",),
            fixed="""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
        ),
        Example(
            """\
apiVersion: ray.io/v1
kind: RayClustr
metadata: {name: tune}
""",
            at=("kind",),
            fixed="""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tune}
""",
        ),
        Example(
            """\
apiVersion: v1
kind: Deployment
metadata: {name: web}
""",
            at=("apiVersion",),
            fixed="""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
""",
        ),
    ),
)
