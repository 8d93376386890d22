"""Pods that no selector distinguishes, and the counts that include them."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.pod_tally import PodTally
from scheduler_core.plugins.pod_terms import PodSet, PodTerms, Term


class PodCrowd:
    """Pods of one namespace with the same labels: no selector distinguishes them."""

    __slots__ = ("asked", "labels", "leaving", "living", "namespace", "selected_by", "watched_by")

    def __init__(self, namespace: str, labels: dict[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.living: dict[int, int] = {}
        self.leaving: dict[int, int] = {}
        """Terminating pods by node."""
        self.watched_by: list[tuple[PodTally, bool]] = []
        """(tally that counts these pods, True if it leaves terminating pods out)."""
        self.selected_by: list[TermClaim] = []
        self.asked = 0
        """Number of known claims already matched against these pods."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TermClaim:
    """Affinity term of known pods, seen from the pods it selects; its owners are counted."""

    term: Term
    forbids: bool
    """True for required anti-affinity; otherwise the term's weight is a score."""
    owners: PodTally


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodKind:
    """Pods of one shape, namespace and labels: their terms are the same, and the same terms select them."""

    shape: PodShape
    crowd: PodCrowd
    terms: PodTerms
    claims: tuple[TermClaim, ...]

    def is_in(self, pods: PodSet) -> bool:
        """Return whether these pods belong to *pods*."""
        return pods.has(self.crowd.namespace, self.crowd.labels)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """Selector of pods with their count, without terminating pods if ``living``."""

    tally: PodTally
    sets: tuple[PodSet, ...]
    living: bool

    def has(self, crowd: PodCrowd) -> bool:
        """Return whether the pods of *crowd* belong to all sets."""
        return all(each.has(crowd.namespace, crowd.labels) for each in self.sets)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LabelIndex:
    """Crowds of one namespace by the value of one label, and watches that require this value."""

    crowds: defaultdict[str, list[PodCrowd]] = dataclasses.field(default_factory=lambda: defaultdict(list))
    watches: defaultdict[str, list[Watch]] = dataclasses.field(default_factory=lambda: defaultdict(list))


def join(watch: Watch, crowd: PodCrowd) -> None:
    """Count the pods of *crowd* in *watch* from now on."""
    crowd.watched_by.append((watch.tally, watch.living))
    for node, count in crowd.living.items():
        watch.tally.add(node, count)
    if not watch.living:
        for node, count in crowd.leaving.items():
            watch.tally.add(node, count)
