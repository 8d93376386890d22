"""Objects that adapters look up by name: runtimes, topologies, owners and their Workloads."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType

from kubeapi.decode import Json
from kubeapi.json_path import JsonPath
from kubeapi.versions.kubernetes_releases import TODAY
from validators.gates import ALL_ON, Gates


@dataclasses.dataclass(frozen=True, slots=True)
class DeclaredTemplate:
    """Path of the pod templates of a kind, and of the number of pods of each; None: one pod."""

    template: JsonPath
    replicas: JsonPath | None = None


class Known:
    """Objects as plain JSON, by API group, kind, namespace and name.

    *inputs* are the objects that are compiled, *further* other existing objects.  *levels* has the node label of each topology
    level for which another scheduler has its own name.  *kubernetes* is the minor version of Kubernetes whose controllers are modelled
    and whose API server gets the created objects, with the feature *gates*.  *pod_templates* are the pod templates of kinds that
    have no adapter of their own, as ``KIND`` or ``KIND.GROUP``.  If two objects have the same name, the first one is used.
    """

    __slots__ = ("_inputs", "_objects", "gates", "kubernetes", "levels", "pod_templates")

    def __init__(
        self,
        inputs: Iterable[Json] = (),
        further: Iterable[Json] = (),
        levels: Mapping[str, str] | None = None,
        kubernetes: int = TODAY,
        gates: Gates = ALL_ON,
        pod_templates: Mapping[str, Sequence[DeclaredTemplate]] = MappingProxyType({}),
    ) -> None:
        self.pod_templates = pod_templates
        self.levels: Mapping[str, str] = dict(levels or {})
        self.kubernetes = kubernetes
        self.gates = gates
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Json]] = {}
        self._inputs = {name for each in inputs if (name := self._add(each)) is not None}
        for each in further:
            self._add(each)

    def joined_by(self, objects: Iterable[Json]) -> Known:
        """Return a copy with further *objects*, which are used in place of those with the same names."""
        joined = Known(levels=self.levels, kubernetes=self.kubernetes, gates=self.gates, pod_templates=self.pod_templates)
        joined._inputs = {*self._inputs}
        for each in objects:
            joined._add(each)
        for kind, named in self._objects.items():
            joined._objects[kind] = named | joined._objects.get(kind, {})
        return joined

    def compiles(self, group: str, kind: str, namespace: str, name: str) -> bool:
        """Return True if the object of that name is among those that are compiled."""
        return ((group, kind), (namespace, name)) in self._inputs

    def _add(self, manifest: Json) -> tuple[tuple[str, str], tuple[str, str]] | None:
        key = _key(manifest) if isinstance(manifest, Mapping) else None
        if key is not None:
            kind, name = key
            self._objects.setdefault(kind, {}).setdefault(name, manifest)
        return key

    def get(self, group: str, kind: str, namespace: str, name: str) -> Json:
        """Return the object of that name, or None."""
        return self._objects.get((group, kind), {}).get((namespace, name))

    def list_kind(self, group: str, kind: str, namespace: str | None = None) -> list[Json]:
        """Return all objects of a kind, sorted by namespace and name; only those of *namespace* unless it is None."""
        objects = self._objects.get((group, kind), {})
        return [objects[name] for name in sorted(objects) if namespace is None or name[0] == namespace]

    def suggest(self, group: str, kind: str, namespace: str, name: str) -> str:
        """Return ``; did you mean …?`` for the name of a missing object; empty if no name is similar."""
        names = [each for space, each in self._objects.get((group, kind), {}) if space == namespace]
        return suggest(name, names)


_COMPARED = 100
"""Limit for the names that are compared with a misspelt one, as comparing is slow and inputs may be large."""


def suggest(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean …?`` for a misspelt name; empty if no name is similar."""
    similar = similar_name(name, sorted(names))
    return f"; did you mean {similar!r}?" if similar else ""


def similar_name(name: str, names: Sequence[str]) -> str:
    """Return the one of *names*, which are sorted, that is similar to the misspelt *name*; empty if none is."""
    return next(iter(difflib.get_close_matches(name[:_COMPARED], names[:_COMPARED], n=1)), "")


def declared_name(group: str, kind: str, declared: Container[str]) -> str:
    """Return the name in *declared* of a kind, ``KIND.GROUP`` or ``KIND``; empty if there is none."""
    return next((name for name in (f"{kind}.{group}", kind) if name in declared), "")


def group_of(api_version: str) -> str:
    """Return the API group of an ``apiVersion``; empty for the core group."""
    return api_version.rpartition("/")[0]


def _key(manifest: Mapping[str, Json]) -> tuple[tuple[str, str], tuple[str, str]] | None:
    api_version, kind, metadata = manifest.get("apiVersion"), manifest.get("kind"), manifest.get("metadata")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, Mapping):
        return None
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        return None
    return (group_of(api_version), kind), (namespace if isinstance(namespace, str) else "", name)
