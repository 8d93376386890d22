"""Sort order of the queue: requested order, then priority, age and name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from scheduler_core.causes.pre_enqueue import NotARoot
from scheduler_core.model.names import Name
from scheduler_core.queueing.creation_time import Age, age

_CANDIDATES = 20_000
"""Maximum number of names compared for suggestions: about one second."""
_SHOWN = 3

Place = tuple[int, int, Age, str, str, str]
"""Sort key: requested rank, priority descending, oldest first, namespace, name, kind."""


class OrderError(ValueError):
    """A requested order contains a name that is not a root; *cause* says what it is."""

    def __init__(self, cause: NotARoot) -> None:
        super().__init__(cause)
        self.cause = cause


class Order:
    """Sort order of roots.

    The age is that of the root group, or of the pod.  kube-scheduler uses the time when the root entered the queue, which a
    snapshot does not have.  Ties are broken by name.
    """

    def __init__(
        self, requested: Sequence[str] = (), roots: Iterable[Name] = (), instead: Callable[[str], NotARoot | None] = lambda _: None
    ) -> None:
        """Set the requested order of *roots*, by ``name``, ``namespace/name`` or ``Kind/namespace/name``.

        A name that several roots share means all of them; if a root is named twice, its first position counts.  *instead*
        returns what a name is that is not a root; None for an unknown name.

        Raises:
            OrderError: a name in *requested* is not a root.

        """
        self._ranks: dict[Name, int] = {}
        self._last = len(requested)
        known: dict[str, list[Name]] = {}
        for root in roots:
            for spelling in spellings(root):
                known.setdefault(spelling, []).append(root)
        for rank, name in enumerate(requested):
            if name not in known:
                raise OrderError(instead(name) or _unknown_name(name, known))
            for root in known[name]:
                self._ranks.setdefault(root, rank)

    def place(self, root: Name, priority: int, created: str | None) -> Place:
        """Return the sort key of a root."""
        return self._ranks.get(root, self._last), -priority, age(created), root.namespace, root.name, root.kind


def spellings(name: Name) -> tuple[str, str, str]:
    """Return the ways to write a name in an order, shortest first."""
    return name.name, f"{name.namespace}/{name.name}", f"{name.kind}/{name.namespace}/{name.name}"


def _unknown_name(name: str, known: dict[str, list[Name]]) -> NotARoot:
    full: dict[str, dict[str, Name]] = {}
    for root in sorted({root for roots in known.values() for root in roots}, key=spellings):
        full.setdefault(root.name, {}).setdefault(spellings(root)[1], root)
    # Names are compared without kind and namespace: common prefixes would make all of them similar.
    matches = difflib.get_close_matches(name.rpartition("/")[2], sorted(full)[:_CANDIDATES], n=_SHOWN)
    similar = [root for match in matches for _, root in sorted(full[match].items())]
    return NotARoot(name, similar=tuple(similar[:_SHOWN]), no_roots=not known)
