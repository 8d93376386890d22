"""KAI Scheduler's PodGroup (scheduling.run.ai): a gang, or a tree of subgroups that name their parents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.model.workload import MAX_DEPTH
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known, near
from workloadbuilder.item import Block, SchedulingConfig, WorkloadItem

GROUP_NAME, SUBGROUP = "pod-group-name", "kai.scheduler/subgroup-name"
_SPEC = FieldPath("spec")
_LOST = {
    "queue": "quota and fairness among queues are KAI's; the scheduler takes groups by priority and age",
    "preemptibility": "whether a group can be preempted follows from its priority alone",
    "markUnschedulable": "what is told of a group that does not fit, the scheduler decides",
    "schedulingBackoff": "when a group is tried again, the scheduler decides",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Subgroup:
    name: str
    parent: str
    fields: Fields
    topology: str


def adapt(found: Json, known: Known) -> Reading:
    """What is made of a KAI PodGroup; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec]
    topology = _topology(spec, known, losses)
    subgroups = [
        _Subgroup(each.text("name"), each.text("parent"), each, _topology(each, known, losses)) for each in spec.each_item("subGroups")
    ]
    below = _below(subgroups, errors)
    priority = scheduler_groups.priority(spec, warnings)
    children = () if errors else tuple(_item(each, below, priority, level=2) for each in below.get("", ()))
    if children and "minMember" in spec:
        losses.append(Loss(_SPEC / "minMember", "the minimum of a group of groups counts groups: all subgroups are wanted"))
    root = WorkloadItem(
        scheduler_groups.ROOT,
        _SPEC,
        default=SchedulingConfig(scheduler_groups.gang(_minimum(spec, len(children))), (topology,) if topology else None),
        children=children,
        priority_class_name=priority,
    )
    leaves = [each.name for each in walk(root) if not each.children]
    pods = {name: scheduler_groups.members(known, about.namespace, _member(about.owner.name, name if children else "")) for name in leaves}
    return Reading(
        scheduler_groups.whose(about),
        about.namespace,
        root,
        tuple(scheduler_groups.plan(name, members) for name, members in pods.items()),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
        origins=tuple((each.name, Block.TOPOLOGY, each.path / "topologyConstraint") for each in walk(root) if each.default.topology),
    )


def _member(group: str, subgroup: str) -> scheduler_groups.Member:
    """Whether a pod names the group, and the subgroup if there is one."""

    def belongs(labels: Mapping[str, str], notes: Mapping[str, str]) -> bool:
        return notes.get(GROUP_NAME) == group and (not subgroup or labels.get(SUBGROUP) == subgroup)

    return belongs


def _item(subgroup: _Subgroup, below: Mapping[str, Sequence[_Subgroup]], priority: str, *, level: int) -> WorkloadItem:
    """A subgroup with those below it; one level more than a tree may have is made, so that the builder tells it."""
    inside = below.get(subgroup.name, ()) if level <= MAX_DEPTH else ()
    children = tuple(_item(each, below, priority, level=level + 1) for each in inside)
    return WorkloadItem(
        subgroup.name,
        subgroup.fields.path,
        default=SchedulingConfig(
            scheduler_groups.gang(_minimum(subgroup.fields, len(children))), (subgroup.topology,) if subgroup.topology else None
        ),
        children=children,
        priority_class_name=priority,
        name_path=subgroup.fields.path / "name",
    )


def _minimum(holder: Fields, children: int) -> int | None:
    """Members of a leaf; child groups of what has them, all of them where nothing else is said."""
    return holder.count("minSubGroup", children) if children else holder.count("minMember", None)


def _below(subgroups: Sequence[_Subgroup], errors: list[FieldError]) -> dict[str, list[_Subgroup]]:
    """The subgroups below each, by name; the empty name stands for the group.

    Every subgroup has a name of its own, its parent is there, and no parent stands below its own child.
    """
    named = {each.name: each for each in reversed(subgroups)}
    below: dict[str, list[_Subgroup]] = {}
    for each in subgroups:
        path = each.fields.path
        if not each.name:
            errors.append(field.required(path / "name", "a subgroup has a name"))
        elif named[each.name] is not each:
            errors.append(field.duplicate(path / "name", each.name, f"already used at {named[each.name].fields.path}"))
        elif each.parent and each.parent not in named:
            detail = f"there must be a subgroup of this name{near(each.parent, named)}"
            errors.append(field.not_found(path / "parent", each.parent, detail))
        else:
            below.setdefault(each.parent, []).append(each)
    reached, waiting = 0, [""]
    while waiting:
        inside = below.get(waiting.pop(), [])
        reached += len(inside)
        waiting += [each.name for each in inside]
    if not errors and reached < len(subgroups):
        # What cannot be reached from the top hangs on a circle.
        path = _circle(subgroups, named)
        errors.append(field.invalid_struct(path, "must not stand below itself: the parents run in a circle"))
    return below


def _circle(subgroups: Sequence[_Subgroup], named: Mapping[str, _Subgroup]) -> FieldPath:
    """The first parent that is on a circle."""
    done: set[str] = set()
    for each in subgroups:
        climbed: list[str] = []
        name = each.name
        while name and name not in done:
            done.add(name)
            climbed.append(name)
            name = named[name].parent
        if name in climbed:
            return named[name].fields.path / "parent"
    return _SPEC


def _topology(holder: Fields, known: Known, losses: list[Loss]) -> str:
    """The node label of the level that is required; empty where none is, or none is known."""
    wanted = holder.mapping("topologyConstraint")
    if "preferredTopologyLevel" in wanted:
        losses.append(Loss(wanted.path / "preferredTopologyLevel", "a preference is not a constraint: the scheduler does not know it"))
    level = wanted.text("requiredTopologyLevel")
    if not level:
        return ""
    label = scheduler_groups.label(known, level)
    if not label:
        path = wanted.path / "requiredTopologyLevel"
        losses.append(Loss(path, f"level {level!r} is no node label: tell which it is (--level {level}=LABEL)"))
    return label
