"""Nodes for several domains at once: the missing nodes of each group of a tree that needs its own domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodShape
from scheduler_core.whatif.edits.node_edits import MoreNodes, NodesInDomains
from scheduler_core.whatif.remedies.node_kinds import kinds
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity
from scheduler_core.whatif.trial.subject import Subject, SubjectGroup

MOST_NODES = 256
"""Maximum number of nodes added for a root."""


class _Need(Record, frozen=True):
    pods: int
    shape: PodShape


def spread(capacity: PresentCapacity) -> NodesInDomains | None:
    """Return new nodes so that each group confined by the narrowest key has its own domain; None for fewer than two groups.

    The domains with the most capacity are used.  Only slots are counted, so the result must be tried.
    """
    subject = capacity.subject
    groups = {group.name: group for group in subject.groups}
    if not subject.keys or not subject.groups:
        return None
    key = capacity.narrowest
    needs = sorted(_needs(subject.groups[0], key, groups), key=lambda need: (-need.pods, need.shape.serial))
    widest = [capacity.whole_cluster] if key == subject.keys[0] else capacity.divided(subject.keys[0], capacity.whole_cluster, 1)
    if len(needs) < 2 or not widest or len(domains := capacity.divided(key, widest[0], len(needs))) < len(needs):
        return None
    parts = [part for need, domain in zip(needs, domains, strict=False) if (part := _part(capacity, need, domain)) is not None]
    return NodesInDomains(tuple(parts)) if len(parts) > 1 and sum(part.count for part in parts) <= MOST_NODES else None


def _needs(group: SubjectGroup, key: str, groups: Mapping[Name, SubjectGroup]) -> Iterator[_Need]:
    """Return the least that each group confined by *key* needs, for a quorum of the smallest."""
    if group.key == key or not group.children:
        if group.key == key and (pods := needed(group, groups)) and (shape := _shape(group, groups)) is not None:
            yield _Need(pods, shape)
        return
    children = [groups[name] for name in group.children]
    for child in sorted(children, key=lambda each: (needed(each, groups), each.name.name))[: group.minimum]:
        yield from _needs(child, key, groups)


def needed(group: SubjectGroup, groups: Mapping[Name, SubjectGroup]) -> int:
    """Return the least number of further pods of *group* that must be placed."""
    if not group.children:
        return max(0, group.minimum - (group.members - len(group.waiting)))
    return sum(sorted(needed(groups[name], groups) for name in group.children)[: group.minimum])


def _shape(group: SubjectGroup, groups: Mapping[Name, SubjectGroup]) -> PodShape | None:
    if group.waiting:
        return group.waiting[0].shape
    return next((shape for name in group.children if (shape := _shape(groups[name], groups)) is not None), None)


def _part(capacity: PresentCapacity, need: _Need, domain: DomainCapacity) -> MoreNodes | None:
    missing = need.pods - int(capacity.slots(need.shape)[domain.nodes].sum())
    node_kinds = kinds(capacity, domain, need.shape) if missing > 0 else []
    return node_kinds[0].more(-(-missing // node_kinds[0].slots)) if node_kinds else None


def largest_need(subject: Subject, key: str) -> int:
    """Return the number of pods that the largest group confined by *key* needs; of the root if no group is."""
    groups = {group.name: group for group in subject.groups}
    if not groups:
        return 1
    confined = [group for group in subject.groups if group.key == key] if key else []
    return max(needed(group, groups) for group in confined or subject.groups[:1])
