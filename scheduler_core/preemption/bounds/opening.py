"""What groups come to once they have found their domain: pods, or groups below that have still to find theirs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.cost_table import Grid
from scheduler_core.preemption.plans.areas import DomainArea
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.kinds import Kinds, Load, Pods
from scheduler_core.preemption.plans.required_pods import RequiredPods

_ROWS_A_STEP = 20
"""Rows of pods that take a step."""


class Opening:
    """Loads opened: as groups and their alternatives are few, each is worked out once."""

    def __init__(self, kinds: Kinds, effort: Effort) -> None:
        self._kinds = kinds
        self._effort = effort
        self._groups = len(kinds.groups)
        self._own: list[list[Load]] = [[kinds.of_pods(pods) for pods in kinds.pods(kind)] for kind in range(self._groups)]
        self._taken: dict[int, tuple[bool, ...]] = {}
        self._needs: dict[tuple[int, int], list[Load]] = {}
        self._pods: dict[Load, list[Load]] = {}
        self._rows: dict[Load, tuple[Ints, Ints]] = {}

    def only_pods(self, area: DomainArea, load: Load) -> bool:
        """Whether all groups of *load* have pods, and find their domain in *area*."""
        takes = self._takes(area)
        return all(takes[kind] and self._own[kind] for kind in range(self._groups) if load[kind])

    def own(self, area: DomainArea, load: Load) -> Load | None:
        """What of *load* can be in *area* if nothing goes further down; None if a group there would be replaced by others."""
        takes = self._takes(area)
        if any(load[kind] and takes[kind] and not self._own[kind] for kind in range(self._groups)):
            return None
        return tuple(count if column >= self._groups or takes[column] else 0 for column, count in enumerate(load))

    def opened(self, area: DomainArea, load: Load) -> list[Load]:
        """*load* with all groups whose domain is *area* replaced by what they need: any of these.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if self.only_pods(area, load):
            return self.pods(load)
        takes = self._takes(area)
        down = list(load)
        found: list[Load] = [self._kinds.nothing]
        for kind in range(self._groups):
            if load[kind] and takes[kind]:
                down[kind] = 0
                for _ in range(load[kind]):
                    found = self._sums(found, self._needed(area, kind))
        return self._sums(found, [tuple(down)])

    def pods(self, load: Load) -> list[Load]:
        """*load*, all groups of which have pods, with these in their place: any of these.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if (found := self._pods.get(load)) is None:
            part = self._kinds.of_pods(self._kinds.pods_of(load))
            found = [part]
            for kind in range(self._groups):
                for number in range(1, load[kind] + 1):
                    part = (*part[:kind], number, *part[kind + 1 :])
                    found = self._pods.get(part) or self._sums(found, self._own[kind])
                    self._pods[part] = found
            self._pods[load] = found
        return found

    def rows(self, load: Load, grid: Grid) -> tuple[Ints, Ints]:
        """For each part of *load*, whose grid is *grid*, all that ``pods`` gives: pods by shape in rows; and where each part begins.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if (found := self._rows.get(load)) is None:
            pods: Ints = np.zeros((1, len(self._kinds.shapes)), dtype=np.int64)
            part: Ints = np.zeros(1, dtype=np.int64)
            for column, count in enumerate(load):
                if count:
                    several = [(number, each) for number in range(count + 1) for each in self._alike(column, number)]
                    self._effort.spend(10 + len(part) * len(several) // _ROWS_A_STEP)
                    more = np.array([each for _, each in several], dtype=np.int64)
                    pods = (pods[:, None, :] + more).reshape(-1, pods.shape[1])
                    part = np.add.outer(part, np.array([number * grid.strides[column] for number, _ in several])).ravel()
            order = np.argsort(part, kind="stable")
            found = self._rows[load] = pods[order], np.searchsorted(part[order], np.arange(grid.size))
        return found

    def _alike(self, column: int, number: int) -> list[Pods]:
        """The pods of so many of what *column* of a load counts: any of these."""
        load = self._kinds.nothing
        return [self._kinds.pods_of(each) for each in self.pods((*load[:column], number, *load[column + 1 :]))]

    def _takes(self, area: DomainArea) -> tuple[bool, ...]:
        """By kind, whether *area* is its domain."""
        if (found := self._taken.get(area.number)) is None:
            found = self._taken[area.number] = tuple(area.satisfies(group) for group in self._kinds.groups)
        return found

    def _needed(self, area: DomainArea, kind: int) -> list[Load]:
        """What a group of *kind* needs where its domain is *area*: any of these."""
        if self._own[kind]:
            return self._own[kind]
        if (found := self._needs.get((area.number, kind))) is None:
            quorums = self._quorums(self._kinds.groups[kind])
            found = list(dict.fromkeys(each for quorum in quorums for each in self.opened(area, quorum)))
            self._needs[area.number, kind] = found
        return found

    def _quorums(self, group: RequiredPods) -> Iterator[Load]:
        """As many children of *group* as are missing, in every way of which no other is easier."""
        whole = self._kinds.load(group.children)
        seen = set()
        for children in itertools.combinations(group.children, group.missing):
            self._effort.spend(2)
            load = self._kinds.load(children)
            if load not in seen:
                seen.add(load)
                if not self._kinds.has_easier(load, whole):
                    yield load

    def _sums(self, some: Sequence[Load], others: Sequence[Load]) -> list[Load]:
        found = list(dict.fromkeys(tuple(map(int.__add__, one, other)) for one in some for other in others))
        self._effort.spend(len(some) * len(others))
        return found
