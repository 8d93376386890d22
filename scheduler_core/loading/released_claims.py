"""Claims to devices that are allocated, and what their pods need once they are not."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator

from kubeapi.meta import replaced
from scheduler_core.loading.build_pod_shapes import with_needs
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.model.device_claims import DeviceClaim, DeviceNeed, DeviceObjects, KnownClaim, name_of, spec_of
from scheduler_core.model.devices import ClaimSpec
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot


def allocated_needs(parsed_pod: ParsedPod) -> Iterator[tuple[DeviceClaim, DeviceNeed]]:
    """Yield the claims of *parsed_pod* that exist and are allocated, with what it needs of each."""
    for claim, need in zip(parsed_pod.device_claims, parsed_pod.form.devices, strict=False):
        if need.allocated is not None and claim.exists:
            yield claim, need


def is_releasable(namespace: str, known: KnownClaim, is_running: Callable[[str], bool]) -> bool:
    """Return whether a claim of *namespace* is reserved for running pods only, of which *is_running* tells by key."""
    return bool(known.consumers) and all(kind == "pods" and is_running(f"{namespace}/{user}") for kind, user in known.consumers)


def with_released_claims(snapshot: ClusterSnapshot, released: Collection[str]) -> ClusterSnapshot:
    """Return *snapshot* with pods that need devices for the claims *released*, which were allocated before."""
    waiting = [pod for pod in snapshot.pods if pod.node < 0 and any(claim.key in released for claim in pod.device_claims)]
    if not released or not waiting or snapshot.devices is None:
        return snapshot
    users = Counter(claim.key for pod in waiting for claim in pod.device_claims)
    serials = itertools.count(1 + max(pod.shape.serial for pod in snapshot.pods))
    shapes: dict[tuple[PodShape, tuple[DeviceNeed, ...]], PodShape] = {}
    changed: dict[str, PodRecord] = {}
    for pod in waiting:
        needs = tuple(_needs(pod, snapshot.devices, {key for key in released if users[key] > 1}, released))
        if (shape := shapes.get((pod.shape, needs))) is None:
            shape = dataclasses.replace(with_needs(pod.shape, needs, snapshot.nodes), serial=next(serials))
            shapes[pod.shape, needs] = shape
        changed[pod.key] = replaced(pod, shape=shape)
    return dataclasses.replace(snapshot, pods=tuple(changed.get(pod.key, pod) for pod in snapshot.pods))


def _needs(pod: PodRecord, devices: DeviceObjects, shared: Collection[str], released: Collection[str]) -> Iterator[DeviceNeed]:
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=True):
        if claim.key in released:
            yield released_need(need.field, devices.claims[name_of(claim.key)].spec, claim.key if claim.key in shared else "")
        else:
            yield need


def released_need(field: str, specs: ClaimSpec | str, shared: str) -> DeviceNeed:
    """Return what a pod needs in *field* once its claim is not allocated; *shared* is the claim if several pods use it."""
    spec, refusal = spec_of(specs)
    return DeviceNeed(field, spec, refusal=refusal, shared=shared)
