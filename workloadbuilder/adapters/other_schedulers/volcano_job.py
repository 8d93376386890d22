"""Adapter for Volcano's Job (batch.volcano.sh): a gang of the pods of all its tasks.

The minimum is ``minAvailable``, or else the sum over the tasks of ``minAvailable``, which is ``replicas`` if absent.  Tasks have groups of
their own if Volcano counts the pods of each, or divides them into partitions.  Source: Volcano 1.15 (``job_controller_actions.go``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from validators.model import start_order
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.other_schedulers.volcano_tasks import OTHERS, task_minimums
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.named_groups import VOLCANO_ANNOTATIONS
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import Block, SchedulingConfig, WorkloadItem

ROOT = "job-root"
_INDEX = "volcano.sh/task-index"
_SPEC = FieldPath("spec")
_QUEUE_DROPPED = "Volcano's queues are dropped: the scheduler orders groups by priority and age"
_PARTITION = "volcano.sh/partition-id"
_CLAIM = "PersistentVolumeClaim"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a Job of Volcano; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / "queue", _QUEUE_DROPPED)] if "queue" in spec else []
    topology = scheduler_groups.highest_tier(spec, known, losses)
    volumes = tuple(_volumes(spec, about.owner.name))
    claims = tuple(_created_claims(spec, about, known))
    tasks = [_read_task(index, task, about, volumes, known, losses) for index, task in enumerate(spec.each_item("tasks"))]
    _check_names(spec)
    waits = start_order.start_order("batch.volcano.sh", "Job", spec.given)
    sets = [each.pods for each in tasks]
    total = sum(each.count for each in sets)
    if not sets:
        errors.append(field.required(_SPEC / "tasks", "without a task there are no pods to schedule"))
    minimums = sum(each.minimum for each in tasks)
    minimum = spec.number("minAvailable", 0) or minimums
    if minimum > total:
        errors.append(field.invalid(_SPEC / "minAvailable", minimum, f"must not be greater than the number of pods ({total})"))
    if not minimum:
        result = pod_sets.one_by_one(about, sets, errors, warnings)
        return dataclasses.replace(result, losses=tuple(losses), further=claims, waits=waits)
    wanted = Gang(ROOT, _SPEC, minimum, scheduler_groups.priority(spec, warnings) or None, topology, _SPEC / "minAvailable")
    origins = ((ROOT, Block.TOPOLOGY, _SPEC / "networkTopology"),) if topology else ()
    divided = any(each.partitions.given for each in tasks)
    if divided and minimum < minimums:
        detail = f"not modelled with a minAvailable of {minimum}, which is less than the {minimums} of the tasks"
        losses += [Loss(each.partitions.path, detail, required=True) for each in tasks if each.partitions.given]
    result = pod_sets.gang(about, sets, wanted, errors, warnings, losses)
    # The group of the other pods needs one of them, which must not come after the gang.
    later = any(each.name in waits and not each.minimum for each in tasks)
    if not errors and minimums <= minimum and (divided or (minimum < total and not later)):
        result = _by_task(result, tasks, minimum)
    return dataclasses.replace(result, further=claims, origins=(*origins, *result.origins), waits=waits)


def _read_task(
    index: int, task: Fields, about: Subject, volumes: tuple[Mapping[str, Json], ...], known: Known, losses: list[Loss]
) -> _Task:
    role, replicas = start_order.task_name(task.given, index), task.number("replicas", 1)
    labels = {"volcano.sh/job-name": about.owner.name, "volcano.sh/task-spec": role}
    template = _without_groups(pod_template.read_pod_template(task.mapping("template")), losses)
    pods = PodSet(template, f"{about.owner.name}-{role}", replicas, labels, number_label=_INDEX, owner=about.owner, volumes=volumes)
    partitions = task.mapping("partitionPolicy")
    confined = scheduler_groups.highest_tier(partitions, known, losses)
    return _Task(role, task, dataclasses.replace(pods, part=role), _minimum(task, partitions, replicas), partitions, confined)


def _without_groups(template: PodTemplate, losses: list[Loss]) -> PodTemplate:
    """Return *template* without the annotations in which Volcano writes the group of the Job (``createJobPod``)."""
    path, content = template.path.join(("metadata", "annotations")), copied(template.content)
    for key in sorted(template.annotations.keys() & {*VOLCANO_ANNOTATIONS}):
        losses.append(Loss(path / Key(key), "has no effect: the pods of a Job of Volcano are in the group of the Job"))
        del content["metadata"]["annotations"][key]
    return dataclasses.replace(template, content=content)


@dataclasses.dataclass(frozen=True, slots=True)
class _Task:
    """Task with the *minimum* of its *pods*; the pods of each of its *partitions* must be in one domain of *topology*, if it is not empty."""

    name: str
    fields: Fields
    pods: PodSet
    minimum: int
    partitions: Fields
    topology: str

    def item(self, minimum: int, priority: str) -> WorkloadItem:
        """Return its group, or a group of groups, one for each partition."""
        path, size = self.fields.path, self.partitions.number("partitionSize", 1, minimum=1)
        if not self.partitions.given:
            default = SchedulingConfig(scheduler_groups.gang(minimum))
            at = path / "minAvailable"
            return WorkloadItem(self.name, path, default=default, priority_class_name=priority, name_path=path / "name", minimum_path=at)
        leaf = WorkloadItem(
            f"{self.name}-partition",
            self.partitions.path,
            default=SchedulingConfig(scheduler_groups.gang(size), (self.topology,) if self.topology else None),
            replicas=self.pods.count // size,
            priority_class_name=priority,
            name_path=path / "name",
            minimum_path=None,
        )
        return WorkloadItem(
            self.name,
            path,
            default=SchedulingConfig(scheduler_groups.gang(max(-(-minimum // size), 1))),
            children=(leaf,),
            priority_class_name=priority,
            name_path=path / "name",
            minimum_path=self.partitions.path / "minPartitions",
        )

    def plan(self, template: str) -> PodPlan:
        """Return its pods, in the group of *template*, or in those of its partitions."""
        plan, size = self.pods.plan(template), self.partitions.number("partitionSize", 1, minimum=1)
        if not self.partitions.given:
            return plan

        def make(positions: Positions, number: int) -> dict[str, Json]:
            pod = plan.make(positions, positions[-1] * size + number)
            pod["metadata"]["labels"][_PARTITION] = str(positions[-1])
            return pod

        return PodPlan(f"{self.name}-partition", size, make, part=plan.part)


def _by_task(flat: Reading, tasks: Sequence[_Task], minimum: int) -> Reading:
    """Return the reading of a *flat* gang with a group for each task that has a minimum, and one for the other pods."""
    root, required = flat.root, {each.name: each.minimum for each in tasks if each.minimum}
    if root is None:
        return flat
    others = sum(each.pods.count for each in tasks if not each.minimum)
    wanted = task_minimums(required, {each.name: each.pods.count for each in tasks if each.minimum}, others, minimum)
    items = [each.item(wanted.tasks[each.name], root.priority_class_name) for each in tasks if each.minimum]
    if wanted.others:
        default = SchedulingConfig(scheduler_groups.gang(wanted.others))
        priority, at = root.priority_class_name, _SPEC / "minAvailable"
        items.append(WorkloadItem(OTHERS, _SPEC / "tasks", default=default, priority_class_name=priority, minimum_path=at))
    policy = scheduler_groups.gang(len(items))
    loss = Loss(_SPEC / "minAvailable", f"the tasks require {minimum - wanted.free} pods: the other {wanted.free} are not required")
    return dataclasses.replace(
        flat,
        root=dataclasses.replace(root, default=dataclasses.replace(root.default, policy=policy), children=tuple(items), minimum_path=None),
        pods=tuple(each.plan(each.name if each.minimum else OTHERS) for each in tasks),
        losses=(*flat.losses, *([loss] if wanted.free else [])),
        origins=tuple((f"{each.name}-partition", Block.TOPOLOGY, each.partitions.path) for each in tasks if each.topology),
    )


def _minimum(task: Fields, partitions: Fields, replicas: int) -> int:
    size, least = partitions.number("partitionSize", 1, minimum=1), partitions.number("minPartitions", 0)
    number = partitions.number("totalPartitions", replicas // size, minimum=1)
    if partitions.given and number * size != replicas:
        detail = f"must be totalPartitions ({number}) times partitionSize ({size})"
        task.errors.append(field.invalid(task.path / "replicas", replicas, detail))
    minimum = task.number("minAvailable", least * size or replicas)
    if minimum > replicas:
        task.errors.append(field.invalid(task.path / "minAvailable", minimum, f"must not be greater than replicas ({replicas})"))
    return minimum


def _check_names(spec: Fields) -> None:
    """Report the names that several tasks have: pods are named after their task."""
    first: dict[str, FieldPath] = {}
    for task in spec.each_item("tasks"):
        name = task.text("name")
        if name and first.setdefault(name, task.path) is not task.path:
            spec.errors.append(field.duplicate(task.path / "name", name, f"already used at {first[name]}"))


def _volumes(spec: Fields, job: str) -> Iterator[Mapping[str, Json]]:
    """Yield the volumes of all pods."""
    for index, entry in enumerate(spec.each_item("volumes")):
        if claim := _claim_name(entry, job, index):
            yield {"name": f"{job}-volume-{index}", "persistentVolumeClaim": {"claimName": claim}}


def _created_claims(spec: Fields, about: Subject, known: Known) -> Iterator[dict[str, Json]]:
    """Yield the claims that Volcano creates: those with a specification, unless they exist."""
    spaces = {about.namespace, about.namespace or "default"}
    for index, entry in enumerate(spec.each_item("volumes")):
        name = _claim_name(entry, about.owner.name, index)
        if "volumeClaim" in entry and not any(known.get("", _CLAIM, space, name) for space in spaces):
            yield {"apiVersion": "v1", "kind": _CLAIM, "metadata": {"name": name}, "spec": copied(entry.mapping("volumeClaim").given)}


def _claim_name(entry: Fields, job: str, index: int) -> str:
    """Return the name of the claim of a volume; Volcano ends a name that it makes with random letters."""
    return entry.text("volumeClaimName") or (f"{job}-volume-{index}" if "volumeClaim" in entry else "")
