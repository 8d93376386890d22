"""Numbers and names that the causes share."""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.resource_names import Quantity
from scheduler_core.model.resource_values import Resource


class NodeCount(Record, frozen=True):
    """Number of nodes for which a cause holds, of *total* examined nodes."""

    count: int
    total: int


class Amount(Record, frozen=True):
    """Amount of a resource.

    It is in the unit of its row: millicores, bytes or a count.
    """

    resource: Resource
    amount: Quantity


class NodeLabel(Record, frozen=True):
    """Nodes whose label *key* has one of *values*."""

    key: str
    values: tuple[str, ...]
