"""PodGroup of scheduler-plugins (scheduling.x-k8s.io): one flat gang."""

from __future__ import annotations

from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.item import SchedulingConfig, WorkloadItem

LABEL = "scheduling.x-k8s.io/pod-group"
_SPEC = FieldPath("spec")
_LOST = {
    "minResources": "whether there is room, placing the pods tells; no sum of resources is asked for besides",
    "scheduleTimeoutSeconds": "a group waits without a time limit, and holds nothing meanwhile",
}


def adapt(found: Json, known: Known) -> Reading:
    """What is made of such a PodGroup; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    spec = top.mapping("spec")
    pods = scheduler_groups.members(known, about.namespace, lambda labels, _: labels.get(LABEL) == about.owner.name)
    root = WorkloadItem(scheduler_groups.ROOT, _SPEC, default=SchedulingConfig(scheduler_groups.gang(spec.count("minMember", None))))
    return Reading(
        scheduler_groups.whose(about),
        about.namespace,
        root,
        (scheduler_groups.plan(scheduler_groups.ROOT, pods),),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec),
    )
