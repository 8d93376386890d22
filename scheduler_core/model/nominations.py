"""Capacity held for pods with a nominated node, from earlier cycles and from this one.

A nominated pod counts for every other pod whose priority is not higher (kube-scheduler's RunFilterPluginsWithNominatedPods).
These include pods of its own root until it is placed.  It takes capacity but counts in no score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.pods import PodRecord


@dataclasses.dataclass(frozen=True, slots=True)
class _Nomination:
    pod: PodRecord
    load: PodLoad
    cause: int


class Nominations:
    """Current nominations by pod."""

    def __init__(self, ledger: Ledger, pods: Iterable[PodRecord]) -> None:
        self._ledger = ledger
        self._nominations: dict[str, _Nomination] = {}
        for pod in pods:
            if pod.node < 0 and pod.nominated >= 0 and not pod.terminating:
                self.nominate(pod, pod.nominated)

    def nominate(self, pod: PodRecord, node: int) -> None:
        """Hold capacity for *pod* on *node*, and nowhere else."""
        self.withdraw(pod)
        load = PodLoad(pod.shape, np.array([node], dtype=np.int64))
        self._nominations[pod.key] = nomination = _Nomination(pod, load, self._ledger.fresh())
        self._ledger.hold((load,), nomination.cause)

    def withdraw(self, pod: PodRecord) -> None:
        """Remove the nomination of *pod*, and release its capacity."""
        self.release_until_rewind(pod)
        self._nominations.pop(pod.key, None)

    def release_until_rewind(self, pod: PodRecord) -> None:
        """Release the capacity held for *pod* until the ledger is rewound, while it is being placed."""
        if (nomination := self._nominations.get(pod.key)) is not None:
            self._ledger.hold((nomination.load,), nomination.cause, -1)

    def release_all_until_rewind(self, pods: Iterable[tuple[PodRecord, int]]) -> None:
        """Do the same for pods with their nodes."""
        for pod, _ in pods if self._nominations else ():
            self.release_until_rewind(pod)

    def delete_nominations(self, pods: Iterable[PodRecord]) -> None:
        """Delete the nominations of *pods*, which have been placed; their capacity is already released permanently."""
        for pod in pods if self._nominations else ():
            self._nominations.pop(pod.key, None)

    def release_lower_priority(self, priority: int) -> None:
        """Release the capacity that does not count for a root of *priority*; the caller rewinds the ledger."""
        for key in sorted(self._nominations):
            if self._nominations[key].pod.priority < priority:
                self.release_until_rewind(self._nominations[key].pod)

    def hold_own(self, entity: Entity, sign: int) -> None:
        """Release the capacity held for the pods of *entity* (*sign* -1), or hold it again; the caller rewinds the ledger."""
        for leaf in entity.leaves() if self._nominations else ():
            for pod in leaf.waiting:
                if (nomination := self._nominations.get(pod.key)) is not None and nomination.pod.priority >= entity.priority:
                    self._ledger.hold((nomination.load,), nomination.cause, sign)
