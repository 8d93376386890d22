"""Pods that are being deleted: what helps a root is to wait for them, or a change of what is left when they are gone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from scheduler_core.causes.changes import Successive
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.diagnosis.bisection import necessary
from scheduler_core.diagnosis.leaving_pods import MOST_ONE_BY_ONE
from scheduler_core.model.decision import Decision, Remedy
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edits import DeletionsAwaitedFirst
from scheduler_core.whatif.edits.raw_objects import Book, after, merged


def leaving_pods(snapshot: ClusterSnapshot, own: Collection[str]) -> tuple[str, ...]:
    """Return the keys of the pods with nodes that are being deleted, except those of *own*, sorted."""
    return tuple(sorted(pod.key for pod in snapshot.pods if pod.terminating and pod.node >= 0 and pod.key not in own))


def fewest_awaited(pods: tuple[str, ...], works: Callable[[DeletionsAwaitedFirst], bool]) -> DeletionsAwaitedFirst:
    """Return the deletions of those of *pods* that must be awaited; to await all of them works."""
    if len(pods) > MOST_ONE_BY_ONE:
        return DeletionsAwaitedFirst(pods)
    return DeletionsAwaitedFirst(tuple(necessary(pods, lambda fewer: works(DeletionsAwaitedFirst(tuple(fewer))))))


class Deletions:
    """The cluster of *snapshot* after the deletion of *pods*, and the decision on the root of *decision* there.

    Attributes:
        snapshot: that cluster.
        book: its objects.
        decision: the decision; None if there is none.

    """

    def __init__(self, book: Book, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, pods: tuple[str, ...]) -> None:
        self._before, self._present, self._root, self._options = book, snapshot, decision.root, options
        self._pods = pods
        self._steps = DeletionsAwaitedFirst(pods).steps(book)
        self.snapshot, self.book = after(book.cluster(snapshot), self._steps).snapshot(), book.without_pods(pods).with_steps(self._steps)
        self.decision = self._decided(self.snapshot)

    @property
    def remedy(self) -> Remedy | None:
        """Return the remedy to wait for these pods, or for fewer of them; None if that does not help."""
        if self.decision is None or self.decision.status is not Status.SUCCESS:
            return None
        nodes = {*self.decision.assignments.values()}
        names = self._present.nodes.names
        there = tuple(pod.key for pod in self._present.pods if pod.key in self._pods and names[pod.node] in nodes)
        enough = tuple(sorted(there)) if there and self._helps(DeletionsAwaitedFirst(there)) else self._pods
        edit = fewest_awaited(enough, self._helps)
        return Remedy(edit.change, merged(edit.steps(self._before)), weight=edit.weight)

    def of_present(self, remedy: Remedy) -> Remedy:
        """Return *remedy*, which helps after the deletions, as it helps now: alone, or after the deletions."""
        present = self._decided(after(self._before.cluster(self._present), remedy.steps).snapshot())
        if present is not None and present.status is Status.SUCCESS:
            return remedy
        change = Successive(DeletionsAwaitedFirst(self._pods).change, remedy.change)
        return dataclasses.replace(remedy, change=change, steps=merged(self._steps, remedy.steps))

    def _helps(self, edit: DeletionsAwaitedFirst) -> bool:
        decision = self._decided(after(self._before.cluster(self._present), edit.steps(self._before)).snapshot())
        return decision is not None and decision.status is Status.SUCCESS

    def _decided(self, snapshot: ClusterSnapshot) -> Decision | None:
        return next((each for each in reversed(run_cycle(snapshot, self._options).decisions) if each.root == self._root), None)
