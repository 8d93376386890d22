"""Kinds that are watched only once a pending pod can need them, and pods that wait until a kind is listed.

Most clusters have many objects of these kinds that placement never reads.  A kind that was needed once stays watched.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.diagnosis import phrases
from scheduler_core.loading.drafts import Draft
from scheduler_core.loading.gather import VOLUME_KINDS
from scheduler_core.model.pod_meta import CONTROLLERS
from scheduler_core.model.volumes import VolumeObjects
from scheduler_core.model.wording import cut
from scheduler_core.sidecar.cache.device_cache import DEVICE_KINDS
from validators.versions.served import resource

_BY_VOLUMES = (*VOLUME_KINDS, "CSINode", "CSIDriver")
"""Kinds that a pending pod with a claim or an inline disk needs."""
_LATER_BY_VOLUMES = frozenset({"CSIStorageCapacity", "VolumeAttachment"})
"""Kinds that such a pod needs once an object of another kind requires it."""
ON_DEMAND = frozenset({*_BY_VOLUMES, *_LATER_BY_VOLUMES, *DEVICE_KINDS, *CONTROLLERS})
"""Kinds that are not watched from the start."""
OPTIONAL = frozenset({*DEVICE_KINDS, *CONTROLLERS})
"""Kinds of ``ON_DEMAND`` without which pods are placed if the API server does not serve them: then there are no such objects."""
_LONGEST = 300


class Cause(enum.Enum):
    """Cause for which the objects of a kind are not listed."""

    NOT_YET = "the first list has not ended, or has failed"
    FORBIDDEN = "the API server forbids to list or watch them"
    NOT_SERVED = "the API server does not serve the kind"


@dataclasses.dataclass(frozen=True, slots=True)
class Unlisted:
    """Status of a kind that is not listed; *error* is that of the last attempt, if it failed."""

    cause: Cause = Cause.NOT_YET
    error: str = ""


class NeededKinds:
    """Kinds of ``ON_DEMAND`` that are needed, and the needed kinds that are not listed."""

    def __init__(self) -> None:
        self._needed: set[str] = set()
        self._watched: set[str] = set()
        self._listed: set[str] = set()
        self._failures: dict[str, Unlisted] = {}

    def add_pod(self, draft: Draft) -> None:
        """Add the kinds that a pod needs; a pod with a node needs none."""
        if not draft.node:
            self._needed.update(_kinds_of(draft))

    def newly_needed(self, volumes: VolumeObjects) -> frozenset[str]:
        """Return the kinds that are needed since the last call, given the present *volumes*."""
        self._add_later_kinds(volumes)
        new = frozenset(self._needed - self._watched)
        self._watched |= new
        return new

    def mark_listed(self, kind: str) -> None:
        """Record that the objects of *kind* are listed."""
        self._listed.add(kind)
        self._failures.pop(kind, None)

    def mark_unlisted(self, kind: str, failure: Unlisted) -> None:
        """Record why *kind* is not listed, or not any more."""
        self._listed.discard(kind)
        self._failures[kind] = failure

    def unlisted(self, pods: Iterable[Draft], volumes: VolumeObjects) -> frozenset[str]:
        """Return the kinds that pending *pods* need and that are not listed."""
        self._add_later_kinds(volumes)
        if not (missing := self._needed - self._listed):
            return frozenset()
        later = missing & _LATER_BY_VOLUMES
        kinds: set[str] = set()
        for draft in pods:
            kinds.update(_kinds_of(draft), later if _has_volumes(draft) else ())
        return frozenset(kinds & missing)

    def causes(self, kinds: Iterable[str]) -> dict[str, Unlisted]:
        """Return for each of *kinds*, sorted, why it is not listed."""
        return {kind: self._failures.get(kind, Unlisted()) for kind in sorted(kinds)}

    def _add_later_kinds(self, volumes: VolumeObjects) -> None:
        if "CSIDriver" in self._needed and volumes.measured:
            self._needed.add("CSIStorageCapacity")
        if "CSINode" in self._needed and volumes.attach is not None and volumes.attach.rows():
            self._needed.add("VolumeAttachment")


def explain_unlisted(kinds: Mapping[str, Unlisted]) -> str:
    """Return why *kinds* are not listed and what to do, one clause for each cause and error."""
    by_status: dict[Unlisted, list[str]] = {}
    for kind, status in kinds.items():
        by_status.setdefault(status, []).append(kind)
    return "; ".join(_clause(status, names) for status, names in by_status.items())


def _clause(status: Unlisted, kinds: Sequence[str]) -> str:
    names = f"{phrases.listed(kinds, len(kinds))} objects"
    match status.cause:
        case Cause.FORBIDDEN:
            return f"{names} cannot be listed: {missing_rule(kinds)}"
        case Cause.NOT_SERVED:
            return f"the API server does not serve {names}: look at its flag --runtime-config"
    return f"{names} are not listed yet{f': {cut(status.error, _LONGEST)}' if status.error else ''}"


def missing_rule(kinds: Sequence[str]) -> str:
    """Return which rule allows the sidecar to read *kinds*."""
    resources = phrases.listed([*map(_rbac_name, kinds)], len(kinds))
    return f"allow the verbs list and watch for {resources} in the sidecar's ClusterRole"


def _rbac_name(kind: str) -> str:
    """Return a resource with its API group, as ``kubectl auth can-i`` writes it."""
    each = resource(kind)
    return f"{each.resource}.{each.group}" if each.group else each.resource


def _kinds_of(draft: Draft) -> tuple[str, ...]:
    """Return the kinds that a pending pod needs, whatever other objects there are."""
    kinds = _BY_VOLUMES if _has_volumes(draft) else ()
    if draft.entries or any(need.extended is not None for need in draft.form.devices):
        kinds = (*kinds, *DEVICE_KINDS)
    elif draft.containers:
        # The device classes show whether devices provide its extended resources.
        kinds = (*kinds, "DeviceClass")
    return (*kinds, draft.controller[0]) if draft.controller[0] else kinds


def _has_volumes(draft: Draft) -> bool:
    return bool(draft.claims or draft.disks)
