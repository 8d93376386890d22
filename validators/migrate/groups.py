"""PodGroups to create for pods that name a group of a Workload: one for each Workload, group and replica key.

The policy of a group applies to each replica separately (KEP-4671, Associating Pod into PodGroups).  Pods must have the
priority of their group (KEP-6012): if all pods of a Workload have the same, it is set in the templates and groups.
"""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi import decode
from kubeapi.content import LONGEST_LABEL
from kubeapi.decode import Json
from kubeapi.priority import SYSTEM_PREFIX
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import V1ALPHA1
from kubeapi.workloads import MAX_PRIORITY
from validators.migrate import group_names, migrate_object
from validators.migrate.change import Add
from validators.migrate.group_names import MAX_LENGTH, text
from validators.migrate.references import PodPriority, Reference

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
"""The fields that a group copies from its template, in the order in which they are written."""


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """Reference of an object, with the object's *index* among all objects of the run and its *namespace*."""

    index: int
    namespace: str
    reference: Reference

    @property
    def key(self) -> Key:
        """The key of the group that the reference names."""
        return self.namespace, self.reference.workload, self.reference.group, self.reference.replica_key


@dataclasses.dataclass(frozen=True, slots=True)
class MigratedWorkload:
    """Workload in the current form, with its *index* among all objects and its templates by name."""

    index: int
    content: Mapping[str, Json]
    templates: Mapping[str, Mapping[str, Json]]
    was_v1alpha1: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """PodGroup for *uses*.  If it must be created: the Workload after which it is written, and its content."""

    key: Key
    name: str
    uses: tuple[Use, ...]
    workload: MigratedWorkload | None = None
    content: Mapping[str, Json] | None = None
    exists: bool = False
    """True if the inputs already have such a group."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """All groups by key, in order of key, and the priority of each Workload."""

    groups: Mapping[Key, Group]
    priorities: Mapping[tuple[str, str], PodPriority | None]
    """By namespace and Workload: the common priority of its pods; None if they differ, have none, or a group cannot have it."""


def workload(index: int, content: Mapping[str, Json]) -> MigratedWorkload:
    """Return a Workload of any version with its top-level templates."""
    current = migrate_object.hub(content)
    spec = current.get("spec")
    templates = spec.get("podGroupTemplates") if isinstance(spec, Mapping) else None
    by_name = {
        text(each.get("name")): each
        for each in (templates if isinstance(templates, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("name"), str)
    }
    return MigratedWorkload(index, current, by_name, served_versions.form_of(str(content.get("apiVersion"))) is V1ALPHA1)


def plan(
    uses: Iterable[Use],
    workloads: Mapping[tuple[str, str], MigratedWorkload],
    existing: Mapping[str, dict[str, Mapping[str, Json]]],
    *,
    to: str,
) -> Plan:
    """Return the groups for *uses*.  *workloads* are by namespace and name, *existing* PodGroups by namespace, then name."""
    uses_by_key: dict[Key, list[Use]] = {}
    for use in uses:
        uses_by_key.setdefault(use.key, []).append(use)
    priorities = {name: _common_priority(each) for name, each in _by_workload(uses_by_key).items()}
    names_used: dict[str, dict[str, Mapping[str, Json]]] = {}
    groups: dict[Key, Group] = {}
    for key, members in sorted(uses_by_key.items()):
        namespace, workload_name, template, _ = key
        used = names_used.setdefault(namespace, {})
        name, exists = _name(key, used, existing.get(namespace, {}), LONGEST_LABEL if served_versions.form_of(to).custom else MAX_LENGTH)
        used[name] = {}
        holder = workloads.get((namespace, workload_name))
        content = None
        if holder is not None and template in holder.templates and not exists:
            priority = priorities[namespace, workload_name] if holder.was_v1alpha1 else None
            content = _content(name, holder, holder.templates[template], priority=priority, to=to)
        groups[key] = Group(key, name, tuple(members), holder, content, exists)
    return Plan(groups, priorities)


def template_changes(content: Mapping[str, Json], priority: PodPriority) -> Iterator[Add]:
    """Yield the changes that give all templates of a v1alpha1 Workload the *priority* of its pods (KEP-6012)."""
    spec = content.get("spec")
    written = spec.get("podGroups") if isinstance(spec, Mapping) else None
    for index, group in enumerate(written if isinstance(written, list) else ()):
        if isinstance(group, Mapping) and "name" in group:
            yield from (Add(("spec", "podGroups", index), name, value, after="name") for name, value in _priority_fields(priority).items())


def valid_for_group(priority: PodPriority) -> bool:
    """Return whether a group can have this priority: those of the built-in classes are too high."""
    return not priority.class_name.startswith(SYSTEM_PREFIX) and (priority.value or 0) <= MAX_PRIORITY


def _by_workload(uses_by_key: Mapping[Key, Sequence[Use]]) -> dict[tuple[str, str], list[Use]]:
    by_workload: dict[tuple[str, str], list[Use]] = {}
    for key, uses in uses_by_key.items():
        by_workload.setdefault(key[:2], []).extend(uses)
    return by_workload


def _common_priority(uses: Sequence[Use]) -> PodPriority | None:
    priorities = {use.reference.priority for use in uses}
    priority = priorities.pop() if len(priorities) == 1 else None
    return priority if priority is not None and priority != PodPriority() and valid_for_group(priority) else None


def _name(key: Key, used: dict[str, Mapping[str, Json]], existing: dict[str, Mapping[str, Json]], longest: int) -> tuple[str, bool]:
    """Return the name of the existing group for *key*, or a free name, and whether the group exists."""
    parts = key[1:]
    taken = ChainMap(used, existing)
    for name in (group_names.group_name(*parts, longest=longest), group_names.group_name(*parts, longest=longest, taken=taken)):
        if name not in used and name in existing and _is_of(existing[name], key[1], key[2]):
            return name, True
    return group_names.group_name(*parts, longest=longest, taken=taken), False


def _is_of(group: Mapping[str, Json], workload_name: str, template: str) -> bool:
    spec = migrate_object.hub(group).get("spec")
    reference = spec.get("workloadRef") if isinstance(spec, Mapping) else None
    return isinstance(reference, Mapping) and (reference.get("workloadName"), reference.get("templateName")) == (workload_name, template)


def _content(
    name: str, holder: MigratedWorkload, template: Mapping[str, Json], *, priority: PodPriority | None, to: str
) -> dict[str, Json]:
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
        "spec": {**spec, **copied, **(_priority_fields(priority) if priority is not None else {})},
    }


def _priority_fields(priority: PodPriority) -> dict[str, str | int]:
    fields = {"priorityClassName": priority.class_name or None, "priority": priority.value, "preemptionPolicy": priority.preemption_policy}
    return {name: value for name, value in fields.items() if value is not None}
