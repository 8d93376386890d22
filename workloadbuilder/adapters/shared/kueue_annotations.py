"""Kueue's annotations for topology-aware scheduling, as the request of one podset, and their losses.

They are on the pod template of each part of a job that Kueue places as a unit ("PodSet": a Job, all Jobs of one replicated job, the
workers of a LeaderWorkerSet).  Source: Kueue 0.17.0, ``pkg/controller/jobframework/tas.go``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from kubeapi import decode
from kubeapi.decode import Json
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
    SLICES: "Kueue 0.17 reads slices on several levels only with its feature gate TASMultiLayerTopology, which is off by default",
}
_is_integer = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_DIGITS = 10
"""Digits of the largest number that Kueue reads, of 32 bits."""


@dataclasses.dataclass(frozen=True, slots=True)
class Layer:
    """Slices of *size* pods, each of which must be in one domain of the node label *topology*; *path* is that of the annotation."""

    topology: str
    size: int
    path: FieldPath


@dataclasses.dataclass(frozen=True, slots=True)
class TopologyRequest:
    """Domains that the annotations of one pod template require for the pods of its podset.

    *required* is the node label of the domain of all pods, from the annotation at *path*; empty if there is none.  *layers* are the
    slices, the largest first.  Podsets with the same *group* share the domain.
    """

    required: str = ""
    path: FieldPath = WHOLE
    layers: tuple[Layer, ...] = ()
    group: str = ""
    losses: tuple[Loss, ...] = ()

    def __bool__(self) -> bool:
        """Return whether a domain is required."""
        return bool(self.required or self.layers)

    @property
    def paths(self) -> Iterator[FieldPath]:
        """Return the paths of the annotations that require a domain."""
        yield from (self.path,) if self.required else ()
        yield from dict.fromkeys(each.path for each in self.layers)


def is_constraint(path: FieldPath) -> bool:
    """Return whether *path* is that of an annotation that requires one domain."""
    return str(path.parts[-1]) in {REQUIRED, SLICE, SLICES} if path.parts else False


def is_queue(path: FieldPath) -> bool:
    """Return whether *path* is that of the label for a queue of an object."""
    return path == FieldPath("metadata", "labels", Key(QUEUE))


def queue(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Loss]:
    """Yield a loss if the object has a queue of Kueue, or an annotation that Kueue does not read."""
    if QUEUE in labels:
        detail = f"queue {labels[QUEUE]!r} is dropped: the scheduler places pods without Kueue's quota and admission"
        yield Loss(FieldPath("metadata", "labels", Key(QUEUE)), detail)
    elif QUEUE in annotations:
        yield Loss(FieldPath("metadata", "annotations", Key(QUEUE)), "has no effect: Kueue reads the queue from the label of this name")


def read_request(template: PodTemplate) -> TopologyRequest:
    """Return the request of the podset of *template*, without values that Kueue refuses (``kueue_rules``)."""
    given = template.annotations
    losses = tuple(Loss(annotation_path(template, key), detail) for key, detail in _LOST.items() if key in given)
    required = given.get(REQUIRED, "")
    path = annotation_path(template, REQUIRED) if required else WHOLE
    shared = bool(required) or PREFERRED in given
    return TopologyRequest(required, path, (*_layers(template),), given.get(GROUP, "") if shared else "", losses)


def _layers(template: PodTemplate) -> Iterator[Layer]:
    given = template.annotations
    if SLICES in given:
        listed = parsed_slices(given[SLICES])
        for each in listed or ():
            topology, size = each.get("topology"), each.get("size")
            if isinstance(topology, str) and topology and is_size(size):
                yield Layer(topology, size, annotation_path(template, SLICES))
    elif given.get(SLICE) and (size := integer(given.get(SLICE_SIZE, ""))) is not None and size > 0:
        yield Layer(given[SLICE], size, annotation_path(template, SLICE))


def integer(text: str) -> int | None:
    """Return the number of 32 bits that a text is, as Go reads it; None for any other text."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    # Python refuses to convert thousands of digits.
    if not _is_integer(text) or len(digits) > _DIGITS:
        return None
    value = -int(digits) if text.startswith("-") else int(digits)
    return value if -(2**31) <= value < 2**31 else None


def is_size(value: Json) -> TypeGuard[int]:
    """Return whether a JSON value is the size of a slice: a positive number of 32 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31


def parsed_slices(text: str) -> Sequence[Mapping[str, Json]] | None:
    """Return the slices on several levels in an annotation; None if it is no JSON array of objects."""
    try:
        listed = decode.parse(text.encode())
    except (ValueError, RecursionError):
        return None
    return listed if isinstance(listed, list) and all(isinstance(each, Mapping) for each in listed) else None


def annotation_path(template: PodTemplate, key: str) -> FieldPath:
    """Return the path of an annotation of a pod template."""
    return template.path.join(("metadata", "annotations", Key(key)))
