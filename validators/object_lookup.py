"""Lookup of other objects by the rules: a Protocol, and an implementation for a fixed set of objects.

The objects of a kind can be unknown; a reference to one of them is then not an error.  ``Lookup.list_kind`` returns None for
such a kind, and an empty sequence for a kind of which no object exists.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Protocol

from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.versions import served_versions
from kubeapi.workloads import Workload
from validators.model.controllers import Controller, pods_of
from validators.model.objects import Named, Object, namespace_of
from validators.model.views import CronJob, Job, JobSet, Pod


class Lookup(Protocol):
    """Other objects that the caller knows.  The same cluster gives the same results in the same order."""

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return the object of that name, or None.  *namespace* is ignored for cluster-scoped kinds."""

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """Return the objects of *kind* that refer to the group *name*: child groups or, for kind Pod, member pods and controllers."""

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """Return all objects of *kind*; None if the objects of that kind are unknown."""


def parent_of(item: Object) -> str:
    """Return the group that *item* refers to: the PodGroup of a pod or of a Job's pods, the parent of a group; empty if none."""
    if isinstance(item, Pod):
        return item.group
    if isinstance(item, Job):
        return item.spec.template.group
    if isinstance(item, (PodGroup, CompositePodGroup)):
        return item.spec.parent_composite_pod_group_name or ""
    return ""


def references_to_groups(item: Object) -> Iterator[tuple[str, str]]:
    """Yield the groups that *item* refers to, each once, with the kind under which ``Lookup.children`` lists the item there."""
    if isinstance(item, (Controller, CronJob, JobSet)):
        yield from (("Pod", name) for name in dict.fromkeys(each.group for each in pods_of(item)) if name)
    elif parent := parent_of(item):
        # The pods that a Job will create belong to the group too.
        yield "Pod" if item.kind == "Job" else item.kind, parent


def api_group_of(item: Object) -> str | None:
    """Return the API group of an object; None if it is not known, and then it is that of the hub."""
    if not isinstance(item, (Workload, PodGroup, CompositePodGroup, Named)) or not item.api_version:
        return None
    return item.api_version.rpartition("/")[0]


def group_rank(item: Object) -> int:
    """Return the place of an object's API group among those of its kind: of objects of one name, one with the lowest place counts."""
    group = api_group_of(item)
    return 0 if group is None else served_versions.order_of(item.kind, group)[0]


def counting(items: Iterable[Object]) -> Object | None:
    """Return the object that counts among those of one kind and name: the first one of the first API group; None if there is none."""
    chosen: Object | None = None
    for item in items:
        if (rank := group_rank(item)) == 0:
            return item
        if chosen is None or rank < group_rank(chosen):
            chosen = item
    return chosen


class KnownObjects:
    """Lookup in a fixed set of objects.

    If the set is *complete*, no other objects exist.  Otherwise, a kind without an object in the set is unknown, unless it is in
    *listed*.  If two objects have the same name, ``get`` returns the one that counts, see ``counting``.  The built-in system priority classes always exist.
    """

    def __init__(self, objects: Iterable[Object], *, complete: bool, listed: Container[str] = ()) -> None:
        self._complete = complete
        self._listed = listed
        self._kinds: dict[str, list[Object]] = {}
        self._names: dict[tuple[str, str, str], Object] = {}
        self._children: dict[tuple[str, str, str], list[Object]] = {}
        for item in objects:
            namespace = namespace_of(item)
            self._kinds.setdefault(item.kind, []).append(item)
            name = item.kind, namespace, item.metadata.name
            self._names[name] = item if (before := self._names.get(name)) is None else counting((before, item)) or item
            for kind, parent in references_to_groups(item):
                self._children.setdefault((kind, namespace, parent), []).append(item)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        item = self._names.get((kind, "" if kind in CLUSTER_SCOPED else namespace, name))
        return SYSTEM_CLASSES.get(name) if item is None and kind == "PriorityClass" else item

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return self._children.get((kind, namespace, name), ())

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        return self._kinds.get(kind, () if self._complete or kind in self._listed else None)


NOTHING: Lookup = KnownObjects((), complete=False)
"""Lookup that knows no object."""
