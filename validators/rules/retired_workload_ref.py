"""A pod refers to its group by ``schedulingGroup``; ``workloadRef`` of v1alpha1 was removed in Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import LAST_WITH_WORKLOAD_REF
from validators import field
from validators.field import FieldError
from validators.rules.base import PODS, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``workloadRef``; its target is not looked up."""
    if context.pod_spec.workload_ref is not None and context.settings.minor > LAST_WITH_WORKLOAD_REF:
        yield field.forbidden(
            context.pod_path / "workloadRef",
            "was removed in Kubernetes 1.36, and servers drop it silently: create a PodGroup from the Workload's template and set "
            "schedulingGroup.podGroupName, as muster migrate does",
        )


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  workloadRef: {name: train, podGroup: workers, podGroupReplicaKey: replica-0}
  containers: [{name: main, image: train}]
"""

RULE = Rule(
    id="retired-workload-ref",
    kinds=PODS,
    profile=Profile.KEP,
    why="Newer servers silently drop the field: the pod is then scheduled alone, without its gang.  `muster migrate` creates the "
    "PodGroups of the Workload and sets them in the pods.",
    source="KEP-4671, Associating Pod into PodGroups; KEP-6012, Changes to the PodGroup API",
    check=check,
    good=(
        Example(_POD, kubernetes="1.35"),
        Example(
            _POD.replace(
                "workloadRef: {name: train, podGroup: workers, podGroupReplicaKey: replica-0}", "schedulingGroup: {podGroupName: workers}"
            )
        ),
    ),
    bad=(Example(_POD, at=("spec.workloadRef",)),),
)
