"""Changes that follow from references between all objects of a run: PodGroups to add, and losses.

A PodGroup whose Workload is not among the inputs cannot be created and is a loss; so is a priority that a group cannot have.
Of equal losses, only the first is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.versions import served_versions
from validators.migrate import groups, pod_groups, references, twins
from validators.migrate.change import Change, Remove
from validators.migrate.group_names import text
from validators.migrate.groups import Group, MigratedWorkload, Plan, Use
from validators.migrate.migrate_object import Lost
from validators.migrate.object_changes import ObjectMigration
from validators.migrate.outcome import Refused
from validators.migrate.references import FIELD, InvalidReference, PodPriority, Reference


def add_changes(objects: Sequence[ObjectMigration], to: str) -> Iterator[Refused]:
    """Add the changes that follow from references between the objects; yield the invalid references."""
    uses: list[Use] = []
    for index, each in enumerate(objects):
        for reference in references.find(each.content):
            if isinstance(reference, InvalidReference):
                yield Refused(each.spot(reference.path), reference.message)
            elif reference.has_group:
                each.changes += references.changes(reference, "")
                each.lost.append(_lost_reference(each.content, reference))
            else:
                uses.append(Use(index, _namespace(each.content), reference))
    workloads = _workloads(objects)
    plan = groups.plan(uses, workloads, _existing_groups(objects), to=to)
    for group in plan.groups.values():
        for use in group.uses:
            objects[use.index].changes += _named(objects[use.index].content, use.reference, group.name, to)
        _add_group(objects, group)
    _set_priority(objects, workloads, plan)
    _note_unused_groups(objects, workloads, plan)
    twins.settle(objects)


def _named(content: Mapping[str, Json], reference: Reference, group: str, to: str) -> Iterator[Change]:
    """Yield the changes with which a pod names its *group* in place of the *reference*: by label if *to* is of custom resources."""
    *above, field, _ = reference.path
    if not served_versions.form_of(to).custom or field != "spec":
        yield from references.changes(reference, group)
        return
    holder: Json = content
    for part in above:
        holder = holder[part]
    yield Remove(reference.path)
    yield from pod_groups.named_by_label(holder, tuple(above), group)


def _namespace(content: Mapping[str, Json]) -> str:
    metadata = content.get("metadata")
    return (text(metadata.get("namespace")) if isinstance(metadata, Mapping) else "") or "default"


def _name(content: Mapping[str, Json]) -> str:
    metadata = content.get("metadata")
    return text(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _of_kind(objects: Iterable[ObjectMigration], kind: str) -> Iterator[tuple[int, ObjectMigration]]:
    for index, each in enumerate(objects):
        group = str(each.content.get("apiVersion")).rpartition("/")[0]
        if served_versions.serves(group, kind) and each.content.get("kind") == kind and _name(each.content):
            yield index, each


def _workloads(objects: Iterable[ObjectMigration]) -> dict[tuple[str, str], MigratedWorkload]:
    """Return the Workloads by namespace and name; if two have the same name, the first one."""
    workloads: dict[tuple[str, str], MigratedWorkload] = {}
    for index, each in _of_kind(objects, "Workload"):
        workloads.setdefault((_namespace(each.content), _name(each.content)), groups.workload(index, each.content))
    return workloads


def _existing_groups(objects: Iterable[ObjectMigration]) -> dict[str, dict[str, Mapping[str, Json]]]:
    existing: dict[str, dict[str, Mapping[str, Json]]] = {}
    for _, each in _of_kind(objects, "PodGroup"):
        existing.setdefault(_namespace(each.content), {}).setdefault(_name(each.content), each.content)
    return existing


def _add_group(objects: Sequence[ObjectMigration], group: Group) -> None:
    """Add a group to its Workload's object, or a loss if it cannot be created."""
    if group.content is not None and group.workload is not None:
        objects[group.workload.index].made.append(group)
        _compare_priorities(objects, group)
    elif not group.exists:
        first = group.uses[0]
        objects[first.index].lost.append(_lost_policy(group, first.reference))


def _compare_priorities(objects: Sequence[ObjectMigration], group: Group) -> None:
    """Add losses for pods whose priority differs from that of their group."""
    group_priority = references.pod_priority(group.content["spec"]) if group.content is not None else PodPriority()
    reported: set[PodPriority] = set()
    for use in group.uses:
        priority = use.reference.priority
        if priority not in {PodPriority(), group_priority} and priority not in reported:
            reported.add(priority)
            count = sum(each.reference.priority == priority for each in group.uses)
            objects[use.index].lost.append(_lost_priority(group, use.reference, count))


def _set_priority(objects: Sequence[ObjectMigration], workloads: Mapping[tuple[str, str], MigratedWorkload], plan: Plan) -> None:
    for name, priority in plan.priorities.items():
        workload = workloads.get(name)
        if workload is not None and workload.was_v1alpha1 and priority is not None:
            objects[workload.index].changes += groups.template_changes(objects[workload.index].content, priority)


def _note_unused_groups(objects: Sequence[ObjectMigration], workloads: Mapping[tuple[str, str], MigratedWorkload], plan: Plan) -> None:
    """Add notes for groups of v1alpha1 that no pod among the inputs names."""
    named = {key[:3] for key in plan.groups}
    for (namespace, name), workload in workloads.items():
        if not workload.was_v1alpha1:
            continue
        for index, group in enumerate(workload.templates):
            if (namespace, name, group) not in named:
                message = (
                    f"no pod among the inputs names this group, so no PodGroup is created for it; the creator of the pods must create one "
                    f"from template {group}, and set spec.schedulingGroup.podGroupName"
                )
                objects[workload.index].notes.append((("spec", "podGroups", index), message))


def _lost_reference(content: Mapping[str, Json], reference: Reference) -> Lost:
    spec: Json = content
    for part in reference.path[:-1]:
        spec = spec[part]
    return Lost(
        reference.path,
        f"{FIELD} to {_described(reference)}",
        "the group of the pod in Kubernetes 1.35; since 1.36 only schedulingGroup counts",
        f"nothing, if PodGroup {spec['schedulingGroup']['podGroupName']} of schedulingGroup is the right one",
    )


def _lost_policy(group: Group, reference: Reference) -> Lost:
    namespace, workload = group.key[:2]
    reason = "is not among the inputs" if group.workload is None else f"has no template {reference.group} on its top level"
    return Lost(
        reference.path,
        f"the policy of PodGroup {namespace}/{group.name}{_count(len(group.uses))}",
        f"the policy of {_described(reference)}; Workload {namespace}/{workload} {reason}, so the PodGroup of the pods could not be "
        "created, and they wait for it",
        f"migrate the file with Workload {workload} in the same call, or create PodGroup {group.name} yourself"
        if group.workload is None
        else f"create PodGroup {group.name} yourself, or name one of {', '.join(sorted(group.workload.templates)) or 'its templates'}",
    )


def _lost_priority(group: Group, reference: Reference, count: int) -> Lost:
    priority = reference.priority
    field = "priorityClassName" if priority.class_name else "priority" if priority.value is not None else "preemptionPolicy"
    remedy = (
        f"give all pods of Workload {reference.workload} one priority class, and set it in all of its templates and groups"
        if groups.valid_for_group(priority)
        else "give the pods a class whose value is at most 1000000000 (groups cannot have the built-in classes), and set it in all "
        "templates and groups of the Workload"
    )
    return Lost(
        (*reference.path[:-1], field),
        f"{priority}, for PodGroup {group.name}{_count(count)}",
        "the priority of the pods; a Workload, its groups and all of their pods must have the same priority, and that of this group is "
        + ("different" if _has_priority(group) else "not set"),
        remedy,
    )


def _has_priority(group: Group) -> bool:
    return group.content is not None and references.pod_priority(group.content["spec"]) != PodPriority()


def _described(reference: Reference) -> str:
    replica = f", replica {reference.replica_key}" if reference.replica_key else ""
    return f"group {reference.group} of Workload {reference.workload}{replica}"


def _count(references: int) -> str:
    return f" (named in {references} places)" if references > 1 else ""
