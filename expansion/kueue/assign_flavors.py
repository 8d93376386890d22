"""Flavors for the parts of a job, tried in the order of the ClusterQueue, and why a part gets none.

Source: Kueue 0.17.0, ``pkg/scheduler/flavorassigner``.
"""

from __future__ import annotations

import enum
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from expansion.kueue.pending import PendingJob, PodSet
from expansion.kueue.queues import Queue, Queues
from expansion.kueue.quota_tree import FlavorResource
from expansion.queue_notes import Mismatch
from kubeapi.base_structs import Record
from kubeapi.decode import section
from kubeapi.kueue import ResourceFlavorSpec
from workloadbuilder.adapters.shared import node_matching

PODS = "pods"
_NEXT = "TryNextFlavor"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_LEAST_BORROWING_FIRST = "PreemptionOverBorrowing"


class Mode(enum.IntEnum):
    """Step that is needed before a part of a job can have a flavor, from the worst to the best."""

    NO_FIT = 0
    WAITS = 1
    PREEMPTS = 2
    RECLAIMS = 3
    FITS = 4


class Possibility(NamedTuple):
    """Result of a trial of preemption for one resource, and the height of the Cohort that lends to it afterwards."""

    mode: Mode
    borrowing: int


Trial = Callable[[FlavorResource, int], Possibility]
"""Returns what preemption does for an amount of a resource."""


class FlavorShortage(Record, frozen=True):
    """Resource of which a flavor has too little now; of which *needed* is what the job needs of it up to this part."""

    resource: FlavorResource
    needed: int
    mode: Mode


class Unsuitable(Record, frozen=True):
    """Flavor whose nodes a part cannot have."""

    flavor: str
    mismatch: Mismatch


class NotCovered(Record, frozen=True):
    """Resource of which the ClusterQueue has no quota."""

    resource: str


Reason = FlavorShortage | Unsuitable | NotCovered


class Assigned(Record, frozen=True):
    """Flavor of one resource of a part."""

    flavor: str
    mode: Mode
    borrowing: int


class PodSetFlavors(Record, frozen=True):
    """Part of a job with the flavors of its resources; reasons if it cannot have them at once."""

    pod_set: PodSet
    count: int
    flavors: Mapping[str, Assigned]
    reasons: tuple[Reason, ...] = ()

    @property
    def mode(self) -> Mode:
        """Return the worst of its resources; without reasons, all fit."""
        if not self.reasons:
            return Mode.FITS
        return min((each.mode for each in self.flavors.values()), default=Mode.NO_FIT)


class Assignment(Record, frozen=True):
    """Flavors of the parts of a job, up to the first one that gets none."""

    parts: tuple[PodSetFlavors, ...]
    usage: Counter[FlavorResource]

    @property
    def mode(self) -> Mode:
        """Return the worst of its parts."""
        return min((each.mode for each in self.parts), default=Mode.NO_FIT)

    @property
    def borrowing(self) -> int:
        """Return the height of the Cohort that lends to the job; 0 if none does."""
        return max((each.borrowing for part in self.parts for each in part.flavors.values()), default=0)

    @property
    def short(self) -> frozenset[FlavorResource]:
        """Return the resources that others would have to give up."""
        flavors = ((name, each) for part in self.parts for name, each in part.flavors.items())
        return frozenset(FlavorResource(each.flavor, name) for name, each in flavors if Mode.NO_FIT < each.mode < Mode.FITS)


class _Rank(NamedTuple):
    mode: Mode
    borrowing: int


_WORST, _BEST = _Rank(Mode.NO_FIT, 2**31), _Rank(Mode.FITS, 0)


class FlavorAssigner:
    """Assigns flavors of one ClusterQueue to the parts of one job; *trial* says what preemption can do."""

    def __init__(self, queues: Queues, queue: Queue, job: PendingJob, trial: Trial) -> None:
        self._queues, self._queue, self._job, self._trial = queues, queue, job, trial

    def assign(self, counts: Sequence[int] = ()) -> Assignment:
        """Return the flavors of the parts, with *counts* of pods if they are given."""
        parts: list[PodSetFlavors] = []
        usage: Counter[FlavorResource] = Counter()
        sets = [*zip(self._job.pod_sets, counts or [each.count for each in self._job.pod_sets], strict=True)]
        together = itertools.count()
        keys = [each.together or f"/{next(together)}" for each, _ in sets]
        for key in dict.fromkeys(keys):
            members = [each for each, own in zip(sets, keys, strict=True) if own == key]
            flavors, reasons = self._of_group(members, usage)
            for pod_set, count in members:
                requests = self._requests(pod_set, count)
                own = {resource: each for resource, each in flavors.items() if resource in requests}
                parts.append(PodSetFlavors(pod_set, count, own, reasons))
                usage.update({FlavorResource(each.flavor, resource): requests[resource] for resource, each in own.items()})
            if any(self._requests(*each) for each in members) and not flavors and reasons:
                break
        return Assignment(tuple(parts), usage)

    def _requests(self, pod_set: PodSet, count: int) -> dict[str, int]:
        requests = {resource: each * count for resource, each in pod_set.requests.items() if resource != PODS}
        return requests | ({PODS: count} if self._queue.group_of(PODS) is not None else {})

    def _of_group(
        self, members: Sequence[tuple[PodSet, int]], usage: Counter[FlavorResource]
    ) -> tuple[dict[str, Assigned], tuple[Reason, ...]]:
        """Return the flavors of parts that must have the same ones, and the reasons why not at once; no flavors if they cannot."""
        requests: Counter[str] = Counter()
        for each in members:
            requests.update(self._requests(*each))
        flavors: dict[str, Assigned] = {}
        reasons: list[Reason] = []
        for resource in sorted(requests):
            index = self._queue.group_of(resource)
            if index is None and not requests[resource]:
                continue
            if index is None:
                return {}, (NotCovered(resource),)
            if resource in flavors:
                continue
            found, why = self._of_resources(index, members, requests, usage)
            if not found:
                return {}, why
            flavors |= found
            reasons += why
        return flavors, tuple(reasons)

    def _of_resources(
        self, index: int, members: Sequence[tuple[PodSet, int]], all_requests: Mapping[str, int], usage: Counter[FlavorResource]
    ) -> tuple[dict[str, Assigned], tuple[Reason, ...]]:
        """Return one flavor for all requested resources of a resource group, and the reasons of the flavors that were tried."""
        group = self._queue.groups[index]
        requests = {resource: each for resource, each in all_requests.items() if resource in (group.covered_resources or ())}
        best: dict[str, Assigned] = {}
        best_rank = _WORST
        reasons: list[Reason] = []
        for flavor in (each.name for each in group.flavors or ()):
            if (mismatch := self._mismatch(flavor, index, members)) is not None:
                reasons.append(Unsuitable(flavor, mismatch))
                continue
            found, rank, why = self._try(flavor, requests, usage)
            reasons += why
            if not self._tries_next(rank):
                best, best_rank = found, rank
                break
            if self._is_better(rank, best_rank):
                best, best_rank = found, rank
        return best, () if best_rank.mode is Mode.FITS else tuple(reasons)

    def _try(
        self, flavor: str, requests: Mapping[str, int], usage: Counter[FlavorResource]
    ) -> tuple[dict[str, Assigned], _Rank, list[Reason]]:
        worst, found, reasons = _BEST, dict[str, Assigned](), list[Reason]()
        for resource in sorted(requests):
            wanted = FlavorResource(flavor, resource)
            needed = usage[wanted] + requests[resource]
            mode, borrowing = self._possibility(wanted, needed)
            if mode is not Mode.FITS:
                reasons.append(FlavorShortage(wanted, needed, mode))
            if self._is_better(worst, _Rank(mode, borrowing)):
                worst = _Rank(mode, borrowing)
            if worst.mode is Mode.NO_FIT:
                break
            found[resource] = Assigned(flavor, mode, borrowing)
        return found, worst, reasons

    def _possibility(self, wanted: FlavorResource, needed: int) -> Possibility:
        node = self._queue.node
        if needed > node.most(wanted):
            return Possibility(Mode.NO_FIT, 0)
        borrowing, can_reclaim = node.borrowing_height(wanted, needed)
        if needed <= max(0, node.available(wanted)):
            return Possibility(Mode.FITS, borrowing)
        if needed <= node.quota(wanted).nominal or can_reclaim or borrows_by_preemption(self._queue):
            return self._trial(wanted, needed)
        return Possibility(Mode.NO_FIT, borrowing)

    def _tries_next(self, rank: _Rank) -> bool:
        """Return whether further flavors are tried after one of this rank."""
        policies = self._queue.spec.flavor_fungibility
        if rank.mode <= Mode.WAITS:
            return True
        if rank.mode in {Mode.PREEMPTS, Mode.RECLAIMS} and policies.when_can_preempt in {"", _NEXT}:
            return True
        return rank.borrowing > 0 and policies.when_can_borrow == _NEXT

    def _is_better(self, one: _Rank, other: _Rank) -> bool:
        if one.mode is Mode.NO_FIT or other.mode is Mode.NO_FIT:
            return one.mode is not Mode.NO_FIT
        if self._queue.spec.flavor_fungibility.preference == _LEAST_BORROWING_FIRST:
            return (-one.borrowing, one.mode) > (-other.borrowing, other.mode)
        return (one.mode, -one.borrowing) > (other.mode, -other.borrowing)

    def _mismatch(self, flavor: str, index: int, members: Sequence[tuple[PodSet, int]]) -> Mismatch | None:
        """Return why the pods of a part cannot have the nodes of a flavor; None if all can."""
        if flavor not in self._queues.flavors:
            return None if flavor in self._queues.assumed else Mismatch.FLAVOR_MISSING
        found = (self._mismatch_of(pod_set, flavor, index) for pod_set, _ in members)
        return next(filter(None, found), None)

    def _mismatch_of(self, pod_set: PodSet, flavor: str, index: int) -> Mismatch | None:
        spec = self._queues.flavors[flavor].spec
        if (mismatch := self._topology_mismatch(pod_set, spec.topology_name, index)) is not None:
            return mismatch
        own = pod_set.spec.get("tolerations")
        tolerations = [*(own if isinstance(own, list) else ()), *tolerations_of(spec)]
        taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in spec.node_taints or ()]
        pod = _selecting(pod_set.spec, self._queue.label_keys[index])
        if not node_matching.runs_on({"tolerations": tolerations}, {"spec": {"taints": taints}}):
            return Mismatch.TAINT
        return None if node_matching.runs_on(pod, {"metadata": {"labels": dict(spec.node_labels or {})}}) else Mismatch.LABELS

    def _topology_mismatch(self, pod_set: PodSet, topology: str, index: int) -> Mismatch | None:
        levels, covered = pod_set.levels, self._queue.groups[index].covered_resources or ()
        if levels is None:
            return Mismatch.TOPOLOGY_REQUIRED if topology and not self._queue.has_topology_only else None
        if not topology:
            # A flavor with other resources only, such as licences, is needed besides one with a Topology.
            return Mismatch.TOPOLOGY_MISSING if pod_set.requests.keys() & set(covered) else None
        known = self._queues.topologies.get(topology, levels)
        return None if set(levels) <= set(known) else Mismatch.LEVEL_MISSING


def borrows_by_preemption(queue: Queue) -> bool:
    """Return whether a ClusterQueue preempts others' Workloads although it uses more than its own quota afterwards."""
    return queue.spec.preemption.borrow_within_cohort.policy not in {"", "Never"}


def tolerations_of(flavor: ResourceFlavorSpec) -> list[dict[str, Any]]:
    """Return the tolerations that the pods of a flavor get, as in a manifest."""
    fields = (
        {
            "key": each.key,
            "operator": each.operator,
            "value": each.value,
            "effect": each.effect,
            "tolerationSeconds": each.toleration_seconds,
        }
        for each in flavor.tolerations or ()
    )
    return [{name: value for name, value in each.items() if value not in {"", None}} for each in fields]


def _selecting(spec: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """Return a pod's node selector and required node affinity, of which only the labels in *keys* count."""
    selector = {key: value for key, value in section(spec, "nodeSelector").items() if key in keys}
    required = section(spec, "affinity", "nodeAffinity", _REQUIRED)
    terms = [[*_expressions(each, keys)] for each in _maps(required.get("nodeSelectorTerms"))]
    if not terms or not all(terms):
        # Terms are alternatives, and one without a condition allows every flavor.
        return {"nodeSelector": selector}
    listed = [{"matchExpressions": each} for each in terms]
    return {"nodeSelector": selector, "affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": listed}}}}


def _expressions(term: Mapping[str, Any], keys: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    return (each for each in _maps(term.get("matchExpressions")) if each.get("key") in keys)


def _maps(listed: object) -> Iterator[Mapping[str, Any]]:
    return (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping))
