"""Adapter for Job (batch/v1): one group of its pods (KEP-6089, "Job Integration").

If a Job's controller compiles a Workload, the Job does not get another one.  If that controller leaves the groups to its
children, the Job's group is created from the template that the Job's annotations name.
"""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions.kubernetes_releases import FIRST_WITH_WORKLOAD_NAME
from kubeapi.versions.served_versions import groups_of
from validators import field
from validators.field import FieldError
from validators.model.job_parts import TEMPLATE
from workloadbuilder import template_annotations
from workloadbuilder.adapters.jobset import jobset_labels
from workloadbuilder.adapters.shared import job_spec, kueue_annotations, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import Link, PodPlan, Positions, Reading, with_minimum
from workloadbuilder.adapters.shared.job_spec import JobShape
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blocks import read_intent
from workloadbuilder.workload_item import Block, Owner, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

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
    if shape.suspended:
        detail = "the Job is suspended: its pods are created when it is resumed"
        warnings.append(field.invalid(_SPEC / "suspend", True, detail))  # noqa: FBT003 - the field's value
    link = template_annotations.read(top.raw("metadata"))
    by_name = bool(link.workload) and known.kubernetes >= FIRST_WITH_WORKLOAD_NAME
    if by_name or (about.controller is not None and (link.template or about.compiled_above)):
        result = _child(about, shape, link, known, by_name=by_name)
        errors += link.errors
        warnings += link.warnings
    else:
        intent = read_intent(spec.raw("scheduling"), path=_SPEC / "scheduling", composite=False)
        errors += [*intent.errors, *job_spec.check(shape, intent.intent, _SPEC)]
        warnings += [*intent.warnings, *job_spec.warn(shape, intent.intent, _SPEC)]
        overlay = kueue_annotations.read_overlay(shape.template, group_size=shape.pods, groups=1)
        root = WorkloadItem(
            ROOT,
            _SPEC / "scheduling",
            default=SchedulingConfig(_BASIC, (overlay.topology,) if overlay.topology else None),
            intent=intent.intent,
            callbacks=(with_minimum(shape.parallelism),),
            priority_class_name=pod_template.common_priority([shape.template], errors, warnings),
        )
        result = Reading(
            about.owner,
            about.namespace,
            root,
            (_pods(about.owner, shape, ROOT),),
            losses=(*kueue_annotations.queue(about.labels, about.annotations), *overlay.losses),
            origins=((ROOT, Block.TOPOLOGY, overlay.path),) if overlay.topology else (),
        )
    return dataclasses.replace(result, errors=tuple(errors), warnings=tuple(warnings))


def _child(about: Subject, shape: JobShape, link: template_annotations.Linkage, known: Known, *, by_name: bool) -> Reading:
    """Read a Job whose controller compiles the Workload, or which names a Workload."""
    result, controller = Reading(about.owner, about.namespace), about.controller
    parent = "" if controller is None else object_identity.display_name(controller)
    if controller is not None and known.compiles(controller.group, controller.kind, about.namespace, controller.name):
        return dataclasses.replace(result, skipped=f"its group is created with those of its controller, {parent}")
    if not link.template:
        return dataclasses.replace(result, skipped=f"its group belongs to the Workload of its controller, {parent}")
    workloads = [each for group in groups_of("Workload") for each in known.list_kind(group, "Workload", about.namespace)]
    if by_name:
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
        return job_spec.pod(shape, owner.name, number, labels)

    return PodPlan(template, shape.pods, make)
