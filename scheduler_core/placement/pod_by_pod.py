"""Placement of pods one by one with every filter and score, for pods whose verdict depends on other pods.

The steps are kube-scheduler's: filter, score and normalise over the feasible nodes of the placement, take the best node; ties go to the
first by name.  A nominated node is taken without scoring if it is feasible.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import PODS, Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.equal_pods_normalized import bonus_of
from scheduler_core.placement.extension_points import PluginFailedError
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.stateful_plugins import StatefulPlugins


class NodeRanking(Protocol):
    """Ranks of nodes, of which only the best are scored."""

    def cheapest(self, pods: Ints, nodes: Nodes) -> Bools:
        """Return which of *nodes* have the best rank, shape (nodes,); *pods* is the number of pods on each node, shape (all nodes,)."""


class PodByPod:
    """Placement under construction; the ledger is not modified, the pods are assumed in the stateful plugins.

    With *ranking*, only the nodes of the best rank are scored.
    """

    def __init__(
        self,
        profile: Profile,
        ledger: Ledger,
        stateful: StatefulPlugins,
        capacity: Floats,
        nodes: Nodes,
        ranking: NodeRanking | None = None,
    ) -> None:
        self._ranking = ranking
        self._profile = profile
        self._ledger = ledger
        self._ledger_plugins = tuple(plugin(ledger) for plugin in registry.LEDGER)
        self._stateful = stateful
        self._nodes = nodes
        self._capacity = capacity[:, nodes]
        self._scored_rows = profile.nodes.scored.rows
        self._used = ledger.used[:, nodes]
        self._scored = ledger.scored[:, nodes]
        self._free = profile.nodes.allocatable[:, nodes] - self._used

    def place(self, pod: PodRecord) -> int:
        """Place *pod* and return the index of its node; -1 if no node is feasible."""
        feasible = self.feasible(pod).nonzero()[0]
        if not len(feasible):
            return -1
        position = int(feasible[0]) if len(feasible) == 1 else self._nominated(pod, feasible)
        if position < 0:
            if self._ranking is not None:
                feasible = feasible[self._ranking.cheapest(self._pods(), self._nodes[feasible])]
            position = int(feasible[self._scores(pod, feasible).argmax()])
        self._assume(pod, position)
        return int(self._nodes[position])

    def _pods(self) -> Ints:
        """Return the number of pods on each node of the cluster."""
        pods: Ints = self._ledger.used[PODS].copy()
        pods[self._nodes] = self._used[PODS]
        return pods

    def feasible(self, pod: PodRecord) -> Bools:
        """Return the feasible nodes of the placement for *pod*, shape (nodes,)."""
        profile = self._profile.compile(pod.shape)
        free = self._free[profile.rows]
        if self._ledger.holding:
            free = free - self._ledger.held[profile.rows][:, self._nodes]
        able: Bools = np.array((free >= profile.amounts).all(axis=0))
        if profile.mask is not None:
            able &= profile.mask[self._nodes]
        if profile.one_by_one:
            for plugin in filter(lambda each: pod.shape.profile.filters(each.name), self._ledger_plugins):
                for _, mask in plugin.filters(pod.shape, self._nodes):
                    able &= mask
        if self._stateful.touches(pod):
            if self._profile.refused(self._stateful.unmodelled(pod)):
                able[:] = False
            # Only the nodes that pass the other filters: bound volumes, for example, exclude most of them.
            left = able.nonzero()[0]
            if len(left):
                able[left], failure = self._stateful.passing(pod, self._nodes[left])
                if failure is not None:
                    raise PluginFailedError(failure)
        return able

    def _nominated(self, pod: PodRecord, feasible: Ints) -> int:
        if pod.nominated < 0:
            return -1
        found = feasible[self._nodes[feasible] == pod.nominated]
        return int(found[0]) if len(found) else -1

    def _scores(self, pod: PodRecord, feasible: Ints) -> Ints:
        profile = self._profile.compile(pod.shape)
        used = self._used[self._scored_rows][:, feasible]
        scores = profile.local.ladder(self._capacity[:, feasible], self._scored[:, feasible], used, 1)[:, 0]
        nodes = self._nodes[feasible]
        if not profile.plain or profile.bonus is not None:
            scores = scores + bonus_of(profile, nodes)
        if self._stateful.scores(pod):
            scores = scores + self._stateful.score(pod, nodes)
        return scores

    def _assume(self, pod: PodRecord, position: int) -> None:
        for row, amount in pod.shape.charges:
            self._used[row, position] += amount
            self._free[row, position] -= amount
        self._scored[:, position] += pod.shape.scored
        node = int(self._nodes[position])
        for plugin in self._ledger_plugins:
            plugin.add_pod(pod.shape, node)
        self._stateful.assume(pod, node)
