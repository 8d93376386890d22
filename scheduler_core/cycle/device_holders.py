"""Counted devices that the eviction of a running pod frees, as requests of the pod."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Container, Iterable

from kubeapi.meta import replaced
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.base import StatefulPlugin
from scheduler_core.plugins.dynamic_resources import device_allocation

_FIRST_SERIAL = 2**41
"""Above the serials of all shapes of pods."""


def named_claims(pods: Iterable[PodRecord]) -> frozenset[str]:
    """Return the keys of the claims of *pods* that exist."""
    return frozenset(claim.key for pod in pods for claim in pod.device_claims if claim.exists)


def keep_claims(plugins: Iterable[StatefulPlugin], claims: frozenset[str]) -> None:
    """Let *claims*, by key, keep their devices when their users are evicted, because pods that stay are to use them."""
    if (allocation := device_allocation(plugins)) is not None:
        allocation.keep_claims(claims)


class DeviceHolders:
    """Shapes of running pods that request the counted devices which their eviction frees.

    kube-scheduler frees no device when it tries an eviction (*freed* False).  Otherwise a claim that is reserved for one pod alone is free
    when the pod is evicted, unless it is kept for pods without a node.  Devices of claims with several users are not counted in rows.
    """

    def __init__(self, *, freed: bool) -> None:
        self._freed = freed
        self._shapes: dict[tuple[PodShape, tuple[tuple[int, int], ...]], PodShape] = {}
        self._serials = itertools.count(_FIRST_SERIAL)

    def reshaped(self, snapshot: ClusterSnapshot, kept: Container[str]) -> ClusterSnapshot:
        """Return *snapshot* with these shapes; claims with a key in *kept* keep their devices."""
        counted = snapshot.nodes.counted
        if not counted:
            return snapshot
        held = self._held(snapshot, kept) if self._freed else {}
        pods = tuple(
            self._with_devices(pod, held.get(pod.key), snapshot) if pod.node >= 0 and (pod.key in held or pod.shape.devices) else pod
            for pod in snapshot.pods
        )
        return dataclasses.replace(snapshot, pods=pods)

    def _held(self, snapshot: ClusterSnapshot, kept: Container[str]) -> dict[str, Counter[tuple[str, str]]]:
        """Return the counted devices of claims that are reserved for one pod alone, by row and node, by pod."""
        devices, rows = snapshot.devices, snapshot.nodes.device_rows
        found: dict[str, Counter[tuple[str, str]]] = {}
        if devices is None or rows is None:
            return found
        for (namespace, name), claim in devices.claims.items():
            if f"{namespace}/{name}" in kept:
                continue
            allocation = devices.allocated.get(f"{namespace}/{name}")
            if allocation is not None and len(claim.consumers) == 1 and claim.consumers[0][0] == "pods":
                pod = f"{namespace}/{claim.consumers[0][1]}"
                found.setdefault(pod, Counter()).update(rows.in_use([allocation]))
        return found

    def _with_devices(self, pod: PodRecord, held: Counter[tuple[str, str]] | None, snapshot: ClusterSnapshot) -> PodRecord:
        nodes = snapshot.nodes
        # Pods that a decision has placed request the devices of their claims.
        more = Counter({row: amount for row, amount in pod.shape.requests if row in nodes.counted and self._freed})
        for (row, node), number in (held or {}).items():
            if node == nodes.names[pod.node]:
                more[nodes.row[row]] += number
        requests = tuple(sorted({**{row: amount for row, amount in pod.shape.requests if row not in nodes.counted}, **more}.items()))
        if requests == pod.shape.requests:
            return pod
        at = pod.shape, requests
        if (shape := self._shapes.get(at)) is None:
            shape = self._shapes[at] = dataclasses.replace(pod.shape, serial=next(self._serials), requests=requests)
        return replaced(pod, shape=shape)
