"""Opening of groups: a group that has its domain is replaced by the pods, or children, that meet its minimum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.cost_table import Grid
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.group_domains import DomainArea
from scheduler_core.preemption.plans.kinds import Kinds, Load, Pods
from scheduler_core.preemption.plans.required_pods import RequiredPods

_ROWS_A_STEP = 20
"""Rows of pods for one step."""


class Opening:
    """Opened loads; results are cached, because groups and their ways are few."""

    def __init__(self, kinds: Kinds, effort: Effort) -> None:
        self._kinds = kinds
        self._effort = effort
        self._groups = len(kinds.groups)
        self._own: list[list[Load]] = [[kinds.load_of_pods(pods) for pods in kinds.pods(kind)] for kind in range(self._groups)]
        self._accepted: dict[int, tuple[bool, ...]] = {}
        self._replacement_cache: dict[tuple[int, int], list[Load]] = {}
        self._pods: dict[Load, list[Load]] = {}
        self._rows: dict[Load, tuple[Ints, Ints]] = {}

    def only_pods(self, area: DomainArea, load: Load) -> bool:
        """Return whether all groups of *load* are leaves, and *area* is a domain of each."""
        accepted = self._accepted_kinds(area)
        return all(accepted[kind] and self._own[kind] for kind in range(self._groups) if load[kind])

    def own(self, area: DomainArea, load: Load) -> Load | None:
        """Return the part of *load* that *area* can hold without inner areas; None if a composite would be opened there."""
        accepted = self._accepted_kinds(area)
        if any(load[kind] and accepted[kind] and not self._own[kind] for kind in range(self._groups)):
            return None
        return tuple(count if column >= self._groups or accepted[column] else 0 for column, count in enumerate(load))

    def opened(self, area: DomainArea, load: Load) -> list[Load]:
        """Return the loads that can replace *load*: each group whose domain is *area* is replaced by what meets its minimum.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if self.only_pods(area, load):
            return self.pods(load)
        accepted = self._accepted_kinds(area)
        rest = list(load)
        loads: list[Load] = [self._kinds.nothing]
        for kind in range(self._groups):
            if load[kind] and accepted[kind]:
                rest[kind] = 0
                for _ in range(load[kind]):
                    loads = self._sums(loads, self._replacements(area, kind))
        return self._sums(loads, [tuple(rest)])

    def pods(self, load: Load) -> list[Load]:
        """Return the loads of pods that can replace *load*, all groups of which are leaves.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if (loads := self._pods.get(load)) is None:
            part = self._kinds.load_of_pods(self._kinds.pods_in(load))
            loads = [part]
            for kind in range(self._groups):
                for number in range(1, load[kind] + 1):
                    part = (*part[:kind], number, *part[kind + 1 :])
                    loads = self._pods.get(part) or self._sums(loads, self._own[kind])
                    self._pods[part] = loads
            self._pods[load] = loads
        return loads

    def rows(self, load: Load, grid: Grid) -> tuple[Ints, Ints]:
        """Return all results of ``pods`` for each part of *load*, whose grid is *grid*.

        Returns:
            pods by shape, shape (rows, shapes), and the first row of each position of *grid*, shape (positions,).

        Raises:
            EffortSpentError: the effort is spent.

        """
        if (result := self._rows.get(load)) is None:
            pods: Ints = np.zeros((1, len(self._kinds.shapes)), dtype=np.int64)
            part: Ints = np.zeros(1, dtype=np.int64)
            for column, count in enumerate(load):
                if count:
                    selections = [(number, each) for number in range(count + 1) for each in self._selections(column, number)]
                    self._effort.spend(10 + len(part) * len(selections) // _ROWS_A_STEP)
                    added = np.array([each for _, each in selections], dtype=np.int64)
                    pods = (pods[:, None, :] + added).reshape(-1, pods.shape[1])
                    part = np.add.outer(part, np.array([number * grid.strides[column] for number, _ in selections])).ravel()
            order = np.argsort(part, kind="stable")
            result = self._rows[load] = pods[order], np.searchsorted(part[order], np.arange(grid.size))
        return result

    def _selections(self, column: int, number: int) -> list[Pods]:
        """Return the selections of pods for *number* items of *column*, a kind or a shape."""
        load = self._kinds.nothing
        return [self._kinds.pods_in(each) for each in self.pods((*load[:column], number, *load[column + 1 :]))]

    def _accepted_kinds(self, area: DomainArea) -> tuple[bool, ...]:
        """Return for each kind whether *area* is a domain of it."""
        if (accepted := self._accepted.get(area.number)) is None:
            accepted = self._accepted[area.number] = tuple(area.satisfies(group) for group in self._kinds.groups)
        return accepted

    def _replacements(self, area: DomainArea, kind: int) -> list[Load]:
        """Return the loads that can replace a group of *kind* whose domain is *area*."""
        if self._own[kind]:
            return self._own[kind]
        if (loads := self._replacement_cache.get((area.number, kind))) is None:
            quorums = self._quorums(self._kinds.groups[kind])
            loads = list(dict.fromkeys(each for quorum in quorums for each in self.opened(area, quorum)))
            self._replacement_cache[area.number, kind] = loads
        return loads

    def _quorums(self, group: RequiredPods) -> Iterator[Load]:
        """Yield the loads of quorums of *group*, without those with an easier unused child."""
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
        sums = list(dict.fromkeys(tuple(map(int.__add__, one, other)) for one in some for other in others))
        self._effort.spend(len(some) * len(others))
        return sums
