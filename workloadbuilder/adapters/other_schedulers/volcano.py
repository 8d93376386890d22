"""Adapter for Volcano's PodGroup (scheduling.volcano.sh): a gang, with minimums of its tasks, or with subgroups.

With subgroups or minimums of tasks, each has a group of its own, and the other pods have one group.  Source: Volcano 1.15 (``gang.go``,
``job_info.go``, ``sub_job_info.go``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.built_in import selectors
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.other_schedulers.volcano_tasks import OTHERS, task_minimums
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.named_groups import VOLCANO_ANNOTATIONS
from workloadbuilder.workload_item import WHOLE, Block, SchedulingConfig, WorkloadItem

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
    pods = scheduler_groups.members(known, about.namespace, _names(about.owner.name))
    parts = [*_subgroups(spec, pods, known, losses)] or [*_tasks(spec, pods, losses, warnings)]
    minimum = len(parts) if parts else spec.count("minMember", None)
    root = WorkloadItem(
        scheduler_groups.ROOT,
        _SPEC,
        default=SchedulingConfig(scheduler_groups.gang(minimum), (topology,) if topology else None),
        children=tuple(_with_priority(part.item, priority) for part in parts),
        priority_class_name=priority,
        minimum_path=None if parts else _SPEC / "minMember",
    )
    plans = {name: listed for part in parts for name, listed in part.pods.items()} or {scheduler_groups.ROOT: pods}
    origins = [(each.name, Block.TOPOLOGY, each.path / "networkTopology") for each in walk(root) if each.default.topology]
    return Reading(
        scheduler_groups.workload_owner(about),
        about.namespace,
        root,
        tuple(scheduler_groups.plan(name, listed) for name, listed in plans.items()),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
        origins=tuple(origins),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Child of the root, with the *pods* of its groups by their templates."""

    item: WorkloadItem
    pods: Mapping[str, list[Json]]


def _with_priority(item: WorkloadItem, priority: str) -> WorkloadItem:
    children = tuple(_with_priority(child, priority) for child in item.children)
    return dataclasses.replace(item, priority_class_name=priority, children=children)


def _others(path: FieldPath, pods: list[Json], minimum: int) -> _Part:
    """Return the group of the pods that are in no other one, which are scheduled with them."""
    default = SchedulingConfig(scheduler_groups.gang(minimum))
    return _Part(WorkloadItem(OTHERS, path, default=default, minimum_path=_SPEC / "minMember"), {OTHERS: pods})


def _tasks(spec: Fields, pods: list[Json], losses: list[Loss], warnings: list[FieldError]) -> Iterator[_Part]:
    """Yield a leaf for each task with a minimum, and one for the other pods; none if Volcano uses only the group's minimum."""
    tasks = spec.mapping("minTaskMember")
    given = {name: tasks.number(name, 0) for name in sorted(tasks.given) if isinstance(name, str)}
    minimums = {name: count for name, count in given.items() if count}
    total, minimum = sum(minimums.values()), spec.number("minMember", 0)
    if not total:
        return
    if minimum < total:
        detail = f"minTaskMember is dropped: its sum ({total}) exceeds minMember ({minimum}), so only minMember counts"
        losses.append(Loss(tasks.path, detail))
        return
    by_task: dict[str, list[Json]] = {name: [] for name in minimums}
    others: list[Json] = []
    for pod in pods:
        by_task.get(_task(pod), others).append(pod)
    wanted = task_minimums(minimums, {name: len(listed) for name, listed in by_task.items()}, len(others), minimum)
    if wanted.free:
        detail = f"minMember is {minimum}, but the sum of minTaskMember is {total}: the other {wanted.free} members are not required"
        losses.append(Loss(_SPEC / "minMember", detail))
    for name, count in minimums.items():
        path, members = tasks.path / Key(name), by_task[name]
        if pods and len(members) < count:
            detail = f"the input has {len(members)} pods of this task, so the whole group waits: remove the task here, or lower its minimum"
            warnings.append(field.invalid(path, count, detail))
        policy = scheduler_groups.gang(wanted.tasks[name])
        yield _Part(WorkloadItem(name, path, default=SchedulingConfig(policy), name_path=path, minimum_path=path), {name: members})
    if wanted.others:
        yield _others(_SPEC / "minMember", others, wanted.others)


def _subgroups(spec: Fields, pods: list[Json], known: Known, losses: list[Loss]) -> Iterator[_Part]:
    """Yield a composite for each policy, with a group of ``subGroupSize`` for each combination of values of its labels."""
    policies = [*spec.each_item("subGroupPolicy")]
    if policies and "minTaskMember" in spec:
        losses.append(Loss(_SPEC / "minTaskMember", "minTaskMember is dropped: the pods are divided into subgroups instead of tasks"))
    rest, required = [*pods], 0
    for each in policies:
        divided, rest = _divided(each, rest)
        part = _subgroup(each, divided, known, losses)
        required += max(each.number("minSubGroups", 0), 1) * each.number("subGroupSize", 1, minimum=1)
        yield part
    if policies and rest:
        yield _others(_SPEC / "subGroupPolicy", rest, 1)
    if policies and (minimum := spec.number("minMember", 0)) > required:
        detail = (
            f"minMember is {minimum}, but the required subgroups have {required} members: the other {minimum - required} are not required"
        )
        losses.append(Loss(_SPEC / "minMember", detail))


def _subgroup(policy: Fields, divided: Mapping[tuple[str, ...], list[Json]], known: Known, losses: list[Loss]) -> _Part:
    name, minimum, path = policy.text("name"), policy.number("minSubGroups", 0), policy.path
    topology = scheduler_groups.highest_tier(policy, known, losses)
    if not name:
        policy.errors.append(field.required(path / "name", "its template has this name"))
    size = scheduler_groups.gang(policy.number("subGroupSize", 1, minimum=1))
    default = SchedulingConfig(size, (topology,) if topology else None)
    leaf = WorkloadItem(
        f"{name}-subgroup",
        path,
        default=default,
        replicas=max(minimum, 1),
        name_path=path / "name",
        minimum_path=path / "subGroupSize",
    )
    if not divided:
        losses.append(Loss(path / "matchLabelKeys", f"the input has no pods of these subgroups: {leaf.replicas} of them are assumed"))
        leaves: tuple[WorkloadItem, ...] = (leaf,)
        names: dict[str, list[Json]] = {}
    else:
        names = {f"{name}-subgroup-{number}": divided[values] for number, values in enumerate(sorted(divided))}
        missing = max(minimum - len(names), 0)
        leaves = tuple(dataclasses.replace(leaf, name=each, replicas=1) for each in names)
        leaves += (dataclasses.replace(leaf, name=f"{name}-absent", replicas=missing),) if missing else ()
    # A composite below a gang must be a gang; without a minimum it needs one of its subgroups.
    gang = scheduler_groups.gang(max(minimum, 1))
    item = WorkloadItem(
        name, path, default=SchedulingConfig(gang), children=leaves, name_path=path / "name", minimum_path=path / "minSubGroups"
    )
    return _Part(item, names)


def _divided(policy: Fields, pods: list[Json]) -> tuple[dict[tuple[str, ...], list[Json]], list[Json]]:
    """Return the pods of a policy by the values of its labels, and the rest; without such labels it has none."""
    selector, keys = policy.mapping("labelSelector").given, policy.texts("matchLabelKeys")
    divided: dict[tuple[str, ...], list[Json]] = {}
    rest: list[Json] = []
    for pod in pods:
        labels = _metadata(pod).annotations("labels")
        values = tuple(labels.get(key, "") for key in keys)
        if keys and all(values) and selectors.matches(selector, labels):
            divided.setdefault(values, []).append(pod)
        else:
            rest.append(pod)
    return divided, rest


def _metadata(pod: Json) -> Fields:
    return Fields(pod, WHOLE, []).mapping("metadata")


def _task(pod: Json) -> str:
    """Return the task of a pod: that of its annotation, or else of its label."""
    metadata = _metadata(pod)
    return metadata.annotations().get(TASK) or metadata.annotations("labels").get(TASK, "")


def _names(group: str) -> scheduler_groups.Member:
    """Return the test for pods that name the group."""

    def belongs(_: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        return group in (annotations.get(name) for name in VOLCANO_ANNOTATIONS)

    return belongs
