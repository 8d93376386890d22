"""Objects of kinds that several API groups have, such as PodGroups: of those with one kind and name, that of the first group counts.

The others are kept aside, and count once the objects before them are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.base_structs import Record
from kubeapi.gather import Name, several_groups
from kubeapi.gathered import GatheredObjects
from kubeapi.problem import Problem
from kubeapi.versions.served_versions import Resource, other_group
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.sidecar.cache.freshness import Freshness, Stamp
from scheduler_core.sidecar.writes import Ref


class IgnoredObject(Record, frozen=True):
    """Object that does not count, because the API group *used* has one of its kind and name."""

    name: Name
    text: GatheredObjects
    used: str
    uid: str

    @property
    def ref(self) -> Ref:
        """The reference to it."""
        return Ref(self.text.kind, *self.name, self.uid, other_group(self.text.kind, self.text.group))


class ApiGroups:
    """Objects of all API groups of a kind but the first.

    *resources* are the resources of each kind, in the order of their API groups; *versions* has the existing objects of each resource, by
    the name of the resource.
    """

    def __init__(self, resources: Mapping[str, tuple[Resource, ...]], versions: Mapping[str, Freshness]) -> None:
        self._resources, self._versions = resources, versions
        self._kept: dict[tuple[str, Name], dict[str, tuple[GatheredObjects, Stamp]]] = {}

    def add(self, resource: Resource, name: Name, text: GatheredObjects, stamp: Stamp) -> bool:
        """Add or replace an object; return whether it counts."""
        if resource is not self._resources[resource.kind][0]:
            # A copy: the text of a listed object is a part of that of the list.
            kept = GatheredObjects(text.kind, text.api_version, bytes(text.text)), stamp
            self._kept.setdefault((resource.kind, name), {})[resource.name] = kept
        return self._counting(resource.kind, name) is resource

    def remove(self, resource: Resource, name: Name) -> tuple[bool, tuple[GatheredObjects, Stamp] | None]:
        """Remove an object that exists no more; return whether it counted, and the one that counts now in its place."""
        kept = self._kept.get((resource.kind, name), {})
        kept.pop(resource.name, None)
        counting = self._counting(resource.kind, name)
        if counting is None:
            self._kept.pop((resource.kind, name), None)
            return True, None
        resources = self._resources[resource.kind]
        counted = resources.index(resource) < resources.index(counting)
        return counted, kept[counting.name] if counted else None

    def ignored(self) -> Iterator[IgnoredObject]:
        """Yield the objects that do not count."""
        for (kind, name), kept in self._kept.items():
            if (counting := self._counting(kind, name)) is not None:
                others = (each for key, each in kept.items() if key != counting.name)
                yield from (IgnoredObject(name, text, counting.group, stamp.uid) for text, stamp in others)

    def problems(self) -> Iterator[Problem]:
        """Yield the problem of each object that does not count."""
        return (several_groups(ObjectName(each.text.kind, *each.name), each.used, each.text.group) for each in self.ignored())

    def _counting(self, kind: str, name: Name) -> Resource | None:
        """Return the resource whose object of this name counts; None if there is none."""
        key = "/".join(name)
        return next((each for each in self._resources[kind] if key in self._versions[each.name].known), None)
