"""Decoder of the pods of a live cluster, with the requirements of their claims."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Final

import msgspec

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from kubeapi.meta import Struct
from kubeapi.pods import PLACEMENT_GATE, Pod
from scheduler_core.loading.parsed_pod_specs import ParsedPodSpec
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.loading.read_pods import Reader
from scheduler_core.model.volumes import VolumeObjects
from scheduler_core.sidecar.cache.device_cache import DeviceCache
from scheduler_core.sidecar.cache.freshness import Stamp
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED, Ended, LivePod
from scheduler_core.sidecar.writes import Condition


class _EndedStatus(Struct, frozen=True, gc=False):
    """``status`` of a pod that has ended, without the fields of ``kubeapi.pods.PodStatus``."""

    message: str = ""


class _EndedPod(Struct, frozen=True, gc=False):
    """A pod that has ended."""

    status: _EndedStatus = _EndedStatus()


_REJECTED = "Pod was rejected: "
"""Start of the message of a pod that its kubelet did not admit."""
_ENDED_DECODER: Final = msgspec.json.Decoder(_EndedPod)
_MAX_TEXTS = 10_000
"""Maximum number of shared condition messages."""


class PodReader:
    """Decoder of pods."""

    def __init__(self, membership: tuple[str, ...], devices: DeviceCache) -> None:
        self._reader, self._devices = Reader(membership), devices
        self._texts: dict[str, str] = {}

    def read_pod(
        self,
        raw_object: GatheredObjects,
        key: str,
        stamp: Stamp,
        before: LivePod | None,
        volumes: VolumeObjects,
        shared: Container[Name],
    ) -> LivePod | Ended:
        """Return the pod with the requirements of its claims, or ``Ended`` if it has ended; *shared* are claims of several pods.

        It shares texts with *key* (namespace/name), *stamp*, and its earlier state *before*: a cluster has hundreds of thousands of pods.

        Raises:
            Unusable: the pod cannot be used.

        """
        pod = typed(raw_object, Pod)
        name = name_in(raw_object.kind, pod.metadata)
        if (parsed_pod := self._reader.parsed_pod(name, pod)) is None:
            ran = pod.spec.node_name and not _is_rejected(raw_object)
            return Ended(key, self._reader.group(pod) if ran else "")
        parsed_pod.share_texts(key, stamp.uid, before.parsed_pod if before is not None else None)
        pinned_node = "" if PLACEMENT_GATE in parsed_pod.gates else (pod.metadata.annotations or {}).get(PLACEMENT_GATE, "")
        parsed_pod, names_extended = self._with_claims(parsed_pod, volumes, shared), pod.status.extended_resource_claim_status is not None
        return LivePod(parsed_pod.key, stamp, parsed_pod, pinned_node, self._pod_scheduled(pod), names_extended)

    def updated(self, pod: LivePod, volumes: VolumeObjects, shared: Container[Name]) -> LivePod | None:
        """Return *pod* with the requirements and volumes that its claims have now; None if they are the same."""
        before = pod.parsed_pod
        volumes.users.remove(pod.key, before.uses)
        parsed_pod = self._with_claims(before, volumes, shared)
        if parsed_pod.form is before.form and _about_claims(parsed_pod) == _about_claims(before):
            return None
        return LivePod(pod.key, pod.stamp, parsed_pod, pod.pinned_node, pod.pod_scheduled, pod.names_extended)

    def _with_claims(self, parsed_pod: ParsedPod, volumes: VolumeObjects, shared: Container[Name]) -> ParsedPod:
        parsed_pod = self._reader.resolve_claims(self._reader.find_volumes(parsed_pod, volumes), volumes, shared)
        return self._devices.resolved(parsed_pod, self._reader.forms)

    def sweep(self, forms: Collection[ParsedPodSpec]) -> None:
        """Remove cached forms that are not in *forms*, the forms of existing pods."""
        self._reader.retain(forms)

    def __len__(self) -> int:
        """Return the number of known forms."""
        return len(self._reader)

    def _pod_scheduled(self, pod: Pod) -> Condition | None:
        for each in pod.status.conditions or ():
            if each.type == SCHEDULED and each.status != "True":
                # Pods of one group usually have the same message.
                if len(self._texts) > _MAX_TEXTS:
                    self._texts.clear()
                message = self._texts.setdefault(each.message, each.message)
                return Condition(SCHEDULED, each.status, each.reason, message, each.last_transition_time or "")
        return None


def _about_claims(parsed_pod: ParsedPod) -> tuple[object, ...]:
    """Return the fields of *parsed_pod*, apart from its form, that depend on its claims."""
    return parsed_pod.bound_claims, parsed_pod.uses, parsed_pod.named_volumes, parsed_pod.device_claims, parsed_pod.held


def _is_rejected(raw_object: GatheredObjects) -> bool:
    """Return whether the kubelet of a pod that has ended did not admit it."""
    try:
        return _ENDED_DECODER.decode(raw_object.text).status.message.startswith(_REJECTED)
    except ValueError:
        return False
