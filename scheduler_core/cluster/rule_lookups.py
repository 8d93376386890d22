"""Lookups of the validation rules that are made of other parts of a snapshot."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from kubeapi.meta import ObjectMeta
from scheduler_core.model.nodes import NodeTable
from validators.model.objects import Object
from validators.model.views import Node
from validators.object_lookup import KnownObjects, Lookup


class JoinedLookup:
    """Lookup of objects of *kinds* in one lookup, made on first use, and of all others in another."""

    def __init__(self, kinds: Iterable[str], make: Callable[[], Lookup], others: Lookup) -> None:
        self._kinds, self._known, self._others = frozenset(kinds), functools.cache(make), others

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        return self._of_kind(kind).get(kind, namespace, name)

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return self._of_kind(kind).children(kind, namespace, name)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        return self._of_kind(kind).list_kind(kind)

    def _of_kind(self, kind: str) -> Lookup:
        return self._known() if kind in self._kinds else self._others


def with_nodes(others: Lookup, table: NodeTable) -> Lookup:
    """Return a lookup of the nodes of *table*, with their labels, and of *others*."""

    def known() -> Lookup:
        metadata = (ObjectMeta(name=name, labels=dict(labels)) for name, labels in zip(table.names, table.labels, strict=True))
        return KnownObjects([Node(metadata=each) for each in metadata], complete=False)

    return JoinedLookup(("Node",), known, others)
