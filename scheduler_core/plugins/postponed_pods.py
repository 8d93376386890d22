"""Equal pods that counts by node include, but that are not counted by their labels yet.

Nothing reads the counts by labels until a new selector is registered.  Most of these pods it cannot select.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from scheduler_core.model.pods import PodRecord

Assigned = Sequence[tuple[PodRecord, int]]
"""Pods with their nodes."""


class PostponedPods:
    """Batches of assigned pods by number."""

    def __init__(self) -> None:
        self._batches: dict[int, Assigned] = {}
        self._numbers = itertools.count()
        self._by_label: dict[str, dict[str | None, set[int]]] = {}

    def add(self, pods: Assigned) -> int:
        """Add a batch and return its number."""
        number = next(self._numbers)
        self._batches[number] = pods
        for key in self._by_label:
            self._index(key, number)
        return number

    def remove(self, number: int) -> Assigned:
        """Remove the batch *number* and return its pods; nothing if it was removed before."""
        pods = self._batches.pop(number, ())
        for key, index in self._by_label.items() if pods else ():
            for value in {pod.labels.get(key) for pod, _ in pods}:
                index[value].discard(number)
                if not index[value]:
                    del index[value]
        return pods

    def remove_labelled(self, key: str = "", value: str = "") -> Iterator[Assigned]:
        """Remove and yield the batches that have a pod with the label *key*: *value*; without a key, all."""
        if not key:
            numbers = set(self._batches)
        elif key in self._by_label:
            numbers = set(self._by_label[key].get(value, ()))
        else:
            self._by_label[key] = {}
            for number in self._batches:
                self._index(key, number)
            numbers = set(self._by_label[key].get(value, ()))
        for number in sorted(numbers):
            yield self.remove(number)

    def _index(self, key: str, number: int) -> None:
        index = self._by_label[key]
        for value in {pod.labels.get(key) for pod, _ in self._batches[number]}:
            index.setdefault(value, set()).add(number)
