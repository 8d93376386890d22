"""Who is where: pods that run or are assumed, counted by what is asked about them.

A question ("how many pods of this set are in each zone") is counted through once, when it is first asked, and then kept up to
date pod by pod.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.nodes import Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.pod_terms import REQUIRED_AFFINITY_WEIGHT, PodSet, PodTerms, Term, own_keys, terms

Ids = NDArray[np.int32]
"""Shape (nodes,): the domain that each node is counted in, -1 for none."""


class PodTally:
    """How many pods of one sort there are, by node and by domain."""

    __slots__ = ("_counts", "_size", "by_node", "ids")

    def __init__(self, ids: Ids, size: int) -> None:
        self.ids = ids
        self.by_node: dict[int, int] = {}
        self._size = size
        self._counts: Ints | None = None

    def add(self, node: int, amount: int) -> None:
        """*amount* more of them on *node*."""
        _bump(self.by_node, node, amount)
        if self._counts is not None and (domain := int(self.ids[node])) >= 0:
            self._counts[domain] += amount

    def domains(self, within: Nodes | None = None) -> Ints:
        """Shape (domains + 1,), not to be written to: how many in each, on the nodes *within* (None: on all).

        The last is 0, so that an id of -1 finds it.
        """
        if within is not None:
            return self._counted(within)
        if self._counts is None:
            self._counts = self._counted(None)
        return self._counts

    def near(self, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Shape of *nodes*: how many in the domain of each; 0 where it is in none."""
        return self.domains(within)[self.ids[nodes]]

    def _counted(self, within: Nodes | None) -> Ints:
        nodes = np.fromiter(self.by_node.keys(), dtype=np.int64, count=len(self.by_node))
        amounts = np.fromiter(self.by_node.values(), dtype=np.int64, count=len(self.by_node))
        domains = self.ids[nodes]
        kept = domains >= 0
        if within is not None:
            kept &= np.isin(nodes, within)
        counts: Ints = np.zeros(self._size + 1, dtype=np.int64)
        np.add.at(counts, domains[kept], amounts[kept])
        return counts


class PodCrowd:
    """Pods that no selector tells apart: of one namespace and the same labels."""

    __slots__ = ("asked", "labels", "leaving", "living", "namespace", "selected_by", "watched_by")

    def __init__(self, namespace: str, labels: dict[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.living: dict[int, int] = {}
        self.leaving: dict[int, int] = {}
        """Those that are terminating, by node."""
        self.watched_by: list[tuple[PodTally, bool]] = []
        """Tallies that count these pods, and whether only the living ones."""
        self.selected_by: list[TermClaim] = []
        self.asked = 0
        """How many of the claims there are have been looked at."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TermClaim:
    """A term of pods that run, which binds the pods it selects; its owners are counted."""

    term: Term
    forbids: bool
    """Required anti-affinity; else it scores by the term's weight."""
    owners: PodTally


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodKind:
    """Pods of one shape and one crowd: they say the same about others, and others the same about them."""

    shape: PodShape
    crowd: PodCrowd
    terms: PodTerms
    claims: tuple[TermClaim, ...]

    def is_in(self, pods: PodSet) -> bool:
        """Whether they are among *pods*."""
        return pods.has(self.crowd.namespace, self.crowd.labels)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    tally: PodTally
    sets: tuple[PodSet, ...]
    living: bool

    def has(self, crowd: PodCrowd) -> bool:
        return all(each.has(crowd.namespace, crowd.labels) for each in self.sets)


class PodCounts:
    """All pods that are somewhere, and all terms that any pod known to it has."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self._kind_of: dict[PodRecord, PodKind] = {}
        self._kinds: dict[tuple[PodShape, PodCrowd], PodKind] = {}
        self._crowds: dict[tuple[str, frozenset[tuple[str, str]]], PodCrowd] = {}
        self._crowds_in: dict[str, list[PodCrowd]] = {}
        self._own_keys: dict[PodShape, tuple[str, ...]] = {}
        self._said: dict[Hashable, tuple[PodTerms, tuple[TermClaim, ...]]] = {}
        self._watches: dict[Hashable, _Watch] = {}
        self._claims: dict[tuple[Term, bool], TermClaim] = {}
        self._claim_list: list[TermClaim] = []
        self._makers: Counter[TermClaim] = Counter()

    def kind(self, pod: PodRecord) -> PodKind:
        """What *pod* is one of; from now on its terms are known."""
        if (kind := self._kind_of.get(pod)) is None:
            kind = self._kind_of[pod] = self._kind(pod)
            for claim in kind.claims:
                self._makers[claim] += 1
        return kind

    def forget(self, pod: PodRecord) -> None:
        """*pod*, which is on no node any more, is gone: what only it said binds nobody from now on."""
        if (kind := self._kind_of.pop(pod, None)) is not None:
            self._unmake(kind)

    def mark(self) -> int:
        """A point to rewind what is known to."""
        return len(self._kind_of)

    def rewind(self, mark: int) -> None:
        """Forget the pods that were met since *mark*; those that count then must be those that count now."""
        while len(self._kind_of) > mark:
            _, kind = self._kind_of.popitem()
            self._unmake(kind)

    def put(self, pod: PodRecord, node: int, amount: int = 1) -> None:
        """*pod* is on *node* from now on, or (*amount* -1) no longer."""
        kind = self.kind(pod)
        crowd = kind.crowd
        _bump(crowd.leaving if pod.terminating else crowd.living, node, amount)
        for tally, living in crowd.watched_by:
            if not (living and pod.terminating):
                tally.add(node, amount)
        for claim in kind.claims:
            claim.owners.add(node, amount)

    def claims_on(self, crowd: PodCrowd) -> list[TermClaim]:
        """The claims of pods that are known which select the pods of *crowd*, whether or not any of those runs."""
        while crowd.asked < len(self._claim_list):
            claim = self._claim_list[crowd.asked]
            crowd.asked += 1
            if claim.term.pods.has(crowd.namespace, crowd.labels):
                crowd.selected_by.append(claim)
        return [claim for claim in crowd.selected_by if self._makers[claim]]

    def tally(self, key: str, sets: Iterable[PodSet]) -> PodTally:
        """The pods that are in all of *sets*, by the values of the label *key*."""
        wanted = frozenset(sets)
        column = self.nodes.column(key)
        return self.watch((key, wanted), PodTally(column.ids, len(column.values)), wanted, living=False)

    def watch(self, name: Hashable, tally: PodTally, sets: Iterable[PodSet], *, living: bool) -> PodTally:
        """Have *tally* count the pods that are in all of *sets*, if *living* without the terminating ones.

        Returns the tally that already does so under *name*, if there is one.
        """
        if (watch := self._watches.get(name)) is None:
            watch = self._watches[name] = _Watch(tally, tuple(sets), living)
            for crowd in self._reached(watch.sets):
                if watch.has(crowd):
                    _join(watch, crowd)
        return watch.tally

    def _unmake(self, kind: PodKind) -> None:
        for claim in kind.claims:
            self._makers[claim] -= 1

    def _reached(self, sets: tuple[PodSet, ...]) -> list[PodCrowd]:
        """Crowds that can be in all of *sets* by their namespace."""
        listed = [each.namespaces for each in sets if each.others is None]
        if not listed:
            return list(self._crowds.values())
        return [crowd for namespace in sorted(frozenset.intersection(*listed)) for crowd in self._crowds_in.get(namespace, ())]

    def _kind(self, pod: PodRecord) -> PodKind:
        crowd = self._crowd(pod)
        if (kind := self._kinds.get((pod.shape, crowd))) is None:
            kind = self._kinds[pod.shape, crowd] = PodKind(pod.shape, crowd, *self._says(pod.shape, crowd))
        return kind

    def _says(self, shape: PodShape, crowd: PodCrowd) -> tuple[PodTerms, tuple[TermClaim, ...]]:
        """Worked out once for all crowds that agree in the labels that matter to it."""
        if (keys := self._own_keys.get(shape)) is None:
            keys = self._own_keys[shape] = tuple(sorted(own_keys(shape)))
        name = (shape, crowd.namespace, *(crowd.labels.get(key) for key in keys))
        if (says := self._said.get(name)) is None:
            said = terms(shape, crowd.namespace, crowd.labels)
            says = self._said[name] = (said, self._made(said))
        return says

    def _crowd(self, pod: PodRecord) -> PodCrowd:
        name = (pod.namespace, frozenset(pod.labels.items()))
        if (crowd := self._crowds.get(name)) is None:
            crowd = self._crowds[name] = PodCrowd(pod.namespace, dict(pod.labels))
            self._crowds_in.setdefault(pod.namespace, []).append(crowd)
            for watch in self._watches.values():
                if watch.has(crowd):
                    _join(watch, crowd)
        return crowd

    def _made(self, said: PodTerms) -> tuple[TermClaim, ...]:
        """The claims of a pod with these terms; one for each term, so that a term given twice counts twice."""
        near = [(dataclasses.replace(term, weight=REQUIRED_AFFINITY_WEIGHT), False) for term in said.near]
        far = [(term, True) for term in said.far]
        return tuple(self._claim(term, forbids) for term, forbids in (*near, *far, *((term, False) for term in said.preferred)))

    def _claim(self, term: Term, forbids: bool) -> TermClaim:  # noqa: FBT001 - half of the claim's name
        if (claim := self._claims.get((term, forbids))) is None:
            column = self.nodes.column(term.key)
            claim = self._claims[term, forbids] = TermClaim(term, forbids, PodTally(column.ids, len(column.values)))
            self._claim_list.append(claim)
        return claim


def _join(watch: _Watch, crowd: PodCrowd) -> None:
    crowd.watched_by.append((watch.tally, watch.living))
    for node, count in crowd.living.items():
        watch.tally.add(node, count)
    if not watch.living:
        for node, count in crowd.leaving.items():
            watch.tally.add(node, count)


def _bump(counts: dict[int, int], node: int, amount: int) -> None:
    """No entry is 0."""
    if count := counts.get(node, 0) + amount:
        counts[node] = count
    else:
        counts.pop(node, None)
