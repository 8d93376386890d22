"""Pods of a live cluster, reduced to the fields that decisions need.

A pod counts on a node if it is bound there; if a bind of ours is in flight (it is *assumed* there); or if our scheduling gate is
removed and its node selector and annotation *pin* it to that node.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kubeapi.base_structs import MutableRecord
from kubeapi.gather import Name
from kubeapi.meta import replaced
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED, ParsedPod
from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.sidecar.cache.freshness import Stamp
from scheduler_core.sidecar.writes import Condition, Ref

SCHEDULED = "PodScheduled"
"""Type of the pod condition with the reason why a pod has no node."""


_NO_VOLUMES: Mapping[str, str] = MappingProxyType({})


class LivePod(MutableRecord, gc=False, eq=False):
    """A pod that has not ended."""

    key: str
    stamp: Stamp
    parsed_pod: ParsedPod
    pinned_node: str
    """Node in the annotation that is set when our gate is removed; empty if there is none, or while the gate exists."""
    pod_scheduled: Condition | None
    """Its condition PodScheduled, as watched or as last written."""
    names_extended: bool = False
    """True if its status names a claim for extended resources."""
    assumed: str = ""
    """Node of a bind or gate removal that is in flight, or confirmed but not yet watched; empty if none."""
    assumed_volumes: Mapping[str, str] = _NO_VOLUMES
    """Volume of each claim without a volume for the assumed node, empty for one that is provisioned."""
    acknowledged: bool = False
    """Whether the API server has confirmed the assumed bind."""
    deletion_assumed: bool = False
    """Whether its eviction or deletion is decided but not yet watched."""
    evicted: bool = False
    """Whether the deletion is a preemption."""
    assumed_nomination: str | None = None
    """Written nomination that is not yet watched, empty if cleared; None: the watched nomination holds."""
    record: PodRecord | None = None
    """Its record for placement; None until first used or after a change."""
    counted: PodShape | None = None
    """Its shape, as added to the usage; None if not counted."""
    counted_node: int = -1
    """The index of the node on which it is counted; -1: none."""
    affinity_record: PodRecord | None = None
    """Record under which it is counted for affinity and topology spread."""

    @property
    def name(self) -> Name:
        """Namespace and name."""
        return self.parsed_pod.name

    @property
    def ref(self) -> Ref:
        """Reference to the pod for writes."""
        return Ref("Pod", *self.parsed_pod.name, self.stamp.uid)

    @property
    def gated_by_us(self) -> bool:
        """Return whether our scheduling gate is its only one."""
        return self.parsed_pod.gates == (PLACEMENT_GATE,)

    @property
    def nominated(self) -> str:
        """Its nominated node; empty if none."""
        return self.parsed_pod.nominated if self.assumed_nomination is None else self.assumed_nomination

    def keep_assumed(self, before: LivePod) -> None:
        """Copy the assumed changes of *before*, unless the watch already shows them."""
        if before.stamp.uid != self.stamp.uid:
            return
        if not self.parsed_pod.node and not self.pinned_node:
            self.assumed, self.assumed_volumes, self.acknowledged = before.assumed, before.assumed_volumes, before.acknowledged
        self.deletion_assumed, self.evicted = before.deletion_assumed and not self.parsed_pod.terminating, before.evicted
        if not self.parsed_pod.node and self.parsed_pod.nominated != before.assumed_nomination:
            self.assumed_nomination = before.assumed_nomination

    def take_status(self, after: LivePod) -> None:
        """Take over the version, conditions and times of *after*, a later state of this pod that counts as this one does."""
        self.stamp, self.parsed_pod, self.pod_scheduled, self.record = after.stamp, after.parsed_pod, after.pod_scheduled, None

    def with_assumed(self, record: PodRecord) -> PodRecord:
        """Return *record* of this pod with its assumed deletion and volumes."""
        if self.deletion_assumed and not record.terminating:
            record = replaced(record, terminating=True, preempted=self.evicted)
        elif self.evicted and record.terminating:
            record = replaced(record, preempted=True)
        if self.parsed_pod.delayed_claims and self.assumed:
            picked = tuple(self.assumed_volumes.get(each, "") for each in self.parsed_pod.delayed_claims)
            record = replaced(record, picked=picked)
        return record


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """A pod that has ended (phase Succeeded or Failed)."""

    key: str
    group: str
    """The name of its PodGroup; empty if it had no group or no node, or if its kubelet did not admit it: it never ran."""


def pinned_hostname(pod: LivePod) -> str:
    """Return the host name in the node selector of a pod; empty if none."""
    return next((value for key, value in pod.parsed_pod.form.node_selector if key == HOSTNAME), "")


class PodCache:
    """Pods by key and by group, with indices for nominated and assumed pods."""

    def __init__(self) -> None:
        self.pods: dict[str, LivePod] = {}
        self._members: dict[Name, dict[str, LivePod]] = {}
        self._ended: dict[str, Name] = {}
        self._ended_of: Counter[Name] = Counter()
        self.without_node: dict[str, LivePod] = {}
        """Pods that are not bound."""
        self.nominated: dict[str, LivePod] = {}
        """Pods without a node that have a nominated node."""
        self.assumed_or_pinned: dict[str, LivePod] = {}
        """Pods that are not bound but are assumed on or pinned to a node, even if that node does not exist."""
        self.with_delayed_claims: dict[str, LivePod] = {}
        """Pods with claims that wait for their first consumer."""
        self.with_disks: dict[str, LivePod] = {}
        """Pods with inline disks."""
        self.with_device_claims: dict[str, LivePod] = {}
        """Pods without a node that have claims to devices, or extended resources that devices can provide."""
        self.of_claims = PodsByClaim(_claims)
        """Pods by the persistent volume claims that they use."""
        self.of_device_claims = PodsByClaim(_device_claims)
        """Pods by the ResourceClaims that they name, or that were created for them or their PodGroup."""

    def add_or_update(self, pod: LivePod) -> LivePod | None:
        """Add or replace *pod* and return the pod that it replaces, if any."""
        before = self.remove(pod.key)
        self.pods[pod.key] = pod
        if not pod.parsed_pod.node:
            self.without_node[pod.key] = pod
        if pod.parsed_pod.group:
            self._members.setdefault((pod.name[0], pod.parsed_pod.group), {})[pod.key] = pod
        if (pod.parsed_pod.containers or pod.parsed_pod.entries) and not pod.parsed_pod.node:
            self.with_device_claims[pod.key] = pod
        if pod.parsed_pod.attached is not NOTHING_ATTACHED:
            if pod.parsed_pod.delayed_claims:
                self.with_delayed_claims[pod.key] = pod
            if pod.parsed_pod.disks:
                self.with_disks[pod.key] = pod
            for index in (self.of_claims, self.of_device_claims):
                index.add(pod)
        return before

    def end(self, ended: Ended) -> None:
        """Count a pod as ended until the next ``remove`` of its key."""
        if ended.group:
            name = (ended.key.partition("/")[0], ended.group)
            self._ended[ended.key] = name
            self._ended_of[name] += 1

    def ended(self, namespace: str, group: str) -> int:
        """Return the number of pods of a PodGroup that had a node and have ended."""
        return self._ended_of[namespace, group]

    def has_ended(self, key: str) -> bool:
        """Return whether the pod of that key had a node and has ended."""
        return key in self._ended

    def remove(self, key: str) -> LivePod | None:
        """Remove a pod and return it, if it existed."""
        if (name := self._ended.pop(key, None)) is not None:
            self._ended_of[name] -= 1
            if not self._ended_of[name]:
                del self._ended_of[name]
        pod = self.pods.pop(key, None)
        if pod is None:
            return None
        self.without_node.pop(key, None)
        self.nominated.pop(key, None)
        self.assumed_or_pinned.pop(key, None)
        self.with_device_claims.pop(key, None)
        if pod.parsed_pod.group:
            _remove(self._members, (pod.name[0], pod.parsed_pod.group), key)
        if pod.parsed_pod.attached is not NOTHING_ATTACHED:
            self.with_delayed_claims.pop(key, None)
            self.with_disks.pop(key, None)
            for index in (self.of_claims, self.of_device_claims):
                index.remove(pod)
        return pod

    def index_assumed_or_pinned(self, pod: LivePod) -> None:
        """Update the index of pods that are assumed or pinned but not bound."""
        if not pod.parsed_pod.node and (pod.pinned_node or pod.assumed):
            self.assumed_or_pinned[pod.key] = pod
        else:
            self.assumed_or_pinned.pop(pod.key, None)

    def members(self, namespace: str, group: str) -> tuple[LivePod, ...]:
        """Return the pods of a PodGroup."""
        return tuple(self._members.get((namespace, group), {}).values())

    def grouped_or_pending(self) -> Iterator[LivePod]:
        """Yield the pods that name a group or are not bound."""
        for members in self._members.values():
            yield from members.values()
        yield from (pod for pod in self.without_node.values() if not pod.parsed_pod.group)

    def groups(self) -> Iterator[Name]:
        """Return the names of the PodGroups that pods name, existing or not."""
        return iter(self._members)


class PodsByClaim:
    """Pods by the claims that they use, as *claims* returns them; contains the claims that several pods without a node use."""

    def __init__(self, claims: Callable[[LivePod], set[Name]]) -> None:
        self._claims = claims
        self._pods: dict[Name, dict[str, LivePod]] = {}
        self._pending: Counter[Name] = Counter()

    def add(self, pod: LivePod) -> None:
        """Add a pod that is not there."""
        for claim in self._claims(pod):
            self._pods.setdefault(claim, {})[pod.key] = pod
            if not pod.parsed_pod.node:
                self._pending[claim] += 1

    def remove(self, pod: LivePod) -> None:
        """Remove a pod as it was added."""
        for claim in self._claims(pod):
            _remove(self._pods, claim, pod.key)
            if not pod.parsed_pod.node:
                self._pending[claim] -= 1
            if claim not in self._pods:
                del self._pending[claim]

    def pods(self, claim: Name) -> tuple[LivePod, ...]:
        """Return the pods that use *claim*."""
        return tuple(self._pods.get(claim, {}).values())

    def __contains__(self, claim: object) -> bool:
        """Return whether several pods without a node use *claim*."""
        return isinstance(claim, tuple) and self._pending[claim] > 1

    def shared_anew(self, before: LivePod | None, after: LivePod | None) -> Iterator[str]:
        """Yield the pods without a node of the claims that are shared, or not any more, since *after* is there instead of *before*."""
        old, new = ({*self._claims(pod)} if pod is not None and not pod.parsed_pod.node else set[Name]() for pod in (before, after))
        for claim in sorted(old ^ new):
            # Two have become one, or one two.
            if self._pending[claim] == (1 if claim in old else 2):
                yield from (pod.key for pod in self.pods(claim) if not pod.parsed_pod.node)


def _claims(pod: LivePod) -> set[Name]:
    """Return the persistent volume claims of a pod."""
    return {(pod.name[0], claim.name) for claim in pod.parsed_pod.claims}


def _device_claims(pod: LivePod) -> set[Name]:
    """Return the ResourceClaims that a pod names or that were created for it, and those that its PodGroup has for it."""
    named = {(pod.name[0], name) for each in pod.parsed_pod.entries if (name := each.claim or each.created)}
    return named | {(pod.name[0], each.key.partition("/")[2]) for each in pod.parsed_pod.device_claims if each.of_group}


def _remove(index: dict[Name, dict[str, LivePod]], name: Name, key: str) -> None:
    pods = index[name]
    del pods[key]
    if not pods:
        del index[name]
