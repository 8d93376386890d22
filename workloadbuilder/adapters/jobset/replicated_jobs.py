"""Replicated jobs of a JobSet: each is a template for ``replicas`` Jobs, and each Job is one group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.jobset import jobset_labels
from workloadbuilder.adapters.shared import job_spec
from workloadbuilder.adapters.shared.adapter_result import Loss, with_minimum
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.job_spec import JobShape
from workloadbuilder.adapters.shared.known_objects import suggest
from workloadbuilder.blocks import IntentReading, read_intent
from workloadbuilder.workload_item import WHOLE, PolicyKind, SchedulingConfig, SchedulingPolicy, UserIntent, WorkloadItem

BASIC = SchedulingPolicy(PolicyKind.BASIC)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """One entry of ``replicatedJobs``.

    *exclusive* is the default constraint from the annotation at *exclusive_path*; *job* is the spec of its Jobs, with a pod template.
    """

    name: str
    path: FieldPath
    replicas: int
    shape: JobShape
    job: Mapping[str, Json]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    nested: IntentReading
    group: str = "default"
    depends_on: tuple[str, ...] = ()
    exclusive_path: FieldPath = WHOLE
    exclusive: str = ""
    losses: tuple[Loss, ...] = ()

    @property
    def nested_path(self) -> FieldPath:
        """Return the path of the scheduling blocks in the Job template."""
        return self.path.join(("template", "spec", "scheduling"))

    def item(self, intent: UserIntent, priority: str) -> WorkloadItem:
        """Return the leaf for the groups of its Jobs."""
        default = SchedulingConfig(BASIC, (self.exclusive,) if self.exclusive else None)
        return WorkloadItem(
            self.name,
            self.path,
            default=default,
            intent=intent,
            callbacks=(with_minimum(self.shape.parallelism),),
            replicas=self.replicas,
            priority_class_name=priority,
            name_path=self.path / "name",
        )


def read_replicated_jobs(
    spec: Fields, annotations: Mapping[str, str], annotated: FieldPath, warnings: list[FieldError]
) -> list[ReplicatedJob]:
    """Return the replicated jobs in a JobSet's *spec*; *annotations* are those of the set, at the path *annotated*."""
    entries = [*spec.each_item("replicatedJobs")]
    if not entries:
        spec.errors.append(field.required(spec.path / "replicatedJobs", "without a replicated job there are no pods to schedule"))
    parts = [_read(each, annotations, annotated, warnings) for each in entries]
    names = [each.name for each in parts]
    for entry, part in zip(entries, parts, strict=True):
        for index, name in enumerate(part.depends_on):
            if name not in names or name == part.name:
                path = entry.path.join(("dependsOn", index, "name"))
                spec.errors.append(field.not_found(path, name, f"must be the name of another replicated job{suggest(name, names)}"))
    return parts


def _read(entry: Fields, annotations: Mapping[str, str], annotated: FieldPath, warnings: list[FieldError]) -> ReplicatedJob:
    template = entry.mapping("template")
    metadata = template.mapping("metadata")
    spec = job_spec.with_template(template.mapping("spec"), warnings)
    shape, replicas = job_spec.read_job_shape(spec, indexed=True), entry.number("replicas", 1)
    own = metadata.annotations()
    path, losses = WHOLE, []
    exclusive = own.get(jobset_labels.EXCLUSIVE) or annotations.get(jobset_labels.EXCLUSIVE, "")
    if exclusive:
        annotations_path = metadata.path / "annotations" if own.get(jobset_labels.EXCLUSIVE) else annotated
        path = annotations_path / Key(jobset_labels.EXCLUSIVE)
        losses.append(Loss(path, f"only pod anti-affinity keeps other Jobs out of the domain of {exclusive}, not the group"))
    return ReplicatedJob(
        entry.text("name"),
        entry.path,
        replicas,
        shape,
        spec.given,
        metadata.annotations("labels"),
        {**{key: annotations[key] for key in (jobset_labels.EXCLUSIVE, jobset_labels.NODE_SELECTOR) if key in annotations}, **own},
        read_intent(spec.raw("scheduling"), path=spec.path / "scheduling", composite=False),
        entry.text("groupName", "default"),
        tuple(each.text("name") for each in entry.each_item("dependsOn")),
        path,
        exclusive,
        tuple(losses),
    )
