"""Kueue's annotations for topology-aware scheduling, read as default constraints; and what of Kueue a Workload cannot say.

They stand on the pod template of each part of a job that Kueue admits as one ("PodSet": a Job, all Jobs of one replicated
job, the leaders or workers of a LeaderWorkerSet); kueue.x-k8s.io, "Topology Aware Scheduling".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators.field import FieldPath, Key
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.item import WHOLE

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
    PREFERRED: "a preference is not a constraint: the scheduler does not know it",
    UNCONSTRAINED: "the scheduler keeps no account of domains for pods without a constraint",
    SLICES: "slices on several levels are not groups of their own",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Overlay:
    """What the annotations of one pod template ask of each group of its pods."""

    topology: str = ""
    path: FieldPath = WHOLE
    group: str = ""
    losses: tuple[Loss, ...] = ()


def queue(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Loss]:
    """That the object waits in a queue, which is not the scheduler's."""
    for name, given in (("labels", labels), ("annotations", annotations)):
        if QUEUE in given:
            path = FieldPath("metadata", name, Key(QUEUE))
            yield Loss(path, f"queue {given[QUEUE]!r}: quota and admission are Kueue's; the scheduler takes the pods as they come")


def read_overlay(template: PodTemplate, *, group_size: int, groups: int) -> Overlay:
    """The overlay of a pod template whose PodSet is *groups* groups of *group_size* pods each."""
    given = template.annotations
    losses = [Loss(_path(template, key), detail) for key, detail in _LOST.items() if key in given]
    required, sliced = given.get(REQUIRED, ""), given.get(SLICE, "")
    if sliced:
        size = given.get(SLICE_SIZE, "")
        if not size or size == str(group_size):
            # A slice is a group: its constraint is the narrower of the two, and the group's own.
            if required:
                losses.append(_shared(template, REQUIRED, required, "slices"))
            return Overlay(sliced, _path(template, SLICE), given.get(GROUP, ""), tuple(losses))
        losses.append(Loss(_path(template, SLICE), f"slices of {size} pods in groups of {group_size} are not groups of their own"))
    if required and groups > 1:
        losses.append(_shared(template, REQUIRED, required, f"{groups} groups"))
    return Overlay(required, _path(template, REQUIRED) if required else WHOLE, given.get(GROUP, ""), tuple(losses))


def _shared(template: PodTemplate, key: str, level: str, what: str) -> Loss:
    return Loss(_path(template, key), f"each group stays in one domain; that all {what} share one of {level} is not kept")


def _path(template: PodTemplate, key: str) -> FieldPath:
    return template.path.join(("metadata", "annotations", Key(key)))
