"""The objects that adapters may look up: runtimes, topologies, owners and their Workloads, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from validators.model.decode import Json


class Known:
    """Objects as plain JSON, found by API group, kind, namespace and name.

    *inputs* are those that are compiled, *further* others that are there.  *levels* says which node label a level of
    topology is that another scheduler calls by a name of its own.  Of two objects of one name the first counts.
    """

    __slots__ = ("_inputs", "_objects", "levels")

    def __init__(self, inputs: Iterable[Json] = (), further: Iterable[Json] = (), levels: Mapping[str, str] | None = None) -> None:
        self.levels: Mapping[str, str] = dict(levels or {})
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Json]] = {}
        self._inputs = {name for each in inputs if (name := self._add(each)) is not None}
        for each in further:
            self._add(each)

    def compiles(self, group: str, kind: str, namespace: str, name: str) -> bool:
        """Whether an object of that name is among those that are compiled."""
        return ((group, kind), (namespace, name)) in self._inputs

    def _add(self, each: Json) -> tuple[tuple[str, str], tuple[str, str]] | None:
        found = _names(each) if isinstance(each, Mapping) else None
        if found is not None:
            kind, name = found
            self._objects.setdefault(kind, {}).setdefault(name, each)
        return found

    def get(self, group: str, kind: str, namespace: str, name: str) -> Json:
        """The object of that name, or None."""
        return self._objects.get((group, kind), {}).get((namespace, name))

    def list_kind(self, group: str, kind: str, namespace: str | None = None) -> list[Json]:
        """All objects of a kind, in order of namespace and name; those of *namespace* alone, if it is given."""
        found = self._objects.get((group, kind), {})
        return [found[name] for name in sorted(found) if namespace is None or name[0] == namespace]

    def near(self, group: str, kind: str, namespace: str, name: str) -> str:
        """``; did you mean …?`` for the name of an object that is not there, or nothing."""
        names = [each for space, each in self._objects.get((group, kind), {}) if space == namespace]
        return near(name, names)


_COMPARED = 100
"""Names that are compared with a misspelt one: comparing is slow, and objects may be made to have very many."""


def near(name: str, names: Iterable[str]) -> str:
    """``; did you mean …?`` for a misspelt name, or nothing."""
    close = difflib.get_close_matches(name[:_COMPARED], sorted(names)[:_COMPARED], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def group_of(api_version: str) -> str:
    """The API group of an ``apiVersion``: empty for the core."""
    return api_version.rpartition("/")[0]


def _names(found: Mapping[str, Json]) -> tuple[tuple[str, str], tuple[str, str]] | None:
    api_version, kind, metadata = found.get("apiVersion"), found.get("kind"), found.get("metadata")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, Mapping):
        return None
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        return None
    return (group_of(api_version), kind), (namespace if isinstance(namespace, str) else "", name)
