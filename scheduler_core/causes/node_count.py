"""Numbers and names that the causes share."""

from __future__ import annotations

import dataclasses

from kubeapi.resource_names import Quantity
from scheduler_core.model.resource_values import Resource


@dataclasses.dataclass(frozen=True, slots=True)
class NodeCount:
    """Number of nodes for which a cause holds, of *total* examined nodes."""

    count: int
    total: int


@dataclasses.dataclass(frozen=True, slots=True)
class Amount:
    """Amount of a resource.

    It is in the unit of its row: millicores, bytes or a count.
    """

    resource: Resource
    amount: Quantity


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLabel:
    """Nodes whose label *key* has one of *values*."""

    key: str
    values: tuple[str, ...]
