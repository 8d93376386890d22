"""Kueue's annotations for topology-aware scheduling as default constraints, and the losses.

They are on the pod template of each part of a job that Kueue admits as a unit ("PodSet": a Job, all Jobs of one replicated
job, the leaders or workers of a LeaderWorkerSet).  Source: kueue.x-k8s.io, "Topology Aware Scheduling".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.field_path import FieldPath, Key
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import WHOLE

_PREFIX = "kueue.x-k8s.io/"
QUEUE = _PREFIX + "queue-name"
REQUIRED = _PREFIX + "podset-required-topology"
PREFERRED = _PREFIX + "podset-preferred-topology"
UNCONSTRAINED = _PREFIX + "podset-unconstrained-topology"
SLICE = _PREFIX + "podset-slice-required-topology"
SLICE_SIZE = _PREFIX + "podset-slice-size"
SLICES = _PREFIX + "podset-slice-required-topology-constraints"
GROUP = _PREFIX + "podset-group-name"
_LOST = {
    PREFERRED: "the preference is dropped: the scheduler supports only required constraints",
    UNCONSTRAINED: "the annotation is dropped: the scheduler does not track domains for pods without a constraint",
    SLICES: "slices on several levels are dropped: they do not become groups",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Overlay:
    """Constraint that the annotations of one pod template set for each group of its pods."""

    topology: str = ""
    path: FieldPath = WHOLE
    group: str = ""
    losses: tuple[Loss, ...] = ()


def is_constraint(path: FieldPath) -> bool:
    """Return whether *path* is that of an annotation that requires one domain."""
    return str(path.parts[-1]) in {REQUIRED, SLICE} if path.parts else False


def queue(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Loss]:
    """Yield a loss if the object has a queue of Kueue."""
    for name, given in (("labels", labels), ("annotations", annotations)):
        if QUEUE in given:
            path = FieldPath("metadata", name, Key(QUEUE))
            yield Loss(path, f"queue {given[QUEUE]!r} is dropped: the scheduler places pods without Kueue's quota and admission")


def read_overlay(template: PodTemplate, *, group_size: int, groups: int) -> Overlay:
    """Return the overlay of a pod template whose PodSet has *groups* groups of *group_size* pods each."""
    given = template.annotations
    losses = [Loss(_path(template, key), detail, required=key == SLICES) for key, detail in _LOST.items() if key in given]
    required, sliced = given.get(REQUIRED, ""), given.get(SLICE, "")
    if sliced:
        size = given.get(SLICE_SIZE, "")
        if not size or size == str(group_size):
            # A slice has the same pods as a group, so the group gets the slice's constraint, which is the narrower one.
            if required:
                losses.append(_shared(template, REQUIRED, required, "slices"))
            return Overlay(sliced, _path(template, SLICE), given.get(GROUP, ""), tuple(losses))
        detail = f"slices of {size} pods are dropped: the groups have {group_size} pods"
        losses.append(Loss(_path(template, SLICE), detail, required=True))
    if required and groups > 1:
        losses.append(_shared(template, REQUIRED, required, f"{groups} groups"))
    return Overlay(required, _path(template, REQUIRED) if required else WHOLE, given.get(GROUP, ""), tuple(losses))


def _shared(template: PodTemplate, key: str, level: str, parts: str) -> Loss:
    detail = f"the constraint of all {parts} to one domain of {level} is dropped: only groups have constraints"
    return Loss(_path(template, key), detail, required=True)


def _path(template: PodTemplate, key: str) -> FieldPath:
    return template.path.join(("metadata", "annotations", Key(key)))
