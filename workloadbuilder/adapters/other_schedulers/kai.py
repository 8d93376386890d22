"""Adapter for KAI Scheduler's PodGroup (scheduling.run.ai): a gang, or a tree of subgroups that name their parents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.workloads import MAX_DEPTH
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known, suggest
from workloadbuilder.adapters.shared.named_groups import KAI_ANNOTATION
from workloadbuilder.workload_item import WHOLE, Block, SchedulingConfig, WorkloadItem

SUBGROUP = "kai.scheduler/subgroup-name"
_SPEC = FieldPath("spec")
_TOPOLOGY_GROUPS = ("kai.scheduler", "kueue.x-k8s.io")
"""API groups of Topology: that of KAI, and that of Kueue, which older versions of KAI use."""
_LOST = {
    "queue": "KAI's queues are dropped: the scheduler orders groups by priority and age",
    "preemptibility": "preemptibility is dropped: only its priority decides whether a group can be preempted",
    "markUnschedulable": "the scheduler decides how a group that does not fit is reported",
    "schedulingBackoff": "the scheduler decides when a group is retried",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Subgroup:
    name: str
    parent: str
    fields: Fields
    topology: str


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a KAI PodGroup; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec]
    name = spec.mapping("topologyConstraint").text("topology")
    topology = _topology(spec, name, known, losses)
    subgroups = [
        _Subgroup(each.text("name"), each.text("parent"), each, _topology(each, name, known, losses))
        for each in spec.each_item("subGroups")
    ]
    by_parent = _by_parent(subgroups, errors)
    priority = scheduler_groups.priority(spec, warnings)
    children = () if errors else tuple(_item(each, by_parent, priority, level=2) for each in by_parent.get("", ()))
    if children and "minMember" in spec:
        losses.append(Loss(_SPEC / "minMember", "minMember is dropped: the minimum of a group of groups counts groups"))
    root = WorkloadItem(
        scheduler_groups.ROOT,
        _SPEC,
        default=SchedulingConfig(scheduler_groups.gang(_minimum(spec, len(children))), (topology,) if topology else None),
        children=children,
        priority_class_name=priority,
        minimum_path=_minimum_path(spec, len(children)),
    )
    leaves = [each.name for each in walk(root) if not each.children]
    errors += _outside(known, about.namespace, about.owner.name, leaves if children else [""])
    pods = {name: scheduler_groups.members(known, about.namespace, _member(about.owner.name, name if children else "")) for name in leaves}
    return Reading(
        scheduler_groups.workload_owner(about),
        about.namespace,
        root,
        tuple(scheduler_groups.plan(name, members) for name, members in pods.items()),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
        origins=tuple((each.name, Block.TOPOLOGY, each.path / "topologyConstraint") for each in walk(root) if each.default.topology),
    )


def _outside(known: Known, namespace: str, group: str, subgroups: Sequence[str]) -> Iterator[FieldError]:
    """Yield an error if a pod of the group is in none of its *subgroups*: KAI 0.13 (``job_info.go``) does not schedule it."""
    for pod in scheduler_groups.members(known, namespace, _member(group, "")):
        metadata = Fields(pod, WHOLE, []).mapping("metadata")
        named = metadata.annotations("labels").get(SUBGROUP, "")
        if named not in subgroups:
            label = f"names {named!r} in its label {SUBGROUP}" if named else f"has no label {SUBGROUP}"
            detail = f"must have a subgroup for each pod: pod {metadata.text('name')!r} {label}, and KAI ignores it"
            yield field.invalid_struct(_SPEC / "subGroups", detail)
            return


def _member(group: str, subgroup: str) -> scheduler_groups.Member:
    """Return the test for pods that name the group, and the subgroup if it is not empty."""

    def belongs(labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        return annotations.get(KAI_ANNOTATION) == group and (not subgroup or labels.get(SUBGROUP) == subgroup)

    return belongs


def _item(subgroup: _Subgroup, by_parent: Mapping[str, Sequence[_Subgroup]], priority: str, *, level: int) -> WorkloadItem:
    """Return a subgroup with its descendants, down to one level more than allowed, so that the builder reports the depth."""
    subgroups = by_parent.get(subgroup.name, ()) if level <= MAX_DEPTH else ()
    children = tuple(_item(each, by_parent, priority, level=level + 1) for each in subgroups)
    return WorkloadItem(
        subgroup.name,
        subgroup.fields.path,
        default=SchedulingConfig(
            scheduler_groups.gang(_minimum(subgroup.fields, len(children))), (subgroup.topology,) if subgroup.topology else None
        ),
        children=children,
        priority_class_name=priority,
        name_path=subgroup.fields.path / "name",
        minimum_path=_minimum_path(subgroup.fields, len(children)),
    )


def _minimum(holder: Fields, children: int) -> int | None:
    """Return the minimum of a leaf's pods, or of a composite's child groups, which is all of them by default."""
    return holder.count("minSubGroup", children) if children else holder.count("minMember", None)


def _minimum_path(holder: Fields, children: int) -> FieldPath:
    return holder.path / ("minSubGroup" if children else "minMember")


def _by_parent(subgroups: Sequence[_Subgroup], errors: list[FieldError]) -> dict[str, list[_Subgroup]]:
    """Return the subgroups by the name of their parent, which is empty for those directly below the group.

    Duplicate names, unknown parents and cycles are errors.
    """
    by_name = {each.name: each for each in reversed(subgroups)}
    by_parent: dict[str, list[_Subgroup]] = {}
    for each in subgroups:
        path = each.fields.path
        if not each.name:
            errors.append(field.required(path / "name", "a subgroup must have a name"))
        elif by_name[each.name] is not each:
            errors.append(field.duplicate(path / "name", each.name, f"already used at {by_name[each.name].fields.path}"))
        elif each.parent and each.parent not in by_name:
            detail = f"there must be a subgroup of this name{suggest(each.parent, by_name)}"
            errors.append(field.not_found(path / "parent", each.parent, detail))
        else:
            by_parent.setdefault(each.parent, []).append(each)
    reached, pending = 0, [""]
    while pending:
        children = by_parent.get(pending.pop(), [])
        reached += len(children)
        pending += [each.name for each in children]
    if not errors and reached < len(subgroups):
        # Subgroups that cannot be reached from the top are on or below a cycle.
        path = _cycle(subgroups, by_name)
        errors.append(field.invalid_struct(path, "must not be below itself: the parents form a cycle"))
    return by_parent


def _cycle(subgroups: Sequence[_Subgroup], by_name: Mapping[str, _Subgroup]) -> FieldPath:
    """Return the path of the first ``parent`` that is on a cycle."""
    visited: set[str] = set()
    for each in subgroups:
        ancestors: list[str] = []
        name = each.name
        while name and name not in visited:
            visited.add(name)
            ancestors.append(name)
            name = by_name[name].parent
        if name in ancestors:
            return by_name[name].fields.path / "parent"
    return _SPEC


def _topology(holder: Fields, default: str, known: Known, losses: list[Loss]) -> str:
    """Return the node label of the required level; empty if none is required, or the label is unknown.

    The level is a node label or an alias of one in the Topology that *holder* names, by default the one named *default*.
    """
    constraint = holder.mapping("topologyConstraint")
    if "preferredTopologyLevel" in constraint:
        losses.append(Loss(constraint.path / "preferredTopologyLevel", scheduler_groups.PREFERENCE_DROPPED))
    level = constraint.text("requiredTopologyLevel")
    if not level:
        return ""
    name = constraint.text("topology", default)
    topologies = (known.get(group, "Topology", "", name) for group in _TOPOLOGY_GROUPS)
    topology = next((each for each in topologies if each is not None), None)
    levels = [*Fields(topology, WHOLE, []).mapping("spec").each_item("levels")]
    labels = {each.text(key): each.text("nodeLabel") for key in ("nodeLabel", "alias") for each in levels if each.text(key)}
    label = labels.get(level) or known.levels.get(level, "") or ("" if levels else scheduler_groups.label(known, level))
    if not label:
        unknown = f"level {level!r} has no known node label: add the Topology to the input, or pass --level {level}=LABEL"
        detail = f"level {level!r} is none of Topology {name}{suggest(level, labels)}" if levels else unknown
        losses.append(Loss(constraint.path / "requiredTopologyLevel", detail, required=True))
    return label
