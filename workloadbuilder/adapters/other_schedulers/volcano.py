"""Volcano's PodGroup (scheduling.volcano.sh): a gang, with minimums of its tasks, or with subgroups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators import field
from validators.field import FieldError, FieldPath, Key
from validators.model.decode import Json
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.item import Block, SchedulingConfig, WorkloadItem

TASK = "volcano.sh/task-spec"
_GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_SPEC = FieldPath("spec")
_LOST = {
    "queue": "quota and order among queues are Volcano's; the scheduler takes groups by priority and age",
    "minResources": "whether there is room, placing the pods tells; no sum of resources is asked for besides",
}


def adapt(found: Json, known: Known) -> Reading:
    """What is made of a Volcano PodGroup; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec]
    topology = _topology(spec, known, losses)
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
        scheduler_groups.whose(about),
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
    """A leaf for each task with a minimum; none where Volcano itself looks at the group's minimum alone."""
    tasks = spec.mapping("minTaskMember")
    counts = {name: tasks.number(name, 0) for name in sorted(tasks.given) if isinstance(name, str)}
    total, wanted = sum(counts.values()), spec.number("minMember", 0)
    if not total:
        return
    if wanted < total:
        losses.append(Loss(tasks.path, f"the tasks' minimums ({total} in all) are more than minMember ({wanted}), which alone counts then"))
        return
    if wanted > total:
        detail = f"{wanted} members are wanted and the tasks' minimums are {total} in all: the {wanted - total} others may be missing"
        losses.append(Loss(_SPEC / "minMember", detail))
    for name, count in counts.items():
        path = tasks.path / Key(name)
        yield WorkloadItem(name, path, default=SchedulingConfig(scheduler_groups.gang(count)), name_path=path)


def _subgroups(spec: Fields, known: Known, losses: list[Loss]) -> Iterator[WorkloadItem]:
    """A composite for each policy, with as many groups of ``subGroupSize`` pods as it wants at least."""
    policies = [*spec.each_item("subGroupPolicy")]
    if policies and "minTaskMember" in spec:
        losses.append(Loss(_SPEC / "minTaskMember", "subgroups and tasks are two cuts through the same pods: the subgroups are kept"))
    if policies and "minMember" in spec:
        losses.append(Loss(_SPEC / "minMember", "the minimum of a group of groups counts groups: it is that of the subgroups"))
    for each in policies:
        name, least = each.text("name"), each.number("minSubGroups", 0)
        topology = _topology(each, known, losses)
        detail = f"how many subgroups there are, and of which pods, their labels decide: {max(least, 1)} is shown"
        losses.append(Loss(each.path / "matchLabelKeys", detail))
        if not name:
            each.errors.append(field.required(each.path / "name", "its template is called after it"))
        leaf = WorkloadItem(
            f"{name}-subgroup",
            each.path,
            default=SchedulingConfig(scheduler_groups.gang(each.number("subGroupSize", 1, least=1)), (topology,) if topology else None),
            replicas=max(least, 1),
            name_path=each.path / "name",
        )
        default = SchedulingConfig(scheduler_groups.gang(least))
        yield WorkloadItem(name, each.path, default=default, children=(leaf,), name_path=each.path / "name")


def _topology(holder: Fields, known: Known, losses: list[Loss]) -> str:
    """The node label of the highest tier that pods may be spread over; empty where there is none, or none is known."""
    wanted = holder.mapping("networkTopology")
    if not wanted.given:
        return ""
    if wanted.text("mode", "hard") != "hard":
        losses.append(Loss(wanted.path, "a preference is not a constraint: the scheduler does not know it"))
        return ""
    tier = wanted.text("highestTierName") or str(wanted.count("highestTierAllowed", None) or "")
    label = scheduler_groups.label(known, tier)
    if not label:
        detail = f"tier {tier!r} of HyperNodes is no node label: tell which it is (--level {tier or 'TIER'}=LABEL)"
        losses.append(Loss(wanted.path, detail))
    return label


def _pods(about: Subject, known: Known, root: WorkloadItem) -> Iterator[PodPlan]:
    """The pods given that name the group, in the groups of their tasks where there are such."""
    if any(child.children for child in root.children):
        return
    for each in root.children or (root,):
        member = _member(about.owner.name, each.name if root.children else "")
        yield scheduler_groups.plan(each.name, scheduler_groups.members(known, about.namespace, member))


def _member(group: str, task: str) -> scheduler_groups.Member:
    """Whether a pod names the group, and the task if there is one."""

    def belongs(labels: Mapping[str, str], notes: Mapping[str, str]) -> bool:
        named = group in (notes.get(name) for name in _GROUP_NAMES)
        return named and (not task or task in (labels.get(TASK), notes.get(TASK)))

    return belongs
