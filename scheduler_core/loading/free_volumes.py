"""Free volumes by the claims that they can serve and by node, kept up to date while volumes are reserved, bound and released.

Volumes that serve the same claims are a *group*: its key is a bit set of these claims.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from kubeapi.base_structs import replaced
from kubeapi.selectors import LabelSelector, NodeSelector
from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import ClaimRequest, FreeVolume, VolumeOffer
from scheduler_core.model.nodes import Ints
from scheduler_core.model.volumes import Volume, VolumeObjects

NO_SIZE = np.iinfo(np.int64).max
"""Smallest size on a node without volumes."""
_MOST_REQUESTS = 1000
"""Maximum number of remembered claims; above it, earlier ones are forgotten."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupFigures:
    """Free volumes of a group on each node, as arrays of shape (nodes,).

    Attributes:
        count: their number.
        smallest: size of the smallest in bytes; ``NO_SIZE`` without any.
        largest: size of the largest in bytes; -1 without any.

    """

    count: Ints
    smallest: Ints
    largest: Ints


class FreeVolumes:
    """PersistentVolumes that claims can get.

    Attributes:
        volumes: free volumes by size, then by name, and reserved volumes; reserved ones that were added later are at the end.
        numbers: index of each volume by name.
        places: nodes of the volumes that have node affinity, by index.

    """

    def __init__(self, objects: VolumeObjects, nodes_of: Callable[[NodeSelector], tuple[int, ...]], nodes: int) -> None:
        """Read the volumes of *objects*; *nodes_of* returns the nodes that match a node affinity, of so many *nodes*."""
        self._objects, self._nodes_of, self._size = objects, nodes_of, nodes
        self._places_of: dict[NodeSelector, tuple[int, ...]] = {}
        self._bits: dict[ClaimRequest, int] = {}
        self._key_of_offer: dict[VolumeOffer, int] = {}
        self._changed_nodes: set[int] = set()
        self._groups: dict[int, GroupFigures] = {}
        self.volumes: list[FreeVolume] = []
        self.numbers: dict[str, int] = {}
        self.places: dict[int, tuple[int, ...]] = {}
        self._free: list[bool] = []
        self._keys: list[int] = []
        self._anywhere: list[int] = []
        self._at_node: dict[int, list[int]] = {}
        self._totals: Counter[int] = Counter()
        self._local: Counter[int] = Counter()
        """Free volumes with node affinity."""
        self._wide: Counter[int] = Counter()
        """Free volumes on several nodes."""
        named = [(each.offer.size, name) for name, each in objects.volumes.items() if self._can_be_used(each)]
        for _, name in sorted(named):
            self._append(name, objects.volumes[name])
        self._ordered = len(self.volumes)

    def update(self, name: str) -> bool:
        """Update a volume that was added, changed or removed; return False if everything must be read again."""
        volume, index = self._objects.volumes.get(name), self.numbers.get(name)
        if index is None:
            if volume is None or not self._can_be_used(volume):
                return True
            if _is_free(volume):
                # Its place in the order is not at the end.
                return False
            self._append(name, volume)
            return True
        if volume is None:
            self._set_free(index, free=False)
            del self.numbers[name]
            return True
        known = self.volumes[index]
        if (volume.affinity, _offered(volume)) != (known.affinity, known.offer) or (_is_free(volume) and index >= self._ordered):
            return False
        self._set_free(index, free=_is_free(volume))
        return True

    def everywhere(self, request: ClaimRequest) -> tuple[int, ...]:
        """Return the free volumes without node affinity that can serve *request*, ascending."""
        bit = self._bit(request)
        return tuple(index for index in self._anywhere if self._free[index] and self._keys[index] & bit)

    def on_node(self, request: ClaimRequest) -> Mapping[int, tuple[int, ...]]:
        """Return the other free volumes that can serve *request*, by node, ascending; always up to date."""
        self._bit(request)
        return _OnNode(self, request)

    def matching(self, request: ClaimRequest, node: int) -> tuple[int, ...]:
        """Return the free volumes with node affinity to *node* that can serve *request*, ascending."""
        bit = self._bit(request)
        return tuple(index for index in self._at_node.get(node, ()) if self._free[index] and self._keys[index] & bit)

    def any_local(self, request: ClaimRequest) -> bool:
        """Return whether a free volume with node affinity can serve *request*."""
        bit = self._bit(request)
        return any(count and key & bit for key, count in self._local.items())

    def nodes_with(self, request: ClaimRequest) -> Iterator[int]:
        """Yield the nodes with a free volume that can serve *request*, apart from volumes without node affinity."""
        bit = self._bit(request)
        for node, volumes in self._at_node.items():
            if any(self._free[index] and self._keys[index] & bit for index in volumes):
                yield node

    def groups(self, request: ClaimRequest) -> frozenset[int]:
        """Return the keys of the groups with a free volume that can serve *request*."""
        bit = self._bit(request)
        return frozenset(key for key, count in self._totals.items() if count and key & bit)

    def total(self, key: int) -> int:
        """Return the number of free volumes of a group."""
        return self._totals[key]

    def first(self, key: int) -> int:
        """Return the first free volume of a group, which has one."""
        return next(index for index, each in enumerate(self._keys) if each == key and self._free[index])

    def each_on_one_node(self, key: int) -> bool:
        """Return whether each free volume of a group is on one node."""
        return not self._wide[key]

    def key(self, volume: int) -> int:
        """Return the key of the group of a volume."""
        return self._keys[volume]

    def figures(self, key: int) -> GroupFigures:
        """Return the free volumes of a group on each node; updated by later calls."""
        for node in self._changed_nodes if self._groups else ():
            self._update_node(node)
        self._changed_nodes.clear()
        if (figures := self._groups.get(key)) is None:
            figures = self._groups[key] = self._count(key)
        return figures

    def register(self, requests: Collection[ClaimRequest]) -> None:
        """Distinguish the volumes by whether they can serve *requests*; new ones change the keys of the groups."""
        new = {each for each in map(_of_one_pod, requests) if each not in self._bits}
        if not new:
            return
        if len(self._bits) + len(new) > _MOST_REQUESTS:
            new = {_of_one_pod(each) for each in requests}
            self._bits.clear()
        for each in sorted(new, key=repr):
            self._bits[each] = 1 << len(self._bits)
        self._key_of_offer.clear()
        self._groups.clear()
        for counts in (self._totals, self._local, self._wide):
            counts.clear()
        self._keys = [self._key(each.offer) for each in self.volumes]
        for index, free in enumerate(self._free):
            if free:
                self._bump(index, 1)

    def _bit(self, request: ClaimRequest) -> int:
        self.register((request,))
        return self._bits[_of_one_pod(request)]

    def _key(self, offer: VolumeOffer) -> int:
        if (key := self._key_of_offer.get(offer)) is None:
            key = self._key_of_offer[offer] = sum(bit for request, bit in self._bits.items() if _matches(offer, request))
        return key

    def _can_be_used(self, volume: Volume) -> bool:
        """Return whether a volume is free, or reserved for a claim whose binding is not complete."""
        claim = None if volume.claim is None else self._objects.claims.get(volume.claim)
        return claim is None or not claim.bound

    def _append(self, name: str, volume: Volume) -> None:
        index = len(self.volumes)
        offer = _offered(volume)
        self.volumes.append(FreeVolume(name, offer, volume.affinity))
        self.numbers[name] = index
        self._keys.append(self._key(offer))
        self._free.append(False)
        if volume.affinity is None:
            self._anywhere.append(index)
        else:
            if (places := self._places_of.get(volume.affinity)) is None:
                places = self._places_of[volume.affinity] = self._nodes_of(volume.affinity)
            self.places[index] = places
            for node in places:
                self._at_node.setdefault(node, []).append(index)
        self._set_free(index, free=_is_free(volume))

    def _set_free(self, index: int, *, free: bool) -> None:
        if self._free[index] is not free:
            self._free[index] = free
            self._bump(index, 1 if free else -1)
            self._changed_nodes.update(self.places.get(index, ()))

    def _bump(self, index: int, change: int) -> None:
        """Count a volume that is free, or (*change* -1) not any more; one without nodes is never counted."""
        key, places = self._keys[index], self.places.get(index)
        if places != ():
            self._totals[key] += change
            self._local[key] += change * (places is not None)
            self._wide[key] += change * (places is None or len(places) > 1)

    def _count(self, key: int) -> GroupFigures:
        figures = GroupFigures(*(np.full(self._size, value, dtype=np.int64) for value in (0, NO_SIZE, -1)))
        for index, each in enumerate(self._keys):
            if each == key and self._free[index]:
                for node in self.places.get(index, ()):
                    _add(figures, node, self.volumes[index].offer.size)
        return figures

    def _update_node(self, node: int) -> None:
        for figures in self._groups.values():
            figures.count[node], figures.smallest[node], figures.largest[node] = 0, NO_SIZE, -1
        for index in self._at_node.get(node, ()):
            if self._free[index] and (counted := self._groups.get(self._keys[index])) is not None:
                _add(counted, node, self.volumes[index].offer.size)


class _OnNode(Mapping[int, tuple[int, ...]]):
    """Free volumes that can serve a claim, by node."""

    def __init__(self, volumes: FreeVolumes, request: ClaimRequest) -> None:
        self._volumes, self._request = volumes, request

    def __getitem__(self, node: int) -> tuple[int, ...]:
        if not (found := self._volumes.matching(self._request, node)):
            raise KeyError(node)
        return found

    def __iter__(self) -> Iterator[int]:
        return self._volumes.nodes_with(self._request)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return self._volumes.any_local(self._request)


def _add(figures: GroupFigures, node: int, size: int) -> None:
    figures.count[node] += 1
    figures.smallest[node] = min(figures.smallest[node], size)
    figures.largest[node] = max(figures.largest[node], size)


def _of_one_pod(request: ClaimRequest) -> ClaimRequest:
    """Return *request* of one pod: several pods get the same volumes."""
    return replaced(request, shared="") if request.shared else request


def _is_free(volume: Volume) -> bool:
    return volume.claim is None and volume.offer.available and not volume.offer.deleting


def _offered(volume: Volume) -> VolumeOffer:
    """Return what a volume offers while it is free."""
    offer = volume.offer
    return offer if offer.available and not offer.deleting else replaced(offer, available=True, deleting=False)


def _matches(offer: VolumeOffer, request: ClaimRequest) -> bool:
    """Return whether a free volume with *offer* can serve *request*."""
    if not offer.serves(request):
        return False
    return request.selector is None or selectors.matches(LabelSelector(match_expressions=request.selector), dict(offer.labels))
