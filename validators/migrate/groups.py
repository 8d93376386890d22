"""Which PodGroups are made for the pods that named a group of a Workload: one for each Workload, group and replica key.

A group's policy holds for each replica by itself (KEP-4671, Associating Pod into PodGroups), and its pods must have its
priority (KEP-6012): what all pods of a Workload say of theirs moves into its templates and groups.
"""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.migrate import migrate_object, names
from validators.migrate.change import Add
from validators.migrate.names import text
from validators.migrate.references import Rank, Reference
from validators.model import decode
from validators.model.cluster import SYSTEM_PREFIX
from validators.model.decode import Json
from validators.model.workload import MAX_PRIORITY
from validators.versions import served
from validators.versions.table import V1ALPHA1

Key = tuple[str, str, str, str]
"""Namespace, Workload, group, replica key."""
_COPIED = (
    "schedulingPolicy",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
)
"""What a group has of its template, in the order of writing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """A reference in the object at *place* among all objects of the call, which is in *namespace*."""

    place: int
    namespace: str
    reference: Reference

    @property
    def key(self) -> Key:
        """What the reference names."""
        return self.namespace, self.reference.workload, self.reference.group, self.reference.replica_key


@dataclasses.dataclass(frozen=True, slots=True)
class MigratedWorkload:
    """A Workload in today's form, at *place* among all objects, and its templates by name."""

    place: int
    content: Mapping[str, Json]
    templates: Mapping[str, Mapping[str, Json]]
    was_v1alpha1: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A PodGroup for *uses*: its name, and, where it is to be made, the Workload behind which it is written and what it holds."""

    key: Key
    name: str
    uses: tuple[Use, ...]
    workload: MigratedWorkload | None = None
    content: Mapping[str, Json] | None = None
    is_there: bool = False
    """Whether the inputs have such a group already."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """All groups by what they are for, in that order, and how each Workload's priority comes out."""

    groups: Mapping[Key, Group]
    ranks: Mapping[tuple[str, str], Rank | None]
    """By namespace and Workload: the rank that its pods agree on and a group can have, None where there is none such."""


def workload(place: int, content: Mapping[str, Json]) -> MigratedWorkload:
    """A Workload of any version, with the templates at its top."""
    today = migrate_object.hub(content)
    spec = today.get("spec")
    templates = spec.get("podGroupTemplates") if isinstance(spec, Mapping) else None
    named = {
        text(each.get("name")): each
        for each in (templates if isinstance(templates, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("name"), str)
    }
    return MigratedWorkload(place, today, named, served.form_of(str(content.get("apiVersion"))) is V1ALPHA1)


def plan(
    uses: Iterable[Use],
    workloads: Mapping[tuple[str, str], MigratedWorkload],
    there: Mapping[str, dict[str, Mapping[str, Json]]],
    *,
    to: str,
) -> Plan:
    """The groups for *uses*, with the *workloads* by namespace and name, and the PodGroups that are *there* in each namespace."""
    wanted: dict[Key, list[Use]] = {}
    for use in uses:
        wanted.setdefault(use.key, []).append(use)
    ranks = {name: _agreed(each) for name, each in _by_workload(wanted).items()}
    taken: dict[str, dict[str, Mapping[str, Json]]] = {}
    found: dict[Key, Group] = {}
    for key, members in sorted(wanted.items()):
        namespace, named, template, _ = key
        used = taken.setdefault(namespace, {})
        name, is_there = _name(key, used, there.get(namespace, {}))
        used[name] = {}
        holder = workloads.get((namespace, named))
        content = None
        if holder is not None and template in holder.templates and not is_there:
            rank = ranks[namespace, named] if holder.was_v1alpha1 else None
            content = _content(name, holder, holder.templates[template], rank=rank, to=to)
        found[key] = Group(key, name, tuple(members), holder, content, is_there)
    return Plan(found, ranks)


def template_changes(content: Mapping[str, Json], rank: Rank) -> Iterator[Add]:
    """What gives each template of a v1alpha1 Workload the *rank* of its pods: all have one priority (KEP-6012)."""
    spec = content.get("spec")
    written = spec.get("podGroups") if isinstance(spec, Mapping) else None
    for place, group in enumerate(written if isinstance(written, list) else ()):
        if isinstance(group, Mapping) and "name" in group:
            yield from (Add(("spec", "podGroups", place), name, value, after="name") for name, value in _ranked(rank).items())


def fits_a_group(rank: Rank) -> bool:
    """Whether a group may have this rank: the system's classes are above what one may have."""
    return not rank.class_name.startswith(SYSTEM_PREFIX) and (rank.priority or 0) <= MAX_PRIORITY


def _by_workload(wanted: Mapping[Key, Sequence[Use]]) -> dict[tuple[str, str], list[Use]]:
    found: dict[tuple[str, str], list[Use]] = {}
    for key, uses in wanted.items():
        found.setdefault(key[:2], []).extend(uses)
    return found


def _agreed(uses: Sequence[Use]) -> Rank | None:
    ranks = {use.reference.rank for use in uses}
    rank = ranks.pop() if len(ranks) == 1 else None
    return rank if rank is not None and rank != Rank() and fits_a_group(rank) else None


def _name(key: Key, used: dict[str, Mapping[str, Json]], there: dict[str, Mapping[str, Json]]) -> tuple[str, bool]:
    """A name that is free, or that of the very group that is looked for."""
    parts = key[1:]
    taken = ChainMap(used, there)
    for name in (names.group_name(*parts), names.group_name(*parts, taken=taken)):
        if name not in used and name in there and _is_of(there[name], key[1], key[2]):
            return name, True
    return names.group_name(*parts, taken=taken), False


def _is_of(group: Mapping[str, Json], workload_name: str, template: str) -> bool:
    spec = migrate_object.hub(group).get("spec")
    reference = spec.get("workloadRef") if isinstance(spec, Mapping) else None
    return isinstance(reference, Mapping) and (reference.get("workloadName"), reference.get("templateName")) == (workload_name, template)


def _content(name: str, holder: MigratedWorkload, template: Mapping[str, Json], *, rank: Rank | None, to: str) -> dict[str, Json]:
    metadata = holder.content["metadata"]
    spec = {"workloadRef": {"workloadName": metadata["name"], "templateName": template["name"]}}
    copied = decode.plain({field: template[field] for field in _COPIED if template.get(field) is not None})
    policy = copied.get("schedulingPolicy")
    if isinstance(policy, Mapping) and "basic" in policy:
        copied["schedulingPolicy"] = {**policy, "basic": {}}  # without v1alpha1's desiredCount
    namespace = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    return {
        "apiVersion": migrate_object.target_of(holder.content["apiVersion"], "PodGroup", to),
        "kind": "PodGroup",
        "metadata": {"name": name, **namespace},
        "spec": {**spec, **copied, **(_ranked(rank) if rank is not None else {})},
    }


def _ranked(rank: Rank) -> dict[str, str | int]:
    said = {"priorityClassName": rank.class_name or None, "priority": rank.priority, "preemptionPolicy": rank.preemption_policy}
    return {name: value for name, value in said.items() if value is not None}
