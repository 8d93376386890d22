"""Adapter for Job (batch/v1): one group of its pods (KEP-6089, "Job Integration"), or none.

The Job controller creates no group if the pod template names one, or if its feature gate is off.  A Job with a controller has none
in Kubernetes 1.37; from 1.38 on, it has one if it has ``scheduling``.  Its pods still get one for a domain that Kueue requires.
If annotations name a template of the Workload of another object, the group is created from that.  The pods of a Job that a JobSet owns
are placed exclusively if its pod template says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions import kubernetes_releases
from kubeapi.versions.kubernetes_releases import FIRST_WITH_OWNED_JOBS, FIRST_WITH_WORKLOAD_NAME
from kubeapi.versions.served_versions import groups_of
from validators import field
from validators.field import FieldError
from validators.gates import WITH_JOB
from validators.model.job_parts import TEMPLATE
from workloadbuilder import template_annotations
from workloadbuilder.adapters.jobset import jobset_labels
from workloadbuilder.adapters.shared import job_spec, kueue_annotations, kueue_podsets, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import Link, PodPlan, Positions, Reading, with_minimum
from workloadbuilder.adapters.shared.job_spec import JobShape
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods, TemplatePods
from workloadbuilder.adapters.shared.named_groups import named_group
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blocks import read_intent
from workloadbuilder.workload_item import Owner, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

ROOT = "job-root"
"""Name of the template, as in KEP-6089's usage example."""
_BASIC = SchedulingPolicy(PolicyKind.BASIC)
_SPEC = FieldPath("spec")
_TEMPLATE = FieldPath("metadata", "annotations", Key(TEMPLATE))


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a Job; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    shape = job_spec.read_job_shape(spec)
    warnings += _warn_if_suspended(shape)
    link = template_annotations.read(top.raw("metadata"))
    if reason := object_identity.left_to_controller(about, known):
        result = Reading(about.owner, about.namespace, skipped=reason)
        return dataclasses.replace(result, errors=(*errors, *link.errors), warnings=(*warnings, *link.warnings))
    named = named_group(shape.template.content) is not None
    ungrouped = "" if named else _why_no_group(about, known, link, has_scheduling="scheduling" in spec)
    if not named and not ungrouped and _is_delegated(about, known, link):
        result = _child(about, shape, link, known)
        return dataclasses.replace(result, errors=(*errors, *link.errors), warnings=(*warnings, *link.warnings))
    intent = read_intent(spec.raw("scheduling"), path=_SPEC / "scheduling", composite=False)
    errors += [*intent.errors, *job_spec.check(shape, intent.intent, _SPEC)]
    warnings += intent.warnings
    losses = kueue_annotations.queue(about.labels, about.annotations)
    root = WorkloadItem(
        ROOT,
        _SPEC / "scheduling",
        default=SchedulingConfig(_BASIC),
        intent=intent.intent,
        callbacks=(with_minimum(shape.parallelism),),
        priority_class_name=pod_template.common_priority([shape.template], errors, [] if ungrouped else warnings),
    )
    gangs = {ROOT: SchedulingPolicy(PolicyKind.GANG, max(shape.pods, 1))}
    result = Reading(about.owner, about.namespace, pods=(_pods(about.owner, shape, ROOT),), skipped=ungrouped, gangs=gangs)
    if ungrouped:
        warnings += [field.invalid_struct(path, f"has no effect: {ungrouped}") for _, path in intent.intent.paths]
        result = dataclasses.replace(result, possible_root=root)
    else:
        warnings += job_spec.warn(shape, intent.intent, _SPEC)
        result = dataclasses.replace(result, root=root)
    result = dataclasses.replace(result, errors=tuple(errors), warnings=tuple(warnings), losses=tuple(losses))
    if ungrouped:
        return kueue_podsets.grouped(result, [PlannedPods(shape.template, ROOT, result.pods)], ROOT, known)
    return kueue_podsets.confined(result, [TemplatePods(shape.template, (ROOT,))], known)


def _warn_if_suspended(shape: JobShape) -> Iterator[FieldError]:
    if shape.suspended:
        detail = "the Job is suspended: its pods are created when it is resumed"
        yield field.invalid(_SPEC / "suspend", True, detail)  # noqa: FBT003 - the field's value


def _is_delegated(about: Subject, known: Known, link: template_annotations.Linkage) -> bool:
    """Return whether the group of a Job is created from a template of a Workload of another object, which its annotations name."""
    by_name = bool(link.workload) and known.kubernetes >= FIRST_WITH_WORKLOAD_NAME
    return by_name or (about.controller is not None and bool(link.template))


def _why_no_group(about: Subject, known: Known, link: template_annotations.Linkage, *, has_scheduling: bool) -> str:
    """Return the reason why the Job controller creates no group for a Job whose template names none; empty if it creates one.

    Source: getManagementMode in Kubernetes 1.37.1 and 1.38.0-beta.0, pkg/controller/job.
    """
    if not known.gates.enabled(WITH_JOB):
        return f"the feature gate {WITH_JOB} is off, so the Job controller creates no group"
    if about.controller is None or _is_delegated(about, known, link):
        return ""
    reason = (
        f"the Job controller of Kubernetes {kubernetes_releases.name(known.kubernetes)} creates no group for a Job with a controller "
        f"({object_identity.display_name(about.controller)})"
    )
    if known.kubernetes < FIRST_WITH_OWNED_JOBS:
        return reason
    return "" if has_scheduling else f"{reason} and without spec.scheduling"


def _child(about: Subject, shape: JobShape, link: template_annotations.Linkage, known: Known) -> Reading:
    """Read a Job whose group is created from a template of a Workload of another object."""
    result, controller = Reading(about.owner, about.namespace), about.controller
    parent = "" if controller is None else object_identity.display_name(controller)
    workloads = [each for group in groups_of("Workload") for each in known.list_kind(group, "Workload", about.namespace)]
    if link.workload and known.kubernetes >= FIRST_WITH_WORKLOAD_NAME:
        workload, source = next((each for each in workloads if object_identity.name_of(each) == link.workload), None), link.workload
    else:
        workload = next((each for each in workloads if controller is not None and object_identity.described(each, controller)), None)
        source = f"of its controller, {parent}"
    if workload is None:
        return dataclasses.replace(result, skipped=f"its group needs the Workload {source}, which is not in the input")
    index = jobset_labels.index(about.labels)
    return dataclasses.replace(
        result,
        link=Link(workload, link.template, link.parent, index),
        pods=(_pods(about.owner, shape, link.template),),
        relocate=lambda error: dataclasses.replace(error, path=_TEMPLATE),
    )


def _pods(owner: Owner, shape: JobShape, template: str) -> PodPlan:
    labels = {"batch.kubernetes.io/controller-uid": owner.uid, "controller-uid": owner.uid} if owner.uid else {}

    def make(_: Positions, number: int) -> dict[str, Json]:
        pod = job_spec.pod(shape, owner.name, number, labels)
        _follow_jobset(pod, first=number == 0)
        return pod

    return PodPlan(template, shape.pods, make)


def _follow_jobset(pod: dict[str, Json], *, first: bool) -> None:
    """Add the constraints that JobSet's webhook adds to a pod with its annotations: a Job has a domain of its own.

    The webhook gives the later pods a node selector for the domain of the first one, which is an affinity to it here.
    """
    metadata = pod["metadata"]
    annotations, key = metadata.get("annotations") or {}, (metadata.get("labels") or {}).get(jobset_labels.JOB_KEY)
    topology = annotations.get(jobset_labels.EXCLUSIVE)
    if topology and key and jobset_labels.NAME in annotations and jobset_labels.NODE_SELECTOR not in annotations:
        pod_template.exclusive(pod["spec"], topology=topology, label=jobset_labels.JOB_KEY, value=key, everywhere=True, keeps_out=first)
