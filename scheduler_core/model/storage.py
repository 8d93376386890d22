"""Options of the claims that wait for their first consumer, by node: free volumes, and volumes that can be provisioned."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.delayed_claims import ClaimRequest, Expressions, FreeVolume
from scheduler_core.model.resource_values import VolumesOfClass

_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]


NamedCapacity = tuple[tuple[str, str], Expressions | None]
"""Namespace and name of a storage capacity, and the node labels that it selects."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Storage capacities of a class.

    Attributes:
        of_node: shape (nodes,): index of the only storage capacity that the node matches; -1 if it is not the only one, or not known.
        capacities: bytes.

    """

    of_node: _Ints
    capacities: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClaimOptions:
    """Options of one claim specification.

    Attributes:
        provisioned: shape (nodes,): nodes for which a volume can be provisioned.
        lacking: shape (nodes,): nodes for which a volume could be provisioned if there were more storage capacity.
        capacity: shape (nodes,): bytes of the storage capacity that the score counts; -1 if there is none.
        largest: shape (nodes,): bytes of the largest volume that can be provisioned; -1 if that is not compared.
        largest_index: shape (nodes,): index into ``named_capacities`` of the storage capacity with ``largest``; -1 if there is none.
        named_capacities: the storage capacities of the class by namespace and name, with the node labels that they select.
        provisions: whether the class has a provisioner.
        everywhere: free volumes without node affinity, as indices of ``Storage.volumes``, ascending.
        on_node: other free volumes by node, ascending.
        reserved: index of the volume that is reserved for the claim; -1 if there is none.
        reserved_size: size of that volume in bytes.
        reachable: shape (nodes,): nodes that match the node affinity of ``reserved``.
        selected: index of the selected node; -1 if none is selected, -2 if it does not exist.
        segments: storage capacities of the class, if they are compared with the claim and one is known.

    """

    provisioned: _Bools
    lacking: _Bools
    capacity: _Ints
    largest: _Ints
    largest_index: _Ints
    named_capacities: tuple[NamedCapacity, ...] = ()
    provisions: bool = False
    everywhere: tuple[int, ...] = ()
    on_node: Mapping[int, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    reserved: int = -1
    reserved_size: int = 0
    reachable: _Bools | None = None
    selected: int = -1
    segments: Segments | None = None

    @property
    def matches(self) -> bool:
        """Return whether free volumes match the claim."""
        return bool(self.everywhere or self.on_node)

    def segment_label(self, node: int) -> tuple[str, tuple[str, ...]] | None:
        """Return the node label and values that select the largest storage capacity of *node*; None if that is not one simple expression."""
        _, expressions = self.named_capacities[int(self.largest_index[node])]
        if expressions and len(expressions) == 1 and expressions[0].operator == "In":
            return expressions[0].key, tuple(expressions[0].values or ())
        return None

    def volumes_on(self, node: int) -> Iterable[int]:
        """Return the free volumes on *node*, the smallest first."""
        local = self.on_node.get(node, ())
        return sorted((*local, *self.everywhere)) if local and self.everywhere else local or self.everywhere


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PooledClaim:
    """A claim whose volumes are counted by node.

    Attributes:
        rows: names of the resources of which it requests one each.
        sizes: shape (nodes,): size of its volumes on a node in bytes, -1 without one; None if it matters which of them a claim takes.

    """

    rows: tuple[str, ...]
    sizes: _Ints | None


class FreeVolumesByNode(Protocol):
    """Volumes that claims can get."""

    @property
    def volumes(self) -> Sequence[FreeVolume]:
        """Return the volumes; free ones are ordered by size, then by name."""

    @property
    def numbers(self) -> Mapping[str, int]:
        """Return the index of each volume by name."""

    @property
    def places(self) -> Mapping[int, tuple[int, ...]]:
        """Return the nodes of the volumes that have node affinity, by index."""


class StorageObjects(Protocol):
    """Claims, volumes and classes, compared with the labels of nodes."""

    @property
    def free(self) -> FreeVolumesByNode:
        """Return the volumes that claims can get."""

    def key(self, volume: int) -> int:
        """Return the key of the volumes that serve the same claims as *volume*."""

    def options(self, request: ClaimRequest) -> ClaimOptions:
        """Return the options of *request*."""


class Storage:
    """Volumes, and the options of claim specifications, computed on first use.

    Attributes:
        pooled: the claims whose volumes are counted by node.
        resources: resources that count volumes, by the claims that these volumes serve.
        rows_of_key: names of the resources that count a volume, by the key of the volumes that serve the same claims.

    """

    def __init__(self, objects: StorageObjects) -> None:
        self._objects = objects
        self._options: dict[ClaimRequest, ClaimOptions] = {}
        self.pooled: dict[ClaimRequest, PooledClaim] = {}
        self.resources: dict[frozenset[ClaimRequest], VolumesOfClass] = {}
        self.rows_of_key: dict[int, tuple[str, ...]] = {}

    @property
    def volumes(self) -> Sequence[FreeVolume]:
        """Return the volumes; free ones are ordered by size, then by name."""
        return self._objects.free.volumes

    @property
    def numbers(self) -> Mapping[str, int]:
        """Return the index of each volume by name."""
        return self._objects.free.numbers

    def rows_of_volume(self, volume: int) -> tuple[str, ...]:
        """Return the names of the resources that count a volume; none for volumes that are not counted."""
        return self.rows_of_key.get(self._objects.key(volume), ())

    def options(self, request: ClaimRequest) -> ClaimOptions:
        """Return the options of a claim with this specification."""
        if (options := self._options.get(request)) is None:
            options = self._options[request] = self._objects.options(request)
        return options

    def names_of_volumes(self, request: ClaimRequest) -> list[str]:
        """Return the names of the free volumes that match *request*, sorted."""
        options = self.options(request)
        return sorted(self.volumes[index].name for index in {*options.everywhere}.union(*options.on_node.values()))

    def forget(self, requests: Container[ClaimRequest]) -> None:
        """Compute options again on their next use, except those of *requests* for one volume or one node."""
        kept = ((each, options) for each, options in self._options.items() if options.reserved >= 0 or options.selected != -1)
        self._options = {each: options for each, options in kept if each in requests}

    def one_by_one(self, requests: Iterable[ClaimRequest]) -> bool:
        """Return whether the volumes of a pod with these *requests* depend on the volumes of other pods."""
        return any(each.shared or (self.options(each).matches and self.sizes(each) is None) for each in requests)

    def counted(self, requests: Iterable[ClaimRequest]) -> bool:
        """Return whether the volumes of a pod with these *requests* are all counted by node, or provisioned."""
        return all(not each.shared and (each in self.pooled or not self.options(each).matches) for each in requests)

    def sizes(self, request: ClaimRequest) -> _Ints | None:
        """Return ``PooledClaim.sizes``; None for a claim that is not counted."""
        return self.pooled[request].sizes if request in self.pooled else None

    def rows(self, requests: Iterable[ClaimRequest]) -> list[str]:
        """Return the names of the resources that a pod with these *requests* requests, one of each entry."""
        return [name for each in requests if each in self.pooled for name in self.pooled[each].rows]

    def nodes_of(self, volume: int) -> tuple[int, ...] | None:
        """Return the nodes of a volume by its index; None for all nodes, none for a volume that is provisioned."""
        return () if volume < 0 else self._objects.free.places.get(volume)

    def free_on(self, request: ClaimRequest, node: int) -> Iterator[int]:
        """Yield the volumes that match *request* on *node*, the smallest first."""
        yield from self.options(request).volumes_on(node)
