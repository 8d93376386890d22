"""JobSet (jobset.x-k8s.io): a group of groups, each Job one of them (KEP-6089, "Reference Integration Examples: JobSet").

The root stands for the set, and each replicated job is a template of which every one of its Jobs makes a group.  JobSet has
published no scheduling fields yet; both shapes of the document are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.jobset import jobset_policies, replicated_jobs, startup_order
from workloadbuilder.adapters.jobset.jobset_objects import JobSetObjects
from workloadbuilder.adapters.shared import job_spec, kueue_annotations, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import Reading, with_minimum
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.blocks import read_intent
from workloadbuilder.item import Block, Owner, SchedulingConfig, UserIntent, WorkloadItem

ROOT = "jobset-root"
"""The root's template, by the name that KEP-6089 gives as an example."""


def adapt(found: Json, known: Known) -> Reading:
    """What is made of a JobSet; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    if skipped := object_identity.left_to_controller(about, known):
        return Reading(about.owner, about.namespace, skipped=skipped, errors=tuple(errors), warnings=tuple(warnings))
    result = assemble(
        top.mapping("spec"),
        Of(about.owner, about.owner, about.namespace, about.annotations, FieldPath("metadata", "annotations")),
        warnings,
    )
    return dataclasses.replace(result, losses=(*kueue_annotations.queue(about.labels, about.annotations), *result.losses))


@dataclasses.dataclass(frozen=True, slots=True)
class Of:
    """Whose JobSet it is: *owner* owns the Workload, *jobset* is the set itself, with *annotations* that stand at *annotated*.

    *root* is the root template's name.  Of the replicated jobs named in *gangs*, each Job is a gang if nobody says otherwise.
    """

    owner: Owner
    jobset: Owner
    namespace: str
    annotations: Mapping[str, str]
    annotated: FieldPath
    root: str = ROOT
    gangs: frozenset[str] = frozenset()


def assemble(spec: Fields, of: Of, warnings: list[FieldError]) -> Reading:
    """What is made of a JobSet's *spec*, in whose errors what is wrong is kept."""
    errors = spec.errors
    parts = replicated_jobs.read_replicated_jobs(spec, of.annotations, of.annotated, warnings)
    path = spec.path / "scheduling"
    root = read_intent(spec.raw("scheduling"), path=path, composite=True, also=(jobset_policies.POLICIES,))
    errors += root.errors
    warnings += root.warnings
    wanted = jobset_policies.intents(spec.raw("scheduling"), path, parts, errors, warnings)
    errors += startup_order.check(spec, parts, root.intent)
    for part in parts:
        where = part.path.join(("template", "spec"))
        intent = wanted.get(part.name, UserIntent())
        errors += job_spec.check(part.shape, intent, where)
        warnings += job_spec.warn(part.shape, intent, where)
    priority = pod_template.common_priority([part.shape.template for part in parts], errors, warnings)
    suspended = spec.flag("suspend")
    if suspended:
        detail = "the JobSet is suspended: its pods are made once it is resumed"
        warnings.append(field.invalid(spec.path / "suspend", True, detail))  # noqa: FBT003 - the value that is told
    objects = JobSetObjects(of.jobset, of.namespace, parts, suspended)
    item = WorkloadItem(
        of.root,
        path,
        default=SchedulingConfig(replicated_jobs.BASIC),
        intent=root.intent,
        callbacks=(with_minimum(sum(part.replicas for part in parts)),),
        children=tuple(part.item(wanted.get(part.name, UserIntent()), priority, gang=part.name in of.gangs) for part in parts),
        priority_class_name=priority,
    )
    return Reading(
        of.owner,
        of.namespace,
        item,
        tuple(objects.pods(part) for part in parts),
        tuple(objects.jobs(part) for part in parts),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(loss for part in parts for loss in part.losses),
        origins=tuple((part.name, Block.TOPOLOGY, part.topology_path) for part in parts if part.topology),
    )
