"""Sets of interchangeable volumes or devices, each counted by a row of ``NodeTable.allocatable``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeVar

_MOST_SETS = 64
"""Number of sets in a pool above which they are not counted."""
_User = TypeVar("_User")


def pools(sets: Mapping[_User, frozenset[int]]) -> list[list[_User]]:
    """Return the users whose sets are connected by common members; *sets* are the members that each user can use."""
    found: list[tuple[set[int], list[_User]]] = []
    for user, members in sets.items():
        joined, users = set(members), [user]
        separate = []
        for other, others in found:
            if other.isdisjoint(joined):
                separate.append((other, others))
            else:
                joined |= other
                users = [*others, *users]
        found = [*separate, (joined, users)]
    return [users for _, users in found]


def are_nested(pool: Sequence[frozenset[int]]) -> bool:
    """Return whether Hall's condition for each set of *pool* is exact: two sets are nested or disjoint."""
    pairs = itertools.combinations(pool, 2)
    return len(pool) <= _MOST_SETS and all(one <= other or other <= one or one.isdisjoint(other) for one, other in pairs)


def new_name(title: str, used: set[str]) -> str:
    """Return the name of a row, and record it in *used*: *title*, with a number if a row has that name."""
    names = (f"{title} ({number})" if number > 1 else title for number in itertools.count(1))
    name = next(each for each in names if each not in used)
    used.add(name)
    return name
