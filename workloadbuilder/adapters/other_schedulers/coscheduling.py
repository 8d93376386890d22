"""Adapter for PodGroup of scheduler-plugins (scheduling.x-k8s.io): one flat gang."""

from __future__ import annotations

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.pods import COSCHEDULING_LABEL
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.workload_item import SchedulingConfig, WorkloadItem

_SPEC = FieldPath("spec")
_LOST = {
    "minResources": "minResources is dropped: pods are placed individually",
    "scheduleTimeoutSeconds": "the timeout is dropped: a pending group waits without a time limit, and reserves no resources",
}


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a PodGroup of scheduler-plugins; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    pods = scheduler_groups.members(known, about.namespace, lambda labels, _: labels.get(COSCHEDULING_LABEL) == about.owner.name)
    default = SchedulingConfig(scheduler_groups.gang(spec.count("minMember", None)))
    root = WorkloadItem(scheduler_groups.ROOT, _SPEC, default=default, minimum_path=_SPEC / "minMember")
    return Reading(
        scheduler_groups.workload_owner(about),
        about.namespace,
        root,
        (scheduler_groups.plan(scheduler_groups.ROOT, pods),),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec),
    )
