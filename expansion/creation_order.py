"""Pods that their controllers never create: they come after pods of a gang that waits for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence

from expansion.contents import Content
from expansion.created import Expansion, identity
from expansion.notes import NeverCreated
from kubeapi.decode import section
from kubeapi.names import Name
from kubeapi.pods import group_in
from kubeapi.problem import Problem
from validators.hierarchy.creation_order import Level, PodBatch, awaited_group, created

_MINIMUMS = {"PodGroup": "minCount", "CompositePodGroup": "minGroupCount"}


def leave_out_never_created(groups: Iterable[Content], others: Iterable[Content], result: Expansion) -> None:
    """Remove the pods from *result* that are never created, with a note; *groups* and *others* are the given groups and pods."""
    if not result.ordered:
        return
    groups = [*groups, *(each for each in result.objects if each["kind"] in _MINIMUMS)]
    levels: dict[Hashable, Level] = {identity(each): _level(each) for each in groups}
    batches: list[PodBatch] = []
    members: list[list[Content]] = []
    for each in result.ordered:
        for (part, group), pods in _by_part(each.pods, levels).items():
            batches.append(PodBatch(each.origin, part, group, len(pods), each.waits.get(part)))
            members.append(pods)
    counted = {id(pod) for pods in members for pod in pods}
    rest = Counter(_group(each) for each in (*others, *result.objects) if each["kind"] == "Pod" and id(each) not in counted)
    batches += [PodBatch("", "", group, count) for group, count in rest.items() if group in levels]
    made = created(batches, levels)
    left_out: set[int] = set()
    for index, pods in enumerate(members):
        if index not in made:
            left_out |= {id(pod) for pod in pods}
            for pod in pods:
                result.origins.pop(identity(pod), None)
    result.notes += _notes(batches, made, levels)
    result.objects = [each for each in result.objects if id(each) not in left_out]


def _notes(batches: Sequence[PodBatch], made: frozenset[int], levels: Mapping[Hashable, Level]) -> Iterator[Problem]:
    for index, batch in enumerate(batches):
        if index in made or batch.wait is None or not isinstance(batch.owner, Name):
            continue
        gang = awaited_group(batch, batches, made, levels)
        yield Problem.about(
            batch.owner, NeverCreated(batch.count, batch.wait.event, batch.wait.parts, gang if isinstance(gang, Name) else None)
        )


def _by_part(pods: Iterable[tuple[str, Content]], groups: Container[object]) -> dict[tuple[str, Name | None], list[Content]]:
    """Return pods by part and group; the group is None if it is not one of *groups*."""
    parts: dict[tuple[str, Name | None], list[Content]] = {}
    for part, pod in pods:
        group = _group(pod)
        parts.setdefault((part, group if group in groups else None), []).append(pod)
    return parts


def _level(group: Content) -> Level:
    spec = section(group, "spec")
    gang = section(section(spec, "schedulingPolicy"), "gang")
    minimum = gang.get(_MINIMUMS[group["kind"]])
    parent = spec.get("parentCompositePodGroupName")
    namespace = identity(group).namespace
    at_least = minimum if isinstance(minimum, int) and not isinstance(minimum, bool) else 1
    return Level(at_least, Name("CompositePodGroup", namespace, str(parent)) if parent else None)


def _group(pod: Content) -> Name | None:
    """Return the group that a pod names."""
    name = group_in(pod)
    return Name("PodGroup", identity(pod).namespace, name) if name else None
