"""Adapter for Volcano's PodGroup (scheduling.volcano.sh): a gang, with minimums of its tasks, or with subgroups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.named_groups import VOLCANO_ANNOTATIONS
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.workload_item import Block, SchedulingConfig, WorkloadItem

TASK = "volcano.sh/task-spec"
_SPEC = FieldPath("spec")
_LOST = {
    "queue": "Volcano's queues are dropped: the scheduler orders groups by priority and age",
    "minResources": "minResources is dropped: pods are placed individually",
}


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a Volcano PodGroup; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec]
    topology = scheduler_groups.highest_tier(spec, known, losses)
    priority = scheduler_groups.priority(spec, warnings)
    children = tuple(_subgroups(spec, known, losses)) or tuple(_tasks(spec, losses))
    minimum = spec.count("minMember", None)
    if children:
        minimum = sum(1 for child in children if child.default.policy != scheduler_groups.BASIC)
    root = WorkloadItem(
        scheduler_groups.ROOT,
        _SPEC,
        default=SchedulingConfig(scheduler_groups.gang(minimum), (topology,) if topology else None),
        children=tuple(_with_priority(child, priority) for child in children),
        priority_class_name=priority,
    )
    origins = [(each.name, Block.TOPOLOGY, each.path / "networkTopology") for each in walk(root) if each.default.topology]
    return Reading(
        scheduler_groups.workload_owner(about),
        about.namespace,
        root,
        tuple(_pods(about, known, root)),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
        origins=tuple(origins),
    )


def _with_priority(item: WorkloadItem, priority: str) -> WorkloadItem:
    children = tuple(_with_priority(child, priority) for child in item.children)
    return dataclasses.replace(item, priority_class_name=priority, children=children)


def _tasks(spec: Fields, losses: list[Loss]) -> Iterator[WorkloadItem]:
    """Yield a leaf for each task with a minimum; none if Volcano uses only the group's minimum."""
    tasks = spec.mapping("minTaskMember")
    counts = {name: tasks.number(name, 0) for name in sorted(tasks.given) if isinstance(name, str)}
    total, minimum = sum(counts.values()), spec.number("minMember", 0)
    if not total:
        return
    if minimum < total:
        losses.append(
            Loss(tasks.path, f"minTaskMember is dropped: its sum ({total}) exceeds minMember ({minimum}), so only minMember counts")
        )
        return
    if minimum > total:
        detail = f"minMember is {minimum}, but the sum of minTaskMember is {total}: the other {minimum - total} members are not required"
        losses.append(Loss(_SPEC / "minMember", detail))
    for name, count in counts.items():
        path = tasks.path / Key(name)
        yield WorkloadItem(name, path, default=SchedulingConfig(scheduler_groups.gang(count)), name_path=path)


def _subgroups(spec: Fields, known: Known, losses: list[Loss]) -> Iterator[WorkloadItem]:
    """Yield a composite for each policy, with ``minSubGroups`` groups of ``subGroupSize`` pods."""
    policies = [*spec.each_item("subGroupPolicy")]
    if policies and "minTaskMember" in spec:
        losses.append(Loss(_SPEC / "minTaskMember", "minTaskMember is dropped: the pods are divided into subgroups instead of tasks"))
    if policies and "minMember" in spec:
        losses.append(Loss(_SPEC / "minMember", "minMember is dropped: the minimum of a group of groups counts groups"))
    for each in policies:
        name, minimum = each.text("name"), each.number("minSubGroups", 0)
        topology = scheduler_groups.highest_tier(each, known, losses)
        detail = f"the pods' labels decide the number of subgroups and their members: {max(minimum, 1)} is assumed"
        losses.append(Loss(each.path / "matchLabelKeys", detail))
        if not name:
            each.errors.append(field.required(each.path / "name", "its template has this name"))
        leaf = WorkloadItem(
            f"{name}-subgroup",
            each.path,
            default=SchedulingConfig(scheduler_groups.gang(each.number("subGroupSize", 1, minimum=1)), (topology,) if topology else None),
            replicas=max(minimum, 1),
            name_path=each.path / "name",
        )
        default = SchedulingConfig(scheduler_groups.gang(minimum))
        yield WorkloadItem(name, each.path, default=default, children=(leaf,), name_path=each.path / "name")


def _pods(about: Subject, known: Known, root: WorkloadItem) -> Iterator[PodPlan]:
    """Yield the pods in the input that name the group, in the groups of their tasks if there are any."""
    if any(child.children for child in root.children):
        return
    for each in root.children or (root,):
        member = _member(about.owner.name, each.name if root.children else "")
        yield scheduler_groups.plan(each.name, scheduler_groups.members(known, about.namespace, member))


def _member(group: str, task: str) -> scheduler_groups.Member:
    """Return the test for pods that name the group, and the task if it is not empty."""

    def belongs(labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        named = group in (annotations.get(name) for name in VOLCANO_ANNOTATIONS)
        return named and (not task or task in (labels.get(TASK), annotations.get(TASK)))

    return belongs
