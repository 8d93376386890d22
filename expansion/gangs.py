"""Gangs for ``--gang``: all pods of an object that has no gang, in one domain of a topology key if one is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content
from expansion.notes import GangsKept, NotOneGang
from expansion.pod_creation import Gang
from kubeapi.decode import section
from kubeapi.kueue import POD_GROUP
from kubeapi.pods import group_in
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.versions.served_versions import hub_of
from workloadbuilder.adapters.shared.named_groups import named_group

_GROUPS = frozenset({"Workload", "PodGroup", "CompositePodGroup"})
_LEVELS = _GROUPS - {"Workload"}
_MINIMUMS = {"PodGroup": "minCount", "CompositePodGroup": "minGroupCount"}
_SUFFIX = "-gang"
_Key = tuple[str, str, str]
"""Kind, namespace and name."""


def is_of_kueue(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is in a pod group of Kueue, and not in one of Kubernetes."""
    labels = pod["metadata"].get("labels")
    return is_alone(pod) and isinstance(labels, Mapping) and POD_GROUP in labels


def without_groups_of_critical_pods(objects: Sequence[Content]) -> tuple[list[Content], bool]:
    """Return *objects* without their Basic groups if the pods have a system priority class, which no group can have; and whether they have.

    Without the feature gates of groups, the controllers create none.
    """
    pods = [each for each in objects if each["kind"] == "Pod"]
    groups = [each for each in objects if each["kind"] in _LEVELS]
    critical = any(each["spec"].get("priorityClassName") in SYSTEM_CLASSES for each in pods)
    if not critical or not groups or any("gang" in _policy(each) or constraint_of(each) for each in groups):
        return [*objects], False
    for each in pods:
        each["spec"].pop("schedulingGroup", None)
    return [each for each in objects if each["kind"] not in _GROUPS], True


def on_request(name: str, objects: Sequence[Content], gang: Gang) -> tuple[list[Content], list[GangsKept]]:
    """Return the created *objects* of the object *name* as *gang* requests, and notes about its own gangs and constraints."""
    groups = [each for each in objects if each["kind"] in _LEVELS]
    if not groups and any(named_group(each) is not None for each in objects if each["kind"] == "Pod"):
        return [*objects], []
    if not any("gang" in _policy(each) or constraint_of(each) for each in groups):
        return as_gang(name, objects, gang), []
    pods = [each for each in objects if each["kind"] == "Pod"]
    changed: list[Content] = []
    notes: dict[GangsKept, None] = {}
    for group, note in of_groups(groups, pods, gang):
        changed.append(group)
        notes |= dict.fromkeys([note] if note is not None else [])
    names = {_identity(each) for each in changed}
    return [*changed, *(each for each in objects if _identity(each) not in names)], [*notes]


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


def of_groups(groups: Sequence[Content], pods: Iterable[Content], gang: Gang) -> Iterator[tuple[Content, GangsKept | None]]:
    """Yield those of *groups* that *gang* concerns, as it requests, each with a note; the note is None if it asks for a gang only.

    The groups of a tree without a gang become gangs of all their members.  Those of a tree with a gang keep their policies.  Roots
    get the topology constraint in place of their own.
    """
    known = {_identity(each): each for each in groups}
    sizes = Counter(parent_of(each) for each in (*pods, *groups))
    roots = {name: _root(name, known) for name in known}
    own = {roots[name] for name, each in known.items() if "gang" in _policy(each)}
    for name, each in known.items():
        before, changed, note = section(each, "spec"), {}, GangsKept()
        if roots[name] in own:
            note = GangsKept(keeps_policies=roots[name] == name)
        elif size := sizes[name]:
            changed["schedulingPolicy"] = {"gang": {_MINIMUMS[name[0]]: size}}
        if roots[name] == name and gang.topology:
            changed |= gang.constraints()
            replaced = constraint_of(each) if constraint_of(each) != gang.topology else ""
            note = GangsKept(note.keeps_policies, gang.topology, replaced)
        if sizes[name] and roots[name] is not None:
            # A group must be equal to its template in a Workload: a changed one has no template.
            kept = {key: value for key, value in before.items() if key != "workloadRef"} if changed else before
            yield {**each, "spec": {**kept, **changed}}, note if note.keeps_policies or note.replaced else None


def has_gang(objects: Iterable[Content]) -> bool:
    """Return whether one of the *objects* is a group that is a gang."""
    return any("gang" in _policy(each) for each in objects if each["kind"] in _LEVELS)


def is_alone(pod: Mapping[str, Any]) -> bool:
    """Return whether *pod* has no group and no node, and has not ended."""
    ended = section(pod, "status").get("phase") in {"Succeeded", "Failed"}
    return not (is_member(pod) or ended or section(pod, "spec").get("nodeName"))


def why_apart(pods: Sequence[Mapping[str, Any]]) -> NotOneGang | None:
    """Return the reason why *pods* cannot have one PodGroup; None if they can."""
    namespaces = sorted({_identity(each)[1] for each in pods})
    schedulers = sorted({str(section(each, "spec").get("schedulerName") or "default-scheduler") for each in pods})
    if len(namespaces) > 1:
        return NotOneGang(namespaces=tuple(namespaces))
    return NotOneGang(schedulers=tuple(schedulers)) if len(schedulers) > 1 else None


def is_member(pod: Mapping[str, Any]) -> bool:
    """Return whether *pod* names a group."""
    return parent_of(pod) is not None


def _identity(content: Mapping[str, Any]) -> _Key:
    metadata = section(content, "metadata")
    return str(content.get("kind")), str(metadata.get("namespace") or "default"), str(metadata.get("name"))


def parent_of(content: Mapping[str, Any]) -> _Key | None:
    """Return the group of a pod, or the parent of a group."""
    kind, namespace, _ = _identity(content)
    spec = section(content, "spec")
    above = "PodGroup" if kind == "Pod" else "CompositePodGroup"
    name = group_in(content) if kind == "Pod" else spec.get("parentCompositePodGroupName")
    return (above, namespace, str(name)) if name else None


def _root(name: _Key, known: Mapping[_Key, Content]) -> _Key | None:
    """Return the root of the group *name*; None if it is not *known*, or there is a cycle."""
    for _ in known:
        above = parent_of(known[name])
        if above is None:
            return name
        if above not in known:
            return None
        name = above
    return None


def constraint_of(group: Mapping[str, Any]) -> str:
    """Return the key of a group's topology constraint; empty if it has none."""
    listed = section(section(group, "spec"), "schedulingConstraints").get("topology")
    first = listed[0] if isinstance(listed, list) and listed else None
    return str(first.get("key") or "") if isinstance(first, Mapping) else ""


def _policy(group: Mapping[str, Any]) -> Mapping[str, Any]:
    return section(section(group, "spec"), "schedulingPolicy")
