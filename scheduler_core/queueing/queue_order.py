"""The order of the queue: an order that was asked for, then priority, age and name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from scheduler_core.model.decision import Name
from scheduler_core.queueing.creation_time import Age, age

_CANDIDATES = 20_000
"""So many names are looked at for near misses, at most: a second's work."""
_SHOWN = 3

Place = tuple[int, int, Age, str, str, str]
"""A sort key: the rank asked for, priority descending, oldest first, namespace, name, kind."""


class OrderError(ValueError):
    """An order names something that is no root."""


class Order:
    """Places roots.

    Age is the creation time of the root group, or of the pod; upstream counts from when the root entered the queue, which a
    snapshot does not know.  The name settles what is left.
    """

    def __init__(self, asked: Sequence[str] = (), roots: Iterable[Name] = (), instead: Callable[[str], str] = lambda _: "") -> None:
        """The order *asked* for among *roots*, by ``name``, ``namespace/name`` or ``Kind/namespace/name``.

        A name that several roots bear stands for all of them, and of two mentions the first counts.  *instead* tells of a
        name that is no root's what it is; empty if it is nothing.

        Raises:
            OrderError: a name in *asked* is no root's.

        """
        self._ranks: dict[Name, int] = {}
        self._last = len(asked)
        known: dict[str, list[Name]] = {}
        for root in roots:
            for spelling in spellings(root):
                known.setdefault(spelling, []).append(root)
        for rank, name in enumerate(asked):
            if name not in known:
                raise OrderError(f'the order names "{name}", {instead(name) or _nothing(name, known)}')
            for root in known[name]:
                self._ranks.setdefault(root, rank)

    def place(self, root: Name, priority: int, created: str | None) -> Place:
        """Sorts a root among others."""
        return self._ranks.get(root, self._last), -priority, age(created), root.namespace, root.name, root.kind


def spellings(name: Name) -> tuple[str, str, str]:
    """The ways to write a name in an order, shortest first."""
    return name.name, f"{name.namespace}/{name.name}", f"{name.kind}/{name.namespace}/{name.name}"


def _nothing(name: str, known: dict[str, list[Name]]) -> str:
    if not known:
        return "and there is no root at all"
    full: dict[str, list[str]] = {}
    for root in {root for roots in known.values() for root in roots}:
        full.setdefault(root.name, []).append(f"{root.namespace}/{root.name}")
    # Names are compared without what stands before them, which would make them all alike.
    near = difflib.get_close_matches(name.rpartition("/")[2], sorted(full)[:_CANDIDATES], n=_SHOWN)
    meant = [each for close in near for each in sorted(set(full[close]))][:_SHOWN]
    return f"which is no root: did you mean {' or '.join(meant)}?" if meant else "which is no root"
