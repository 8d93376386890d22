"""A field is not used while its feature gate is off."""

from __future__ import annotations

from validators.rules.base import SHAPED, About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="gate-off",
    kinds=SHAPED | {"Pod", "Job", "CronJob"},
    about=About.SHAPE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="The API server silently drops the field, so the setting has no effect: for example, a gang is scheduled pod by pod.",
    source="Kubernetes 1.37.1, feature gates; KEP-6012 and KEP-5732, feature gate markers",
    check=no_check,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: rack}]}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: rack}]}
""",
            at=("spec.schedulingConstraints",),
            gates_off=("TopologyAwareWorkloadScheduling", "CompositePodGroup"),
        ),
    ),
)
