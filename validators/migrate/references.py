"""Pods that name a group of a Workload, v1alpha1's way, wherever in an object their spec stands.

A pod's ``workloadRef`` is found by its form, in Pods and in the pod templates of whatever controller: Jobs and Deployments
as well as kinds of which nothing is known here (KEP-4671, Associating Pod into PodGroups).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators import content
from validators.migrate.change import Change, Parts, Reform, Remove, Rename
from validators.migrate.names import text
from validators.model.decode import Json
from validators.versions.served import WORKLOAD_GROUPS

FIELD = "workloadRef"
_FIELDS = frozenset({"name", "podGroup", "podGroupReplicaKey"})
_NEVER = "Never"


@dataclasses.dataclass(frozen=True, slots=True)
class Rank:
    """How important a pod says it is; all absent where it says nothing.  The number counts where there is no class."""

    class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None

    def __str__(self) -> str:
        said = {"priorityClassName": self.class_name, "priority": self.priority, "preemptionPolicy": self.preemption_policy}
        return ", ".join(f"{name}: {value}" for name, value in said.items() if value not in {"", None}) or "no priority class"


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """One ``workloadRef``: where it stands, what it names, and what else of the pod matters."""

    path: Parts
    workload: str
    group: str
    replica_key: str
    rank: Rank
    has_group: bool
    """Whether the pod names a PodGroup as well."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wrong:
    """A ``workloadRef`` that names nothing."""

    path: Parts
    message: str


def find(document: Mapping[str, Json]) -> Iterator[Reference | Wrong]:
    """Every ``workloadRef`` of a pod in one object, in the order of reading."""
    if text(document.get("apiVersion")).rpartition("/")[0] in WORKLOAD_GROUPS:
        return
    for path, spec in _mappings(document, ()):
        reference = spec.get(FIELD)
        if isinstance(reference, Mapping) and (found := _read(spec, reference, path, is_pod=_is_pod(document, spec, path))):
            yield found


def changes(reference: Reference, group: str) -> Iterator[Change]:
    """What makes the pod a member of the PodGroup *group*, or leaves it in the one that it names."""
    if reference.has_group:
        yield Remove(reference.path)
    else:
        yield Rename(reference.path, "schedulingGroup")
        yield Reform(reference.path, "name", "podGroupName", group)


def _mappings(value: Json, at: Parts) -> Iterator[tuple[Parts, Mapping[str, Json]]]:
    if isinstance(value, Mapping):
        yield at, value
        for name, each in value.items():
            if isinstance(each, (Mapping, list)):
                yield from _mappings(each, (*at, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            if isinstance(each, (Mapping, list)):
                yield from _mappings(each, (*at, place))


def _is_pod(document: Mapping[str, Json], spec: Mapping[str, Json], path: Parts) -> bool:
    """Whether this can be nothing but the spec of a pod."""
    return "containers" in spec or (path == ("spec",) and document.get("apiVersion") == "v1" and document.get("kind") == "Pod")


def _read(spec: Mapping[str, Json], reference: Mapping[str, Json], path: Parts, *, is_pod: bool) -> Reference | Wrong | None:
    at = (*path, FIELD)
    known = _FIELDS.issuperset(reference) and "podGroup" in reference
    if not is_pod and not (known and path[-1:] == ("spec",)):
        return None  # another field of that name
    if strange := sorted(reference.keys() - _FIELDS):
        return Wrong((*at, strange[0]), f"workloadRef has no field {strange[0]!r}; it has {', '.join(sorted(_FIELDS))}")
    for name, judge in (("name", content.subdomain), ("podGroup", content.label), ("podGroupReplicaKey", content.label)):
        value = reference.get(name)
        if value is None or value == "":
            if name != "podGroupReplicaKey":
                return Wrong((*at, name), f"workloadRef must have {name}, to name a group of a Workload")
        elif not isinstance(value, str) or (told := judge(value)):
            return Wrong((*at, name), "must be a string" if not isinstance(value, str) else "; ".join(told))
    return Reference(at, reference["name"], reference["podGroup"], text(reference.get("podGroupReplicaKey")), rank(spec), _has_group(spec))


def _has_group(spec: Mapping[str, Json]) -> bool:
    group = spec.get("schedulingGroup")
    return isinstance(group, Mapping) and bool(text(group.get("podGroupName")))


def rank(spec: Mapping[str, Json]) -> Rank:
    """What a pod's spec, a template or a group says of its priority."""
    name, priority = text(spec.get("priorityClassName")), spec.get("priority")
    number = priority if isinstance(priority, int) and not isinstance(priority, bool) and not name else None
    return Rank(name, number, _NEVER if spec.get("preemptionPolicy") == _NEVER else None)
