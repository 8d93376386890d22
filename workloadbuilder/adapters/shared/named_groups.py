"""The group that a pod or a pod template names: one of Kubernetes in its specification, one of another scheduler in its metadata.

Sources: Kubernetes 1.37.1, pkg/controller/job, getManagementMode; scheduler-plugins, Volcano and KAI Scheduler, whose pods name their
PodGroup by a label or an annotation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json, section
from kubeapi.pods import COSCHEDULING_LABEL, DEFAULT_SCHEDULER, group_in
from kubeapi.versions.api_versions import SCHEDULING
from validators.field import FieldError
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.workload_item import WHOLE

VOLCANO_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
KAI_ANNOTATION = "pod-group-name"
TASK_GROUPS = ("yunikorn.apache.org/task-groups", "yunikorn.apache.org/task-group-name")
"""Annotations of pods whose application is a gang of YuniKorn, which has no PodGroups; its admission controller sets their
``schedulerName``, possibly after others have seen them.  Source: YuniKorn 1.9, pkg/common/constants."""
YUNIKORN = "yunikorn"
_MARKS = (
    ("labels", COSCHEDULING_LABEL, "scheduling.x-k8s.io"),
    *(("annotations", key, "scheduling.volcano.sh") for key in VOLCANO_ANNOTATIONS),
    ("annotations", KAI_ANNOTATION, "scheduling.run.ai"),
)
"""Part of the metadata, key in it, and API group of the PodGroup that the value names."""
OTHER_SCHEDULERS = frozenset(group for _, _, group in _MARKS)
"""API groups with a PodGroup of another scheduler."""
KEYS = tuple(key for _, key, _ in _MARKS)
"""Keys of labels and annotations that name such a PodGroup."""


def is_of_other_scheduler(manifest: Mapping[str, Json]) -> bool:
    """Return whether an object is the PodGroup of another scheduler."""
    return manifest.get("kind") == "PodGroup" and str(manifest.get("apiVersion")).rpartition("/")[0] in OTHER_SCHEDULERS


@dataclasses.dataclass(frozen=True, slots=True)
class NamedGroup:
    """PodGroup of an API group that a pod names."""

    group: str
    name: str

    def __str__(self) -> str:
        """Return it for messages."""
        return f"PodGroup {self.name}" if self.group == SCHEDULING else f"PodGroup ({self.group}) {self.name}"


def named_group(pod: Json) -> NamedGroup | None:
    """Return the group that a pod or a pod template names; None if it names none.  Never raises, for any JSON."""
    if name := group_in(pod):
        return NamedGroup(SCHEDULING, name)
    errors: list[FieldError] = []
    metadata = Fields(pod, WHOLE, errors).mapping("metadata")
    for part, key, group in _MARKS:
        if name := metadata.annotations(part).get(key, ""):
            return NamedGroup(group, name)
    return None


def scheduler_of(pod: Json) -> str:
    """Return the scheduler of a pod or a pod template, also if only annotations name it; empty for the default one.  Never raises."""
    name = section(pod, "spec").get("schedulerName")
    if name not in (None, "", DEFAULT_SCHEDULER):
        return str(name)
    annotations = section(pod, "metadata", "annotations")
    return YUNIKORN if any(key in annotations for key in TASK_GROUPS) else ""
