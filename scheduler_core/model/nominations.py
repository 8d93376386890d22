"""Room kept for pods that were promised a node: those with a nominated node, from before and from this cycle.

A nominated pod counts against whoever has no higher priority, other pods of its own root among them until it is placed, and not
against itself (kube-scheduler's RunFilterPluginsWithNominatedPods).  It takes room but counts in no score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger, PodLoad
from scheduler_core.model.pods import PodRecord


@dataclasses.dataclass(frozen=True, slots=True)
class _Promise:
    pod: PodRecord
    load: PodLoad
    cause: int


class Nominations:
    """The promises that stand, by pod."""

    def __init__(self, ledger: Ledger, pods: Iterable[PodRecord]) -> None:
        self._ledger = ledger
        self._promises: dict[str, _Promise] = {}
        for pod in pods:
            if pod.node < 0 and pod.nominated >= 0 and not pod.terminating:
                self.promise(pod, pod.nominated)

    def promise(self, pod: PodRecord, node: int) -> None:
        """Keep room for *pod* on *node*, and nowhere else."""
        self.withdraw(pod)
        load = PodLoad(pod.shape, np.array([node], dtype=np.int64))
        self._promises[pod.key] = promise = _Promise(pod, load, self._ledger.fresh())
        self._ledger.hold((load,), promise.cause)

    def withdraw(self, pod: PodRecord) -> None:
        """Keep no room for *pod* any more."""
        self.release_until_rewind(pod)
        self._promises.pop(pod.key, None)

    def release_until_rewind(self, pod: PodRecord) -> None:
        """Let go of the room kept for *pod* until the ledger is rewound: it is being placed."""
        if (promise := self._promises.get(pod.key)) is not None:
            self._ledger.hold((promise.load,), promise.cause, -1)

    def delete_nomination(self, pod: PodRecord) -> None:
        """*pod* has what it was promised, or something else: its room has been let go of for good."""
        self._promises.pop(pod.key, None)

    def step_aside(self, priority: int) -> None:
        """Let go of what does not count against a root of *priority*; the caller rewinds the ledger."""
        for key in sorted(self._promises):
            if self._promises[key].pod.priority < priority:
                self.release_until_rewind(self._promises[key].pod)

    def own(self, entity: Entity, sign: int) -> None:
        """Let go of the room kept for the pods of *entity* (*sign* -1), or keep it again; the caller rewinds the ledger."""
        for leaf in entity.leaves() if self._promises else ():
            for pod in leaf.waiting:
                if (promise := self._promises.get(pod.key)) is not None and promise.pod.priority >= entity.priority:
                    self._ledger.hold((promise.load,), promise.cause, sign)
