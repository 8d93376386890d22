"""How a rule asks for another object: a Protocol, and the answer over a fixed set of objects.

What is not known is never refused: ``everything`` answers None for a kind of which nothing is known, which differs from
an empty answer (known, and there is none).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from validators.model.cluster import SYSTEM_CLASSES
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.objects import CLUSTER_SCOPED, Object, namespace_of
from validators.model.pod import Job, Pod


class Lookup(Protocol):
    """Other objects, as far as the caller knows them.  Same cluster, same answers, in the same order."""

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """The object of that name, or None.  *namespace* is ignored for kinds that have none."""

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """Objects of *kind* that name the group *name* as theirs: child groups, or (kind Pod) member pods and Jobs."""

    def everything(self, kind: str) -> Sequence[Object] | None:
        """All objects of *kind*; None where nothing is known of that kind."""


def parent_of(item: Object) -> str:
    """The name of the group that *item* says it belongs to: a pod's (or a Job's pods') PodGroup, a group's parent; empty if none."""
    if isinstance(item, Pod):
        return item.spec.group
    if isinstance(item, Job):
        return item.spec.template.spec.group
    if isinstance(item, (PodGroup, CompositePodGroup)):
        return item.spec.parent_composite_pod_group_name or ""
    return ""


class KnownObjects:
    """A Lookup over the objects given.

    With ``complete`` they are all there is; without, a kind of which none is given is unknown.  Of two objects of one
    name the first counts.  The built-in system priority classes always exist.
    """

    def __init__(self, objects: Iterable[Object], *, complete: bool) -> None:
        self._complete = complete
        self._kinds: dict[str, list[Object]] = {}
        self._names: dict[tuple[str, str, str], Object] = {}
        self._children: dict[tuple[str, str, str], list[Object]] = {}
        for item in objects:
            namespace = namespace_of(item)
            self._kinds.setdefault(item.kind, []).append(item)
            self._names.setdefault((item.kind, namespace, item.metadata.name), item)
            if parent := parent_of(item):
                # The pods that a Job will make belong to the group as pods do.
                kind = "Pod" if item.kind == "Job" else item.kind
                self._children.setdefault((kind, namespace, parent), []).append(item)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        found = self._names.get((kind, "" if kind in CLUSTER_SCOPED else namespace, name))
        return SYSTEM_CLASSES.get(name) if found is None and kind == "PriorityClass" else found

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return self._children.get((kind, namespace, name), ())

    def everything(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        return self._kinds.get(kind, () if self._complete else None)


NOTHING: Lookup = KnownObjects((), complete=False)
"""Knows of no object at all."""
