"""Claims to devices of a snapshot whose fields are ignored, or in which PodGroups have no claims because the feature gate is off."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kubeapi.meta import replaced
from scheduler_core.loading.build_pod_shapes import with_needs
from scheduler_core.model.device_claims import DeviceClaim, DeviceNeed
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.options import is_ignored
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot

_FIELD = "spec.resourceClaims"
_OF_GROUP, _OF_POD = ":podgroup/", ":pod/"


def without_ignored_claims(snapshot: ClusterSnapshot, ignore: Collection[str]) -> ClusterSnapshot:
    """Return *snapshot* without the claims in the fields *ignore*."""
    all_ignored = is_ignored(_FIELD, ignore)
    shapes: dict[PodShape, PodShape] = {}
    pods = []
    for pod in snapshot.pods:
        pairs = [
            (claim, need) for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False) if not is_ignored(need.field, ignore)
        ]
        changed = _changed(pod, shapes, tuple(need for _, need in pairs), tuple(claim for claim, _ in pairs), snapshot.nodes)
        pods.append(replaced(changed, held="") if all_ignored and changed.held else changed)
    return dataclasses.replace(snapshot, pods=tuple(pods))


def without_group_claims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return *snapshot* with a claim for each pod instead of each claim that is to be created for a PodGroup."""
    shapes: dict[PodShape, PodShape] = {}
    pods = []
    for pod in snapshot.pods:
        if any(_OF_GROUP in claim.key for claim in pod.device_claims):
            needs = (
                replaced(need, shared="") if _OF_GROUP in claim.key else need
                for claim, need in zip(pod.device_claims, pod.shape.devices, strict=True)
            )
            claims = tuple(_of_pod(pod, claim) if _OF_GROUP in claim.key else claim for claim in pod.device_claims)
            pods.append(_changed(pod, shapes, tuple(needs), claims, snapshot.nodes))
        else:
            pods.append(pod)
    return dataclasses.replace(snapshot, pods=tuple(pods))


def _of_pod(pod: PodRecord, claim: DeviceClaim) -> DeviceClaim:
    label = f"pod/{pod.name}/{claim.label.rpartition('/')[2]}"
    return DeviceClaim(f"{pod.namespace}:{label}", label)


def _changed(
    pod: PodRecord, shapes: dict[PodShape, PodShape], needs: tuple[DeviceNeed, ...], claims: tuple[DeviceClaim, ...], nodes: NodeTable
) -> PodRecord:
    """Return *pod* with these claims; *shapes* has the changed shapes by the original."""
    if claims == pod.device_claims and needs == pod.shape.devices:
        return pod
    if (shape := shapes.get(pod.shape)) is None:
        shape = shapes[pod.shape] = with_needs(pod.shape, needs, nodes)
    return replaced(pod, shape=shape, device_claims=claims)
