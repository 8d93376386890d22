"""PodGroup of scheduler-plugins (scheduling.x-k8s.io): one flat gang."""

from __future__ import annotations

from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters import foreign, subject
from workloadbuilder.adapters.known import Known
from workloadbuilder.adapters.reading import Loss, Reading
from workloadbuilder.item import SchedulingConfig, WorkloadItem

LABEL = "scheduling.x-k8s.io/pod-group"
_SPEC = FieldPath("spec")
_LOST = {
    "minResources": "whether there is room, placing the pods tells; no sum of resources is asked for besides",
    "scheduleTimeoutSeconds": "a group waits without a time limit, and holds nothing meanwhile",
}


def read(found: Json, known: Known) -> Reading:
    """What is made of such a PodGroup; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = subject.read(found, errors, warnings)
    spec = top.mapping("spec")
    pods = foreign.members(known, about.namespace, lambda labels, _: labels.get(LABEL) == about.owner.name)
    root = WorkloadItem(foreign.ROOT, _SPEC, default=SchedulingConfig(foreign.gang(spec.count("minMember", None))))
    return Reading(
        foreign.whose(about),
        about.namespace,
        root,
        (foreign.plan(foreign.ROOT, pods),),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec),
    )
