"""Volumes of the claims that wait for their first consumer: which free volume each claim takes on a node, or that one is provisioned.

The claims of a pod are tried by size, the smallest first; each takes the smallest free volume that matches (FindMatchingVolume).  A claim
never gives back a volume for another claim.  Claims without a volume must be provisioned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubeapi.base_structs import Record
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.storage import Storage
from scheduler_core.model.volumes import BIND_CONFLICT, ClaimName

NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
PROVISIONED = -1
_MAX_SCORE = 100


class Pick(Record, frozen=True):
    """Volume of a claim: its index in ``Storage.volumes``, or PROVISIONED."""

    claim: str
    request: ClaimRequest
    volume: int = PROVISIONED


Picks = tuple[Pick, ...]


class VolumePicks:
    """Volumes that pods have taken.

    Attributes:
        storage: free volumes and options.
        taken: indices of the volumes that are taken.
        planned: volumes that a search has chosen, or PROVISIONED, by namespace and name of the claim.

    """

    def __init__(self, storage: Storage, running: Iterable[PodRecord] = (), *, sparing: bool = False) -> None:
        """Begin with the volumes of the pods in *running*, which earlier decisions have placed.

        If *sparing*, a claim takes the volume that fewest other claims can use.
        """
        self.storage = storage
        self._sparing = sparing
        self.taken: set[int] = set()
        self.planned: Mapping[ClaimName, int] = {}
        self._shared_volume: dict[str, int] = {}
        self._shared_node: dict[str, int] = {}
        self._users: Counter[str] = Counter()
        for pod in running:
            if pod.node >= 0 and pod.delayed_claims:
                self.assign(pod, pod.node)

    def find(self, pod: PodRecord, node: int, planned: Mapping[ClaimName, int] | None = None) -> Picks | str:
        """Return the volumes of the claims of *pod* on *node*, in the order in which they are tried; or the reason why there are none.

        A claim takes its volume in *planned*, if that is free.
        """
        provisioned: list[Pick] = []
        matching: list[Pick] = []
        for pick in _unbound(pod):
            selected = self._selected(pick.request)
            if selected not in (-1, node):
                return BIND_CONFLICT
            (matching if selected < 0 else provisioned).append(pick)
        matching.sort(key=lambda each: each.request.size or 0)
        chosen: list[Pick] = []
        for pick in matching:
            choice = (planned or {}).get((pod.namespace, pick.claim))
            volume = self._smallest(pick.request, node, {picked.volume for picked in chosen}, choice)
            if volume is None and pick.request.shared in self._shared_volume:
                # kube-scheduler would select this node for a second volume, although the claim already has one.
                return BIND_CONFLICT
            if volume is None:
                provisioned.append(pick)
            else:
                chosen.append(Pick(pick.claim, pick.request, volume))
        for pick in provisioned:
            options = self.storage.options(pick.request)
            if not options.provisioned[node]:
                return NOT_ENOUGH_SPACE if options.lacking[node] else BIND_CONFLICT
        return (*chosen, *provisioned)

    def assign(self, pod: PodRecord, node: int, again: Collection[int] = ()) -> Picks:
        """Record that *pod* is on *node*, and return the volumes of its claims; none if they are not available.

        If only volumes in *again* are available, these are given again.
        """
        picks = _recorded(self.storage, pod) or self.find(pod, node, self.planned)
        if isinstance(picks, str) and again:
            taken, self.taken = self.taken, self.taken.difference(again)
            picks = self.find(pod, node)
            self.taken = taken
        if isinstance(picks, str):
            return ()
        for pick in picks:
            shared = pick.request.shared
            if shared:
                self._users[shared] += 1
            if pick.volume != PROVISIONED:
                self.taken.add(pick.volume)
                if shared:
                    self._shared_volume[shared] = pick.volume
            elif shared:
                self._shared_node[shared] = node
        return picks

    def counted_choice(self, pods: Iterable[tuple[PodRecord, int]]) -> dict[ClaimName, int]:
        """Return different free volumes for the claims of *pods* that rows count, by namespace and name; PROVISIONED if none is left.

        The sets of volumes that claims can use are nested, so the claims with the smallest sets choose first.
        """
        pooled, chosen = self.storage.pooled, dict[ClaimName, int]()
        claims = [(pod, node, pick) for pod, node in pods for pick in _unbound(pod) if pick.request in pooled]
        taken = set(self.taken)
        for pod, node, pick in sorted(claims, key=lambda each: -len(pooled[each[2].request].rows)):
            volume = self._spared(free for free in self.storage.free_on(pick.request, node) if free not in taken)
            chosen[pod.namespace, pick.claim] = PROVISIONED if volume is None else volume
            taken.update(() if volume is None else (volume,))
        return chosen

    def release(self, picks: Picks) -> None:
        """Give back the volumes of a pod."""
        for pick in picks:
            if shared := pick.request.shared:
                self._users[shared] -= 1
                if self._users[shared]:
                    continue
                self._shared_node.pop(shared, None)
                self._shared_volume.pop(shared, None)
            self.taken.discard(pick.volume)

    def selected_node(self, claim: str) -> int:
        """Return the node that is selected for *claim*, which several pods use; -1 if none is."""
        return self._shared_node.get(claim, -1)

    def shared_volume(self, claim: str) -> int:
        """Return the volume of *claim*, which several pods use; -1 if it has none."""
        return self._shared_volume.get(claim, -1)

    def score(self, picks: Picks, node: int) -> int:
        """Return how much is left of the volumes, or else of the storage capacity, in percent; the mean over the classes."""
        static = [each for each in picks if each.volume != PROVISIONED]
        requested: Counter[str] = Counter()
        capacity: dict[str, int] = {}
        for each in static or picks:
            name, size = each.request.storage_class, each.request.size or 0
            if static:
                capacity[name] = capacity.get(name, 0) + self.storage.volumes[each.volume].offer.size
            elif (figure := int(self.storage.options(each.request).capacity[node])) >= 0:
                # All claims of a class are compared with the same figure.
                capacity[name] = figure
            else:
                continue
            requested[name] += size
        return mean_score([(requested[name], capacity[name]) for name in sorted(capacity)])

    def _selected(self, request: ClaimRequest) -> int:
        """Return the node selected for a claim; -1 if there is none."""
        if request.shared and request.shared in self._shared_node:
            return self._shared_node[request.shared]
        return self.storage.options(request).selected

    def _smallest(self, request: ClaimRequest, node: int, chosen: set[int], planned: int | None = None) -> int | None:
        """Return the volume that the claim takes on *node*; None if it must be provisioned."""
        options = self.storage.options(request)
        if request.shared and (volume := self._shared_volume.get(request.shared)) is not None:
            here = volume in options.everywhere or volume in options.on_node.get(node, ())
            return volume if here and volume not in chosen else None
        if options.reserved >= 0:
            return options.reserved if options.reachable is not None and options.reachable[node] else None
        if planned == PROVISIONED and options.provisioned[node]:
            return None
        free = (each for each in self.storage.free_on(request, node) if each not in self.taken and each not in chosen)
        if planned is not None:
            return min(free, key=lambda each: (each != planned, each), default=None)
        if self._sparing:
            return self._spared(free)
        return next(free, None)

    def _spared(self, free: Iterable[int]) -> int | None:
        """Return the volume of *free* that fewest claims can use."""
        return min(free, key=lambda each: (len(self.storage.rows_of_volume(each)), each), default=None)


def mean_score(classes: Iterable[tuple[int, int]]) -> int:
    """Return the rounded mean of the free percentages of (requested, capacity); 0 without any."""
    scores = [_free_percentage(*each) for each in classes]
    # Half of a percent is rounded up.
    return (2 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else 0


def provisioned_storage(pods: Iterable[PodRecord]) -> Counter[tuple[str, int]]:
    """Return the bytes of the volumes that earlier decisions provision for *pods*, by storage class and node.

    A claim that several pods use counts once, and one that had a selected node before the decision does not count.
    """
    used: Counter[tuple[str, int]] = Counter()
    shared: set[str] = set()
    for pod in pods:
        if not pod.picked or pod.node < 0:
            continue
        for pick, volume in zip(_unbound(pod), pod.picked, strict=False):
            if not volume and not pick.request.selected_node and pick.request.shared not in shared:
                shared.update({pick.request.shared} - {""})
                used[pick.request.storage_class, pod.node] += pick.request.size or 0
    return used


def picks_of_running(pods: Iterable[PodRecord], nodes: NodeTable) -> Iterator[tuple[Pick, int]]:
    """Yield the volumes that decisions have recorded for running *pods*, each with its node."""
    if (storage := nodes.storage) is not None:
        recorded = (pod for pod in pods if pod.picked and pod.node >= 0)
        yield from ((pick, pod.node) for pod in recorded for pick in _recorded(storage, pod))


def _recorded(storage: Storage, pod: PodRecord) -> Picks:
    """Return the volumes that a decision has recorded for *pod*."""
    volumes = (storage.numbers.get(name, PROVISIONED) for name in pod.picked)
    return tuple(Pick(pick.claim, pick.request, volume) for pick, volume in zip(_unbound(pod), volumes, strict=False))


def volumes_beyond_requests(picks: Iterable[tuple[Pick, int]], nodes: NodeTable) -> Counter[tuple[int, int]]:
    """Return how many volumes of a row and node *picks*, each with its node, take whose claims do not request that row."""
    storage, found = nodes.storage, Counter[tuple[int, int]]()
    for pick, node in picks if storage is not None else ():
        if storage is not None and pick.volume != PROVISIONED and pick.request in storage.pooled:
            rows = {*storage.rows_of_volume(pick.volume)}.difference(storage.rows([pick.request]))
            found.update((nodes.row[row], node) for row in rows)
    return found


def _free_percentage(requested: int, capacity: int) -> int:
    return 0 if not capacity or requested > capacity else _MAX_SCORE - requested * _MAX_SCORE // capacity


def _unbound(pod: PodRecord) -> Iterable[Pick]:
    requests = (need.request for need in pod.shape.volumes if need.request is not None)
    return (Pick(claim, request) for claim, request in zip(pod.delayed_claims, requests, strict=False))
