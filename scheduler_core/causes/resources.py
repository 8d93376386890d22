"""Causes about requests: which resource is short on the nodes that a pod can use, and how much of it.

Amounts are in the unit of the resource's row: millicores, bytes or a count.
"""

from __future__ import annotations

import dataclasses
import enum

from scheduler_core.causes.node_count import Amount, NodeCount


class ComparedNodes(enum.StrEnum):
    """Nodes whose size is compared with a request."""

    OWN = "own"
    """The only node of a pod that names its node, such as a pod of a DaemonSet."""
    ALL = "all"
    USABLE = "usable"
    """The nodes that no plugin excludes; there are others."""


@dataclasses.dataclass(frozen=True, slots=True)
class InsufficientResource:
    """Sum over the usable nodes that is too small for the pods that still need a node.

    Attributes:
        free: amount that is free on the usable nodes, or taken there by pods of the same group.
        needed: amount that the pods of the group need there together.
        nodes: number of usable nodes.

    """

    resource: str
    free: int
    needed: int
    nodes: int


@dataclasses.dataclass(frozen=True, slots=True)
class NoneFree:
    """Resource of which nothing is left, such as the volumes of a storage class."""

    resource: str


@dataclasses.dataclass(frozen=True, slots=True)
class RequestTooLarge:
    """Request of one pod that no node can satisfy even if it is empty; *largest* is the most that one node has."""

    resource: str
    needed: int
    largest: int
    compared: ComparedNodes


@dataclasses.dataclass(frozen=True, slots=True)
class FragmentedResource:
    """Resource of which enough is free in sum, but no node has enough for one pod.

    Attributes:
        needed: request of one pod.
        free: amount that is free on the usable nodes.
        largest: the most that is free on one node.
        others_fit: True if other pods of the group fit; *free* is what they leave.

    """

    resource: str
    needed: int
    free: int
    largest: int
    others_fit: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FragmentedResources:
    """Requests of one pod, each satisfied by some node, but by no node together."""

    amounts: tuple[Amount, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class InsufficientOnNodes:
    """Requests of one pod that some usable nodes do not satisfy; ``nodes.total`` is the number of usable nodes."""

    amounts: tuple[Amount, ...]
    nodes: NodeCount


ResourceCause = InsufficientResource | NoneFree | RequestTooLarge | FragmentedResource | FragmentedResources | InsufficientOnNodes
