"""DynamicResources: claims of pods to devices.

Claims that are allocated, and claims that no node can satisfy, depend on the pod alone.  Devices for other claims are found pod by pod: a
device that an earlier pod has taken is not free for later pods.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler_core.causes.claims import SelectorNotEvaluated
from scheduler_core.causes.filter_reasons import DeviceError, SearchUnfinished
from scheduler_core.causes.plugin_failures import AttemptEnded, FilterFailed
from scheduler_core.model import selectors
from scheduler_core.model.device_claims import DeviceClaim, DeviceLack, DeviceShortage
from scheduler_core.model.devices import CANNOT_ALLOCATE, UNAVAILABLE, Allocation
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.volumes import ClaimName
from scheduler_core.plugins.base import ClusterEvent, Filters, Refusal, StatefulPlugin, StaticPlugin, normalised
from scheduler_core.plugins.claim_allocation import ClaimAllocation
from scheduler_core.plugins.pod_counts import PodCounts

if TYPE_CHECKING:
    # Clusters without devices do not load the allocator.
    from scheduler_core.plugins.devices.assumed_claims import AssumedClaims

NAME = "DynamicResources"
DEVICES_LACKING = Refusal(NAME, CANNOT_ALLOCATE)
DEVICES_UNAVAILABLE = Refusal(NAME, UNAVAILABLE)
WEIGHT = 2


class DynamicResources(StaticPlugin):
    """Claims that exclude all nodes, and nodes that can use the devices of allocated claims."""

    name = NAME
    weight = WEIGHT
    events = frozenset({ClusterEvent.NODE, ClusterEvent.DEVICE})

    def pre_filter(self, shape: PodShape) -> str:
        """Return the reason why a claim excludes all nodes; empty if none does."""
        return next((need.refusal for need in shape.devices if need.refusal), "")

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if a claim is allocated to some nodes only, or to devices that cannot be used.

        A second one is for claims to allocate, if only some nodes reach devices for them, used or not.
        """
        masks: list[Bools] = []
        for need in shape.devices:
            if need.unavailable:
                masks.append(np.zeros(len(self.nodes), dtype=bool))
            elif need.allocated is not None and need.allocated.nodes is not None:
                masks.append(selectors.node_mask(need.allocated.nodes, self.nodes))
        reach = self.nodes.device_reach
        reaching = [reach[need.spec] for need in shape.devices if need.spec is not None and need.spec in reach]
        filters = ((CANNOT_ALLOCATE, reaching), (UNAVAILABLE, masks))
        return [(reason, np.logical_and.reduce(each)) for reason, each in filters if each]


class DeviceAllocation(ClaimAllocation):
    """Devices for claims that are not allocated.

    kube-scheduler does not free a device when it tries the eviction of a pod.  If *sparing*, a claim is free when all its users are evicted.
    """

    name = NAME
    weight = WEIGHT
    events = frozenset({ClusterEvent.NODE, ClusterEvent.DEVICE})
    about_pods = False
    narrows = True

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        # Assumed pods whose devices are counted: which devices they have does not matter before the decision.
        self._postponed: dict[str, tuple[PodRecord, int]] = {}

    @functools.cached_property
    def claims(self) -> AssumedClaims | None:
        """Claims of assumed pods; None if no devices are known."""
        if self.counts.devices is None:
            return None
        from scheduler_core.plugins.devices.assumed_claims import AssumedClaims

        return AssumedClaims(self.counts.nodes, self.counts.devices, exact=not self.sparing)

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether devices must be found for pods of *shape*."""
        return bool(shape.devices) and any(need.allocates for need in shape.devices)

    def touches(self, pod: PodRecord) -> bool:
        """Return whether the devices of *pod* depend on which devices other pods take; else its requests count them."""
        return pod.shape.picks_devices

    def counted(self, pod: PodRecord) -> bool:
        """Return whether the devices of *pod* are counted by node."""
        return pod.shape.counts_devices

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:  # noqa: ARG002 - devices are counted everywhere
        """Return the filters for *pod*, each with the nodes that it is the first to exclude; masks have the shape of *nodes*."""
        if self.claims is None or not self.touches(pod):
            return []
        reasons = self.claims.reasons(pod, nodes)
        found = dict.fromkeys(filter(None, reasons))
        return [(reason, np.array([other != reason for other in reasons], dtype=bool)) for reason in found]

    def failure(self, pod: PodRecord) -> FilterFailed | None:
        """Return the error that ends the attempt to place *pod* on the nodes filtered last; None if there is none."""
        error = self.claims.error if self.claims is not None and self.touches(pod) else None
        return FilterFailed(NAME, error.error) if error is not None else None

    def attempt_ended(self) -> AttemptEnded | None:
        """Return what ``failure``, which ended an attempt, means; None if it was not the cause."""
        error = self.claims.error if self.claims is not None else None
        return None if error is None else AttemptEnded(not error.everywhere, error.advice)

    def errors(self) -> Iterator[DeviceError | SearchUnfinished]:
        """Yield the errors that are values among the reasons of the nodes filtered last; with advice only if they do not end an attempt."""
        for failed in self.claims.failed if self.claims is not None else ():
            if isinstance(failed.error, SearchUnfinished):
                yield failed.error
            elif failed.advice is not None and (self.sparing or (failed.of_pool and self.counts.nodes.behavior.skips_incomplete_pools)):
                yield DeviceError(failed.error, failed.advice)

    def unevaluated(self, pod: PodRecord) -> Iterator[SelectorNotEvaluated]:
        """Yield the selectors of the claims of *pod* that could not be evaluated for a device, which was left out."""
        if self.claims is None:
            return
        for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
            extended = need.extended.requests if need.extended is not None else ()
            requests = need.spec.requests if need.spec is not None else [request for _, of_name in extended for request in of_name]
            for alternative in (alternative for request in requests for alternative in request.alternatives):
                if (selector := self.claims.found.unevaluated(alternative, claim.named)) is not None:
                    yield selector

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:  # noqa: ARG002 - as in ``filters``
        """Return the preference of the alternatives that the pod gets on *nodes*."""
        specs = [need.spec for need in pod.shape.devices if need.spec is not None]
        if self.claims is None or not any(wanted.name for spec in specs for request in spec.requests for wanted in request.alternatives):
            return np.zeros(len(nodes), dtype=np.int64)
        return np.array([self.claims.score(pod, node) for node in nodes.tolist()], dtype=np.int64)

    def normalise(self, raw: Ints) -> Ints:
        """Return the scores scaled to 0-100 by the largest."""
        return normalised(raw) if len(raw) else raw

    def most_pods(self, pod: PodRecord, nodes: Nodes) -> Ints | None:
        """Return an upper bound of the pods like *pod* for each of *nodes*, by their free devices; None if there is none.

        kube-scheduler can end an attempt with an error where the bound is too low, so there is one only if *sparing*.
        """
        needs = [need for need in pod.shape.devices if need.allocates]
        if self.claims is None or not self.sparing or not self.touches(pod) or any(need.shared or need.extended for need in needs):
            return None
        bounds: Ints = np.full(len(nodes), np.iinfo(np.int32).max, dtype=np.int64)
        known: dict[Hashable, int | None] = {}
        for number, node in enumerate(nodes.tolist()):
            state = self.claims.found.states.state(node)
            if state not in known:
                known[state] = self.claims.most(pod, node)
            if (most := known[state]) is not None:
                bounds[number] = most
        return bounds

    @property
    def evictions_help(self) -> bool:
        """Return whether evictions free devices."""
        return self.sparing

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether the devices of *pod* can be missing for *other*."""
        if not self.touches(other):
            return False
        return self.used_by(pod.shape) if pod.node < 0 else self.sparing and self.claims is not None and self.claims.holds(pod)

    @property
    def keeps_state(self) -> bool:
        """Return whether devices or claims are known."""
        return self.counts.devices is not None

    def add_pod(self, pod: PodRecord, node: int) -> None:
        """Take the devices of *pod* on *node*; a running pod has its devices already, unless it was removed."""
        if self.claims is None:
            return
        if pod.node >= 0:
            self.claims.restore_pod(pod)
        elif self.touches(pod):
            self.claims.assume(pod, node)
        elif self.claims.allocates(pod):
            self._postponed[pod.key] = pod, node

    def plan_claims(self, volumes: Mapping[ClaimName, int], devices: Mapping[str, Allocation]) -> None:  # noqa: ARG002 - for VolumeBinding
        """Let claims take their devices in *devices*, by key, when their pods are added."""
        if self.claims is not None:
            self.claims.planned = devices

    def remove_pod(self, pod: PodRecord, node: int) -> None:  # noqa: ARG002 - it is known
        """Give back the devices of *pod*; those of an evicted pod only if *sparing*."""
        if self.claims is None:
            return
        if pod.key in self._postponed:
            del self._postponed[pod.key]
        elif pod.node < 0 and self.used_by(pod.shape):
            self.claims.forget(pod)
        elif pod.node >= 0 and self.sparing:
            self.claims.evict(pod)

    def keep_claims(self, claims: frozenset[str]) -> None:
        """Let *claims*, by key, keep their devices when their users are evicted."""
        if self.claims is not None:
            self.claims.keep(claims)

    def _allocate_postponed(self) -> None:
        if self._postponed and self.claims is not None:
            for pod, node in self._postponed.values():
                self.claims.assume(pod, node)
            self._postponed.clear()

    def reach_invalid_pools(self, nodes: Nodes) -> Bools:
        """Return which of *nodes* reach an invalid pool: then that is kube-scheduler's reason why they have no devices."""
        return self.claims.found.pools.reach_invalid(nodes) if self.claims is not None else np.zeros(len(nodes), dtype=bool)

    def lacks(self, pod: PodRecord, nodes: Nodes) -> list[DeviceLack]:
        """Return for each of *nodes* why it has no devices for *pod*; empty if a claim excludes all nodes."""
        self._allocate_postponed()
        return self.claims.lacks(pod, nodes) if self.claims is not None and self.used_by(pod.shape) else []

    def free_devices(self, pod: PodRecord, short: DeviceShortage, nodes: Nodes) -> int:
        """Return the number of devices of *nodes* that are free for the request in *short*; -1 if that is no limit for pods."""
        self._allocate_postponed()
        return self.claims.free_devices(pod, short, nodes) if self.claims is not None and self.used_by(pod.shape) else -1

    def exchanged(self, pod: PodRecord) -> bool:
        """Return whether claims of *pod*, which is assumed, have the devices of other claims."""
        return self.claims is not None and self.claims.exchanged(pod)

    def settle(self) -> None:
        """Treat the claims of all assumed pods as allocated."""
        self._allocate_postponed()
        if self.claims is not None:
            self.claims.settle()

    def allocations(self, pod: PodRecord) -> Sequence[tuple[DeviceClaim, Allocation]]:
        """Return the claims of *pod*, which is assumed, that are allocated."""
        self._allocate_postponed()
        return () if self.claims is None or not pod.device_claims else self.claims.allocations(pod)


def device_allocation(plugins: Iterable[StatefulPlugin]) -> DeviceAllocation | None:
    """Return the plugin of *plugins* that allocates devices; None if it is not among them."""
    return next((each for each in plugins if isinstance(each, DeviceAllocation)), None)
