"""Counts with nouns, lists in words, and nouns for the domains of a topology key."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 4
"""Maximum number of domains, groups or reasons in a list; the rest is counted."""
VALUES = 3
"""Maximum number of values of a node label that are named."""
_REGULAR = frozenset(
    {"node", "host", "rack", "row", "room", "hall", "building", "datacenter", "zone", "region"}
    | {"block", "superblock", "subblock", "spine", "partition", "segment", "pool", "domain"}
)
"""Levels whose name has a regular plural; that of other keys need not be a word."""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 pod``, ``2000 pods``; without separators, as in Kubernetes' messages."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], most: int = SHOWN) -> str:
    """Return a list in words: ``a``, ``a and b``, ``a, b and c``, ``a, b, c, d and 3 more``."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def level(key: str) -> str:
    """Return the noun for domains of a topology key: ``rack`` for ``topology.example/rack``."""
    last = key.rpartition("/")[2]
    return "node" if last == "hostname" else last


def plural(noun: str) -> str:
    """Return the plural of the noun of a level, such as ``topology-racks``; empty if it is not known."""
    return f"{noun}s" if noun.rpartition("-")[2] in _REGULAR else ""


def any_of(values: Sequence[str], most: int = VALUES) -> str:
    """Return values of a node label, one of which is enough: ``z1 or z2``."""
    return f"{' or '.join(values[:most])}{f' or {len(values) - most} more' if len(values) > most else ''}"


def preposition(key: str) -> str:
    """Return the preposition before a domain of *key*: ``on`` for a node, ``in`` for a rack."""
    return "on" if level(key) == "node" else "in"


def labelled_nodes(key: str, values: Sequence[str]) -> str:
    """Return the nodes with one of *values* of a label: ``in zone z1 or z2``, ``on node n1``."""
    return f"{preposition(key)} {level(key)} {any_of(values)}"
