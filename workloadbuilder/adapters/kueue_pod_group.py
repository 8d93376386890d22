"""Pod group of Kueue (pods with the label ``kueue.x-k8s.io/pod-group-name``): a podset for each role, which the pods of one shape have.

Source: Kueue 0.17.0, ``pkg/controller/jobs/pod`` (``constructGroupPodSets``), ``pkg/util/pod`` (``SpecShape``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi import decode
from kubeapi.decode import Json, section
from kubeapi.names import Name
from validators.field import FieldError
from workloadbuilder.adapters.shared import kueue_podsets, pod_template
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import WHOLE, Owner

_SHAPE = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)


def read_pod_group(group: Name, pods: Sequence[Json], known: Known) -> Reading:
    """Read a complete pod group; *pods* are sorted by their ranks.

    It has no tree if Kueue's annotations require no domain for its pods.
    """
    roles: dict[bytes, list[Json]] = {}
    for pod in pods:
        roles.setdefault(_role(section(pod, "spec")), []).append(pod)
    errors: list[FieldError] = []
    planned = [
        PlannedPods(pod_template.read_pod_template(Fields(members[0], WHOLE, errors)), f"role-{index}", (_plan(members),))
        for index, members in enumerate(roles.values())
    ]
    reading = Reading(Owner("v1", "Pod", group.name), group.namespace, errors=tuple(errors))
    return kueue_podsets.grouped(reading, planned, "pod-group", known)


def _role(spec: Mapping[str, Json]) -> bytes:
    """Return what the pods of one role have in common."""
    containers = [
        [[section(each, "resources").get("requests"), each.get("ports")] for each in listed if isinstance(each, Mapping)]
        for name in ("initContainers", "containers")
        for listed in [spec.get(name)]
        if isinstance(listed, list)
    ]
    return decode.encode([containers, *(spec.get(each) for each in _SHAPE)])


def _plan(pods: Sequence[Json]) -> PodPlan:
    def make(_: Positions, number: int) -> dict[str, Json]:
        pod: dict[str, Json] = copied(pods[number])
        return pod

    return PodPlan("", len(pods), make, collected=True)
