"""Adapter for JobSet (jobset.x-k8s.io): a group with one child group for each Job.

The root is the set, and each replicated job is a template with a group for each of its Jobs.  Source: KEP-6089, "Reference
Integration Examples: JobSet".  JobSet has published no scheduling fields yet; both forms in the KEP are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model.start_order import start_order
from workloadbuilder.adapters.jobset import jobset_policies, replicated_jobs, startup_order
from workloadbuilder.adapters.jobset.jobset_objects import JobSetObjects
from workloadbuilder.adapters.jobset.replicated_jobs import ReplicatedJob
from workloadbuilder.adapters.shared import job_spec, kueue_annotations, kueue_podsets, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Reading, walk, with_minimum
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import TemplatePods
from workloadbuilder.adapters.shared.pod_claims import PodClaims
from workloadbuilder.blocks import read_intent
from workloadbuilder.workload_item import Block, Owner, PolicyKind, SchedulingConfig, SchedulingPolicy, UserIntent, WorkloadItem

ROOT = "jobset-root"
"""Name of the root's template, as in KEP-6089's example."""


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a JobSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    if skipped := object_identity.left_to_controller(about, known):
        return Reading(about.owner, about.namespace, skipped=skipped, errors=tuple(errors), warnings=tuple(warnings))
    result = assemble(
        top.mapping("spec"),
        JobSetIdentity(
            about.owner,
            about.owner,
            about.namespace,
            about.annotations,
            FieldPath("metadata", "annotations"),
            restarts=top.mapping("status").number("restarts", 0),
        ),
        warnings,
        known,
    )
    return dataclasses.replace(result, losses=(*kueue_annotations.queue(about.labels, about.annotations), *result.losses))


@dataclasses.dataclass(frozen=True, slots=True)
class OneGang:
    """Gang of all pods of a JobSet, which the object at *path* requires, in one domain of the node label *topology* unless it is empty."""

    path: FieldPath
    topology: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class JobSetIdentity:
    """Identity of a JobSet: *owner* owns the Workload, *jobset* is the set itself, whose *annotations* are at the path *annotated*.

    *root* is the root template's name.  With *gang*, all pods have one group, and the Jobs have none.  *restarts* is how often all Jobs
    were created again.
    """

    owner: Owner
    jobset: Owner
    namespace: str
    annotations: Mapping[str, str]
    annotated: FieldPath
    root: str = ROOT
    gang: OneGang | None = None
    restarts: int = 0


def assemble(spec: Fields, identity: JobSetIdentity, warnings: list[FieldError], known: Known) -> Reading:
    """Read a JobSet's *spec*, which collects the errors; *known* has claims that exist."""
    errors = spec.errors
    parts = replicated_jobs.read_replicated_jobs(spec, identity.annotations, identity.annotated, warnings)
    path = spec.path / "scheduling"
    root = read_intent(spec.raw("scheduling"), path=path, composite=True, also=(jobset_policies.POLICIES,))
    errors += root.errors
    warnings += root.warnings
    intents = jobset_policies.intents(spec.raw("scheduling"), path, parts, errors, warnings)
    errors += startup_order.check(spec)
    warnings += startup_order.warn(spec, parts, root.intent)
    _check_jobs(parts, intents, errors, warnings)
    priority = pod_template.common_priority([part.shape.template for part in parts], errors, warnings)
    suspended = object_identity.warn_if_suspended(spec, "JobSet", warnings)
    claims = PodClaims.read(each for policy in spec.each_item("volumeClaimPolicies") for each in policy.each_item("templates"))
    objects = JobSetObjects(
        identity.jobset, identity.namespace, parts, suspended, claims, _coordinator(spec, identity.jobset.name), identity.restarts
    )
    item = WorkloadItem(
        identity.root,
        path,
        default=SchedulingConfig(replicated_jobs.BASIC),
        intent=root.intent,
        callbacks=(with_minimum(sum(part.replicas for part in parts)),),
        children=tuple(part.item(intents.get(part.name, UserIntent()), priority) for part in parts),
        priority_class_name=priority,
    )
    reading = Reading(
        identity.owner,
        identity.namespace,
        item,
        tuple(objects.pods(part) for part in parts),
        tuple(objects.jobs(part) for part in parts),
        further=tuple(claims.objects([identity.jobset.name], identity.namespace, known)),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(loss for part in parts for loss in part.losses),
        origins=tuple((part.name, Block.TOPOLOGY, part.exclusive_path) for part in parts if part.exclusive),
        waits=start_order("jobset.x-k8s.io", "JobSet", spec.given),
        gangs=_gangs(identity.root, parts, startup_order.first_groups(spec, parts)),
    )
    return _confined(reading, parts, identity.gang, known)


def _gangs(root: str, parts: Sequence[ReplicatedJob], first: int) -> dict[str, SchedulingPolicy]:
    """Return the policies with which the set is placed whole, by template; the *first* groups are created before others are ready."""
    minimums = {root: first} | {part.name: part.shape.pods for part in parts if not startup_order.leader_first(part)}
    return {name: SchedulingPolicy(PolicyKind.GANG, max(1, minimum)) for name, minimum in minimums.items()}


def _coordinator(spec: Fields, name: str) -> str:
    """Return the address of the coordinating pod of the JobSet *name*; empty if it has none."""
    pod = spec.mapping("coordinator")
    if not pod.given:
        return ""
    subdomain = spec.mapping("network").text("subdomain") or name
    return f"{name}-{pod.text('replicatedJob')}-{pod.number('jobIndex', 0)}-{pod.number('podIndex', 0)}.{subdomain}"


def _check_jobs(
    parts: Sequence[ReplicatedJob], intents: Mapping[str, UserIntent], errors: list[FieldError], warnings: list[FieldError]
) -> None:
    for part in parts:
        spec_path = part.path.join(("template", "spec"))
        intent = intents.get(part.name, UserIntent())
        errors += job_spec.check(part.shape, intent, spec_path)
        warnings += job_spec.warn(part.shape, intent, spec_path)
        warnings += startup_order.warn_of_exclusive(part, intent)


def _confined(reading: Reading, parts: Sequence[ReplicatedJob], gang: OneGang | None, known: Known) -> Reading:
    """Return *reading* with the domains that Kueue's annotations require, or as one gang, for which they have no effect."""
    podsets = [TemplatePods(part.shape.template, (part.name,)) for part in parts]
    if gang is None:
        return kueue_podsets.confined(reading, podsets, known)
    losses = kueue_podsets.unexpressed((each.template for each in podsets), f"{gang.path} makes one group of all pods")
    reading = _as_one_gang(reading, parts, gang)
    return dataclasses.replace(reading, losses=(*reading.losses, *losses))


def _as_one_gang(reading: Reading, parts: Sequence[ReplicatedJob], gang: OneGang) -> Reading:
    """Return *reading* with one group of all pods in place of a group for each Job; as many are its minimum as one Job of each has."""
    root = reading.root
    if root is None:
        return reading
    policy = SchedulingPolicy(PolicyKind.GANG, max(1, sum(part.shape.parallelism for part in parts)))
    detail = "the pods have one group, which has no constraint for the pods of one Job"
    confined = [Loss(part.exclusive_path, detail, required=True) for part in parts if part.exclusive]
    written = [path for item in walk(root) for _, path in item.intent.paths]
    detail = f"must be absent: {gang.path} makes one group of all pods"
    return dataclasses.replace(
        reading,
        root=WorkloadItem(
            root.name,
            gang.path,
            default=SchedulingConfig(policy, (gang.topology,) if gang.topology else None),
            priority_class_name=root.priority_class_name,
            minimum_path=None,
        ),
        pods=tuple(_of_all_jobs(plan, part.replicas, root.name) for plan, part in zip(reading.pods, parts, strict=True)),
        children=(),
        errors=(*reading.errors, *(field.forbidden(each, detail) for each in written)),
        losses=(*reading.losses, *confined),
        gangs={},
        origins=((root.name, Block.TOPOLOGY, gang.path),) if gang.topology else (),
    )


def _of_all_jobs(plan: PodPlan, jobs: int, template: str) -> PodPlan:
    """Return the pods of all *jobs* of a replicated job, in the one group of *template*."""
    return dataclasses.replace(
        plan,
        template=template,
        count=jobs * plan.count,
        make=lambda _, number: plan.make((number // plan.count,), number % plan.count),
    )
