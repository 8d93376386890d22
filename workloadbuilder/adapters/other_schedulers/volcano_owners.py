"""The gang that Volcano makes of the pods of a ReplicaSet, a StatefulSet or a DaemonSet, by an annotation of these.

A Deployment passes its annotations to its ReplicaSets: each revision has its own gang.  Source: Volcano 1.15
(``pg_controller_handler.go``); its controller has the option ``--inherit-owner-annotations`` on by default.
"""

from __future__ import annotations

import dataclasses

from kubeapi.field_path import FieldPath, Key
from validators.model.rolling_updates import VOLCANO_MINIMUM, volcano_minimum
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import SchedulingConfig, WorkloadItem

ROOT = "pods"


def as_gang(reading: Reading, about: Subject, template: PodTemplate) -> Reading:
    """Return *reading*, whose pods have no group, with the gang that the object asks for; unchanged if it asks for none."""
    minimum = volcano_minimum(about.owner.kind, about.annotations, template.content)
    if minimum <= 1 or reading.root is not None or reading.named_group() is not None:
        return reading
    errors, warnings = [*reading.errors], [*reading.warnings]
    priority = pod_template.common_priority([template], errors, warnings)
    path = FieldPath("metadata", "annotations") / Key(VOLCANO_MINIMUM)
    root = WorkloadItem(ROOT, path, default=SchedulingConfig(scheduler_groups.gang(minimum)), priority_class_name=priority)
    return dataclasses.replace(
        reading,
        root=root,
        pods=tuple(dataclasses.replace(each, template=ROOT) for each in reading.pods),
        skipped="",
        errors=tuple(errors),
        warnings=tuple(warnings),
    )
