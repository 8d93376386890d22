"""Numbers and names that the causes share."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class NodeCount:
    """Number of nodes for which a cause holds, of *total* examined nodes."""

    count: int
    total: int


@dataclasses.dataclass(frozen=True, slots=True)
class Amount:
    """Amount of a resource, in the unit of its row: millicores, bytes or a count."""

    resource: str
    value: int


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLabel:
    """Nodes whose label *key* has one of *values*."""

    key: str
    values: tuple[str, ...]
