"""Base of the stores: usable objects of some kinds by name, as files or events give them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Objects, Unusable
from kubeapi.problem import Problem
from scheduler_core.loading.read_objects import one_each

C = TypeVar("C")
"""Effect of a change."""
K = TypeVar("K")
V = TypeVar("V")


class Store(abc.ABC, Generic[C]):
    """Objects by name, of the kinds of ``readers``; the order in which they come makes no difference.

    Attributes:
        readers: reader of each kind, which returns the name and the value that is kept, or raises Unusable; ``fill`` reads the kinds in
            their order.
        unusable: the reason for each unusable object, by kind, namespace and name.

    """

    readers: ClassVar[Mapping[str, Callable[[GatheredObjects], tuple[Name, Any]]]]

    def __init__(self) -> None:
        self.unusable: dict[tuple[str, str, str], str] = {}

    def fill(self, kinds: Mapping[str, Objects], problems: list[Problem]) -> None:
        """Add the objects by kind; of several of one name the one that sorts first as JSON counts."""
        for kind, reader in self.readers.items():
            listed = one_each(kinds[kind], reader, problems)
            for name in listed.unusable:
                self._keep(kind, name, Unusable())
            self._add_all(kind, listed.good)

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> C:
        """Add or replace an object and return the effect."""
        try:
            _, value = self.readers[raw_object.kind](raw_object)
        except Unusable as error:
            value = error
        return self._keep(raw_object.kind, name, value)

    def remove(self, kind: str, name: Name) -> C:
        """Remove an object and return the effect."""
        return self._keep(kind, name, None)

    def _keep(self, kind: str, name: Name, value: object) -> C:
        """Set the value of an object; it is Unusable if it cannot be used, and None if it does not exist any more."""
        self.unusable.pop((kind, *name), None)
        if isinstance(value, Unusable):
            self.unusable[kind, *name] = str(value)
            value = None
        return self._set(kind, name, value)

    def _add_all(self, kind: str, values: Mapping[Name, Any]) -> None:
        """Add objects of one kind to a store that has none of it."""
        for name, value in values.items():
            self._set(kind, name, value)

    @abc.abstractmethod
    def _set(self, kind: str, name: Name, value: Any) -> C:
        """Set the value of an object, or remove it (None), and return the effect."""


def replace_in(values: dict[K, V], name: K, value: V | None) -> bool:
    """Set a value, or remove it (None); return whether it differs."""
    before = values.get(name)
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
    return before != value


def add_to(index: dict[K, set[V]], key: K, name: V) -> None:
    """Add *name* to those of *key*."""
    index.setdefault(key, set()).add(name)


def discard_from(index: dict[K, set[V]], key: K, name: V) -> None:
    """Remove *name* from those of *key*."""
    index[key].discard(name)
    if not index[key]:
        del index[key]
