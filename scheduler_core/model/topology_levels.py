"""Levels of the topology: the node labels that locate a machine, widest first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.nodes import NodeTable

KNOWN = (
    *("region", "zone", "datacenter", "room", "row", "block", "gce-topology-block", "network-node-layer-1"),
    *("subblock", "gce-topology-subblock", "network-node-layer-2", "rack", "network-node-layer-3"),
)
"""Last parts of label keys for the location of a machine, as clouds and operators name them."""
LEGACY = "failure-domain.beta.kubernetes.io/"
"""Prefix of the keys for zone and region before 1.17, which exist in addition to the new ones."""


def levels(nodes: NodeTable, requested: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the levels, widest first: *requested*, and well-known keys that nest with them.

    Keys without nodes, keys that divide the nodes like another key, and keys with a value for each node are omitted.
    """
    wanted = frozenset(key for key in requested if key and key != HOSTNAME and nodes.column(key).values)
    if (known := nodes.levels.get(wanted)) is None:
        known = nodes.levels[wanted] = _levels(nodes, wanted)
    return known


def _levels(nodes: NodeTable, requested: Iterable[str]) -> tuple[str, ...]:
    selected: list[str] = []
    for key in sorted(requested):
        if not any(_contains(nodes, other, key) and _contains(nodes, key, other) for other in selected):
            selected.append(key)
    for key in _known(nodes):
        apart = len(nodes.column(key).values) >= max(len(nodes), 2)
        if key not in selected and not apart and all(_goes_with(nodes, key, other) for other in selected):
            selected.append(key)
    ordered: list[str] = []
    for key in sorted(selected, key=lambda key: (_rank(key), len(nodes.column(key).values), key)):
        inner = (place for place, other in enumerate(ordered) if _contains(nodes, key, other))
        ordered.insert(next(inner, len(ordered)), key)
    return tuple(ordered)


def _known(nodes: NodeTable) -> list[str]:
    keys = {key for labels in nodes.labels for key in labels}
    return sorted((key for key in keys if _rank(key) < len(KNOWN) and not key.startswith(LEGACY)), key=lambda key: (_rank(key), key))


def _rank(key: str) -> int:
    """Return the rank of a topology key by its name, the widest level first; unknown names are last."""
    last = key.rpartition("/")[2]
    return KNOWN.index(last) if last in KNOWN else len(KNOWN)


def _goes_with(nodes: NodeTable, known: str, other: str) -> bool:
    """Return whether one level is inside the other; if the values do not show it, the names of the keys do."""
    within, around = _contains(nodes, other, known), _contains(nodes, known, other)
    return within != around or (not within and _rank(other) not in {_rank(known), len(KNOWN)})


def _contains(nodes: NodeTable, outer: str, inner: str) -> bool:
    """Return whether each domain of *inner* is in one domain of *outer*."""
    wide, narrow = nodes.column(outer), nodes.column(inner)
    labelled = narrow.ids >= 0
    around, within = wide.ids[labelled], narrow.ids[labelled]
    some_of = np.full(len(narrow.values), -1, dtype=np.int64)
    some_of[within] = around
    return bool((around >= 0).all() and (some_of[within] == around).all())
