"""Capacity held for pods with a nominated node, from earlier cycles and from this one.

A nominated pod counts for every other pod whose priority is not higher (kube-scheduler's RunFilterPluginsWithNominatedPods).
These include pods of its own root until it is placed, unless the nominations are *sparing*.  It takes capacity but counts in no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.model.devices import Allocation
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Hold, Ledger, PodLoad
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord


class _Nomination(Record, frozen=True):
    pod: PodRecord
    node: int
    hold: Hold


class Nominations:
    """Current nominations by pod.

    If *sparing*, they also hold devices, and those of a root hold nothing while it is placed.
    """

    def __init__(self, ledger: Ledger, pods: Iterable[PodRecord], *, sparing: bool = False) -> None:
        self._ledger = ledger
        self._sparing = sparing
        self._nominations: dict[str, _Nomination] = {}
        for pod in pods:
            if pod.node < 0 and pod.nominated >= 0 and not pod.terminating:
                self.nominate(pod, pod.nominated)

    def nominate(self, pod: PodRecord, node: int, devices: Sequence[Allocation] = ()) -> None:
        """Hold capacity and *devices* for *pod* on *node*, and nowhere else."""
        self.withdraw(pod)
        load = PodLoad(pod.shape, np.array([node], dtype=np.int64))
        beyond = self._ledger.topology.nodes.devices_not_requested(devices, pod.shape.requests, node) if devices else {}
        hold = Hold((load,), self._ledger.fresh(), tuple(devices), beyond)
        self._nominations[pod.key] = _Nomination(pod, node, hold)
        self._ledger.hold(hold)

    def pods(self) -> list[tuple[PodRecord, int]]:
        """Return the nominated pods with their nodes, the more important first."""
        ordered = sorted(self._nominations.values(), key=lambda each: (-each.pod.priority, each.pod.key))
        return [(each.pod, each.node) for each in ordered]

    def withdraw(self, pod: PodRecord) -> None:
        """Remove the nomination of *pod*, and release its capacity."""
        self.release_until_rewind(pod)
        self._nominations.pop(pod.key, None)

    def withdraw_all(self, pods: Iterable[PodRecord]) -> None:
        """Do the same for *pods*."""
        for pod in pods if self._nominations else ():
            self.withdraw(pod)

    def release_until_rewind(self, pod: PodRecord) -> None:
        """Release the capacity held for *pod* until the ledger is rewound, while it is being placed."""
        if (nomination := self._nominations.get(pod.key)) is not None:
            self._ledger.hold(nomination.hold, -1)

    def release_all_until_rewind(self, pods: Iterable[tuple[PodRecord, int]]) -> None:
        """Do the same for pods with their nodes."""
        for pod, _ in pods if self._nominations else ():
            self.release_until_rewind(pod)

    def delete_nominations(self, pods: Iterable[PodRecord]) -> None:
        """Delete the nominations of *pods*, which have been placed; their capacity is already released permanently."""
        for pod in pods if self._nominations else ():
            self._nominations.pop(pod.key, None)

    def release_lower_priority(self, root: Entity) -> list[PodRecord]:
        """Release the capacity that does not count for *root* until the ledger is rewound, and return its pods."""
        lower = [self._nominations[key].pod for key in sorted(self._nominations) if self._nominations[key].pod.priority < root.priority]
        for pod in lower:
            self.release_until_rewind(pod)
        return lower

    def own(self, leaf: Entity) -> list[PodRecord]:
        """Return the nominated pods of *leaf*."""
        return [pod for pod in leaf.waiting if pod.key in self._nominations] if self._nominations else []

    def numbers(self, root: Entity) -> dict[Name, int]:
        """Return the number of nominated pods of each leaf of *root* that has some."""
        return {leaf.name: len(own) for leaf in root.leaves() if (own := self.own(leaf))} if self._nominations else {}

    def release_own(self, root: Entity) -> list[PodRecord]:
        """Do the same for the pods of *root*."""
        own = [pod for leaf in root.leaves() for pod in self.own(leaf)] if self._nominations else []
        for pod in own:
            self.release_until_rewind(pod)
        return own

    def release_for(self, root: Entity) -> None:
        """Release the capacity of lower priorities, and if *sparing* that of *root* itself."""
        self.release_lower_priority(root)
        if self._sparing:
            self.release_own(root)

    def hold_again(self, pods: Iterable[PodRecord]) -> None:
        """Hold the capacity for those of *pods* that are still nominated."""
        for pod in pods:
            if (nomination := self._nominations.get(pod.key)) is not None:
                self._ledger.hold(nomination.hold)
