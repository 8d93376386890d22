"""Gangs for ``--gang``: all pods of an object that has no gang, in one domain of a topology key if one is given."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from validators.model.cluster import SYSTEM_CLASSES
from validators.versions.served import hub_of

Content = dict[str, Any]
_GROUPS = frozenset({"Workload", "PodGroup", "CompositePodGroup"})
_SUFFIX = "-gang"


@dataclasses.dataclass(frozen=True, slots=True)
class Gang:
    """Gang of all pods; *topology* is the node label of its one domain, empty for no constraint."""

    topology: str = ""

    def spec(self, pods: int) -> Content:
        """Return the spec of the PodGroup of *pods* pods."""
        spec: Content = {"schedulingPolicy": {"gang": {"minCount": pods}}}
        if self.topology:
            spec["schedulingConstraints"] = {"topology": [{"key": self.topology}]}
        return spec


def has_gang(objects: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the created groups is a gang."""
    return any("gang" in _policy(each) for each in objects if each["kind"] in _GROUPS)


def as_gang(name: str, objects: Sequence[Content], gang: Gang) -> list[Content]:
    """Return the created *objects* of the object *name* with all pods in one gang, in place of their groups."""
    pods = [each for each in objects if each["kind"] == "Pod"]
    others = [each for each in objects if each["kind"] not in {*_GROUPS, "Pod"}]
    if not pods:
        return [*objects]
    first = pods[0]
    namespace = first["metadata"].get("namespace")
    spec = gang.spec(len(pods))
    if (priority := first["spec"].get("priorityClassName")) and priority not in SYSTEM_CLASSES:
        spec["priorityClassName"] = priority
    metadata = {"name": f"{name}{_SUFFIX}", **({"namespace": namespace} if namespace else {})}
    group = {"apiVersion": hub_of("PodGroup").name, "kind": "PodGroup", "metadata": metadata, "spec": spec}
    for each in pods:
        each["spec"]["schedulingGroup"] = {"podGroupName": metadata["name"]}
    return [*others, group, *pods]


def of_basic_groups(groups: Iterable[Content], pods: Sequence[Content], gang: Gang) -> Iterator[Content]:
    """Yield the PodGroups without a gang and a parent as gangs of their *pods*."""
    sizes = Counter(_group(each) for each in pods)
    for each in groups:
        spec, metadata = _section(each, "spec"), _section(each, "metadata")
        size = sizes[str(metadata.get("namespace") or "default"), str(metadata.get("name"))]
        if size and "gang" not in _policy(each) and not spec.get("parentCompositePodGroupName"):
            yield {**each, "spec": {**spec, **gang.spec(size)}}


def _group(pod: Mapping[str, Any]) -> tuple[str, str]:
    name = _section(_section(pod, "spec"), "schedulingGroup").get("podGroupName")
    return str(_section(pod, "metadata").get("namespace") or "default"), str(name)


def _policy(group: Mapping[str, Any]) -> Mapping[str, Any]:
    return _section(_section(group, "spec"), "schedulingPolicy")


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name)
    return section if isinstance(section, Mapping) else {}
