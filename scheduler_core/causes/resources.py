"""Causes about requests: which resource is short on the nodes that a pod can use, and how much of it.

Amounts are in the unit of the resource's row: millicores, bytes or a count.
"""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from kubeapi.resource_names import Quantity
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.model.resource_values import Resource


class ComparedNodes(enum.StrEnum):
    """Nodes whose size is compared with a request."""

    OWN = "own"
    """The only node of a pod that names its node, such as a pod of a DaemonSet."""
    ALL = "all"
    USABLE = "usable"
    """The nodes that no plugin excludes; there are others."""


class InsufficientResource(Record, frozen=True):
    """Sum over the usable nodes that is too small for the pods that still need a node.

    Attributes:
        free: amount that is free on the usable nodes, or taken there by pods of the same group.
        needed: amount that the pods of the group need there together.
        nodes: number of usable nodes.

    """

    resource: Resource
    free: Quantity
    needed: Quantity
    nodes: int


class NoneFree(Record, frozen=True):
    """Resource of which nothing is left, such as the volumes of a storage class."""

    resource: Resource


class RequestTooLarge(Record, frozen=True):
    """Request of one pod that no node can satisfy even if it is empty; *largest* is the most that one node has."""

    resource: Resource
    needed: Quantity
    largest: Quantity
    compared_nodes: ComparedNodes


class FragmentedResource(Record, frozen=True):
    """Resource of which enough is free in sum, but no node has enough for one pod.

    Attributes:
        needed: request of one pod.
        free: amount that is free on the usable nodes.
        largest: the most that is free on one node.
        others_fit: True if other pods of the group fit; *free* is what they leave.

    """

    resource: Resource
    needed: Quantity
    free: Quantity
    largest: Quantity
    others_fit: bool


class FragmentedResources(Record, frozen=True):
    """Requests of one pod, each satisfied by some node, but by no node together."""

    amounts: tuple[Amount, ...]


class InsufficientOnNodes(Record, frozen=True):
    """Requests of one pod that some of the usable nodes do not satisfy."""

    amounts: tuple[Amount, ...]
    nodes: NodeCount


ResourceCause = InsufficientResource | NoneFree | RequestTooLarge | FragmentedResource | FragmentedResources | InsufficientOnNodes
