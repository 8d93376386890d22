"""Counts of running and assumed pods by topology domain, for each selector in use.

A count ("pods of this set in each zone") is computed when it is first requested, and then updated pod by pod.  Pods with the same labels are
counted together.  Equal pods that are assumed together are counted by their labels only when a new selector is registered that can select
them: nothing reads the counts by labels before.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from kubeapi.base_structs import replaced
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.selector_index import SelectorIndex
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES
from scheduler_core.plugins.affinity_terms import NO_NAMESPACES, REQUIRED_AFFINITY_WEIGHT, Namespaces, PodTerms, Term, own_keys, terms
from scheduler_core.plugins.term_claims import ForbiddenDomains, SelectingClaims, TermClaim
from scheduler_core.plugins.topology_counts import NodeTally, PodDifference, PodSet, PodTally, bump
from scheduler_core.plugins.volume_counts import VolumeCounts

_CHANGES = 1024
"""Number of changes that are kept: beyond it, owners are counted anew."""
_EVERY = ""
"""Stands for all namespaces."""


SelectedPods = PodTally | PodDifference
"""Count of the pods that a term selects."""


class PodCrowd:
    """Pods of one namespace with the same labels: no selector distinguishes them."""

    __slots__ = ("claims", "keys", "labels", "leaving", "living", "namespace", "watched_by")

    def __init__(self, namespace: str, labels: dict[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.living: dict[int, int] = {}
        self.leaving: dict[int, int] = {}
        """Terminating pods by node."""
        self.watched_by: list[tuple[PodTally, bool]] = []
        """(tally that counts these pods, True if it leaves terminating pods out)."""
        self.claims: SelectingClaims | None = None
        self.keys = 0
        """Number of labels that claims read, when ``claims`` was found."""


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
        for each in self.sets:  # noqa: SIM110 - a generator takes as long as the rest
            if not each.has(crowd.namespace, crowd.labels):
                return False
        return True


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LabelIndex:
    """Crowds of one namespace, or of all, by the value of one label, and watches that require this value."""

    crowds: defaultdict[str, list[PodCrowd]] = dataclasses.field(default_factory=lambda: defaultdict(list))
    watches: defaultdict[str, list[Watch]] = dataclasses.field(default_factory=lambda: defaultdict(list))


def join(watch: Watch, crowd: PodCrowd) -> None:
    """Count the pods of *crowd* in *watch* from now on."""
    crowd.watched_by.append((watch.tally, watch.living))
    for node, count in crowd.living.items():
        watch.tally.add(node, count)
    if crowd.leaving and not watch.living:
        for node, count in crowd.leaving.items():
            watch.tally.add(node, count)


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


class PodCounts:
    """All assigned pods, and the terms of all known pods."""

    def __init__(self, nodes: NodeTable, namespaces: Namespaces = NO_NAMESPACES, devices: DeviceObjects | None = None) -> None:
        self.nodes = nodes
        self.devices = devices
        self._namespaces = namespaces
        self._kind_of: dict[PodRecord, PodKind] = {}
        self._kinds: dict[tuple[PodShape, PodCrowd], PodKind] = {}
        self._crowds: dict[tuple[str, frozenset[tuple[str, str]]], PodCrowd] = {}
        self._crowds_in: dict[str, list[PodCrowd]] = {}
        self._indices: dict[str, dict[str, LabelIndex]] = {}
        self._unindexed: list[Watch] = []
        self._own_ids = nodes.everything.astype(np.int32)
        self._by_node: dict[PodSet, NodeTally] = {}
        self._keys_by_node: dict[str, set[str]] = {}
        self._own_keys: dict[PodShape, tuple[str, ...]] = {}
        self._compiled: dict[Hashable, tuple[PodTerms, tuple[TermClaim, ...]]] = {}
        self._watches: dict[Hashable, Watch] = {}
        self._selected: dict[Term, SelectedPods] = {}
        self._claims: dict[tuple[Term, bool], TermClaim] = {}
        self._claim_list: list[TermClaim] = []
        self._claim_index = SelectorIndex()
        self._claim_keys: dict[str, None] = {}
        """Labels that claims read."""
        self._selecting: dict[tuple[str, tuple[str | None, ...]], SelectingClaims] = {}
        """Claims by namespace and the values of these labels."""
        self._makers: Counter[TermClaim] = Counter()
        self._changes: list[tuple[TermClaim, int, int]] = []
        """The last changes of owners of claims that forbid, with node and amount; ``_dropped`` were before them."""
        self._dropped = 0
        self._postponed = PostponedPods()
        self.volumes = VolumeCounts(nodes)

    def kind(self, pod: PodRecord) -> PodKind:
        """Return the kind of *pod*; its terms are known from now on."""
        if (kind := self._kind_of.get(pod)) is None:
            kind = self._kind_of[pod] = self._kind(pod)
            self.volumes.know(pod, 1)
            for claim in kind.claims:
                self._makers[claim] += 1
        return kind

    def forget(self, pod: PodRecord) -> None:
        """Forget the terms of *pod*, which is on no node any more."""
        if (kind := self._kind_of.pop(pod, None)) is not None:
            self._unmake(pod, kind)

    def mark(self) -> int:
        """Return a mark for ``rewind``."""
        return len(self._kind_of)

    def rewind(self, mark: int) -> None:
        """Forget the pods that became known since *mark*; none of them may be assigned to a node."""
        while len(self._kind_of) > mark:
            self._unmake(*self._kind_of.popitem())

    def count(self, pod: PodRecord, node: int, amount: int = 1) -> None:
        """Count *pod* on *node*, or (*amount* -1) stop counting it there."""
        kind = self.kind(pod)
        crowd = kind.crowd
        bump(crowd.leaving if pod.terminating else crowd.living, node, amount)
        for tally, living in crowd.watched_by:
            if not (living and pod.terminating):
                tally.add(node, amount)
        for claim in kind.claims:
            claim.owners.add(node, amount)
            if claim.forbids:
                self._note(claim, node, amount)
        self.volumes.count(pod, node, amount)

    def selection(self, pod: PodRecord) -> Hashable:
        """Return equal values for pods of one shape and namespace that no term and no count distinguishes."""
        kind = self.kind(pod)
        return kind.terms, frozenset(tally for tally, _ in kind.crowd.watched_by), frozenset(self.claims_on(kind.crowd))

    def counting(self, pod: PodRecord) -> list[NodeTally]:
        """Return the counts by node that count *pod* if it is on a node."""
        return [] if pod.terminating else [tally for tally, _ in self.kind(pod).crowd.watched_by if isinstance(tally, NodeTally)]

    def count_all(self, pods: Iterable[tuple[PodRecord, int]], amount: int) -> None:
        """Do the same as ``count`` for pods with their nodes."""
        nodes: defaultdict[PodTally, list[int]] = defaultdict(list)
        known, volumes = self._kind_of, self.volumes
        for pod, node in pods:
            kind = known.get(pod) or self.kind(pod)
            crowd, terminating = kind.crowd, pod.terminating
            bump(crowd.leaving if terminating else crowd.living, node, amount)
            for tally, living in crowd.watched_by:
                if not (living and terminating):
                    nodes[tally].append(node)
            for claim in kind.claims:
                nodes[claim.owners].append(node)
                if claim.forbids:
                    self._note(claim, node, amount)
            if volumes.limited or pod.named_volumes:
                volumes.count(pod, node, amount)
        for tally, each in nodes.items():
            tally.add_all(each, amount)

    def count_alike(self, pods: Assigned, tallies: Iterable[NodeTally]) -> int | None:
        """Count pods that exactly *tallies* count; return a number for ``discount_alike``, or None if ``count_all`` must count them."""
        if len(self._watches) != len(self._by_node) or self.volumes.limited:
            return None
        if any(pod.terminating or pod.named_volumes is not NO_NAMED_VOLUMES for pod, _ in pods):
            return None
        # Only affinity terms are claims.
        if any(shape.affinity is not None and self.kind(pod).claims for shape, pod in {pod.shape: pod for pod, _ in pods}.items()):
            return None
        for tally in tallies:
            tally.add_all([node for _, node in pods], 1)
        return self._postponed.add(pods)

    def discount_alike(self, number: int) -> bool:
        """Stop counting the pods that ``count_alike`` counted as *number*; return False if ``count_all`` must do this."""
        pods = self._postponed.remove(number)
        for tally in self.counting(pods[0][0]) if pods else ():
            tally.add_all([node for _, node in pods], -1)
        return bool(pods)

    @property
    def has_claims(self) -> bool:
        """Return whether a pod with affinity terms is or was known."""
        return bool(self._claim_list)

    @property
    def number_by_node(self) -> int:
        """Return how many counts ``by_node`` there are."""
        return len(self._by_node)

    def keys_by_node(self, namespace: str) -> AbstractSet[str]:
        """Return the keys of the pod labels that the counts ``by_node`` of *namespace* read."""
        return self._keys_by_node.get(namespace, frozenset())

    def claims_on(self, crowd: PodCrowd) -> list[TermClaim]:
        """Return the claims of known pods that select the pods of *crowd*."""
        found = self._selecting_claims(crowd)
        return [claim for claim in (*found.forbidding, *found.scoring) if self._makers[claim]]

    def has_claims_on(self, crowd: PodCrowd) -> bool:
        """Return whether a claim of a known pod selects the pods of *crowd*."""
        found = self._selecting_claims(crowd)
        return any(self._makers[claim] for claim in itertools.chain(found.scoring, found.forbidding))

    def scoring(self, crowd: PodCrowd) -> list[TermClaim]:
        """Return the claims that select the pods of *crowd*, do not forbid, and have an owner on a node."""
        return [claim for claim in self._selecting_claims(crowd).scoring if claim.owners.by_node]

    def forbidding(self, crowd: PodCrowd) -> list[TermClaim]:
        """Return the claims that forbid the pods of *crowd* the domain of an owner, and have one on a node."""
        return [claim for claim in self._selecting_claims(crowd).forbidding if claim.owners.by_node]

    def forbidden(self, crowd: PodCrowd) -> ForbiddenDomains | None:
        """Return the owners of such claims by domain, until pods are counted; None without an owner."""
        selecting = self._selecting_claims(crowd)
        if not (claims := selecting.forbidding):
            return None
        found = selecting.domains
        if found is None or found.changes < self._dropped:
            found = selecting.domains = ForbiddenDomains()
        else:
            for change in self._changes[found.changes - self._dropped :]:
                found.change(*change)
        if len(found.claims) < len(claims):
            found.add(claims[len(found.claims) :])
        found.changes = self._dropped + len(self._changes)
        return found if found.owners else None

    def _note(self, claim: TermClaim, node: int, amount: int) -> None:
        """Keep a change for those who count the owners of many claims."""
        if len(self._changes) >= _CHANGES:
            self._dropped += len(self._changes)
            self._changes.clear()
        self._changes.append((claim, node, amount))

    def _selecting_claims(self, crowd: PodCrowd) -> SelectingClaims:
        """Return the claims that select the pods of *crowd*; they are found once for all crowds that no claim distinguishes."""
        if (found := crowd.claims) is None or crowd.keys < len(self._claim_keys):
            name = crowd.namespace, tuple(map(crowd.labels.get, self._claim_keys))
            found = crowd.claims = self._selecting.setdefault(name, SelectingClaims())
            crowd.keys = len(self._claim_keys)
        if found.asked < len(self._claim_list):
            for number in self._claim_index.candidates(crowd.namespace, crowd.labels, found.asked):
                claim = self._claim_list[number]
                if claim.term.pods.has(crowd.namespace, crowd.labels):
                    (found.forbidding if claim.forbids else found.scoring).append(claim)
            found.asked = len(self._claim_list)
        return found

    def tally(self, key: str, sets: Iterable[PodSet]) -> PodTally:
        """Return the count of pods that belong to all of *sets*, by the values of the node label *key*."""
        wanted = frozenset(sets)
        column = self.nodes.label_column(key)
        return self.watch((key, wanted), PodTally(column.ids, len(column.values)), wanted, living=False)

    def selected(self, term: Term) -> SelectedPods:
        """Return the count of the pods that *term* selects, by the values of its node label."""
        if (found := self._selected.get(term)) is None:
            if (sets := term.pods.difference()) is None:
                found = self.tally(term.key, (term.pods,))
            else:
                whole, left_out = sets
                found = PodDifference(self.tally(term.key, (whole,)), self.tally(term.key, (left_out,)))
            self._selected[term] = found
        return found

    def by_node(self, pods: PodSet) -> NodeTally:
        """Return the count of *pods* by node, without terminating pods."""
        if (tally := self._by_node.get(pods)) is None:
            tally = self._by_node[pods] = NodeTally(self._own_ids)
            for namespace in pods.namespaces:
                self._keys_by_node.setdefault(namespace, set()).update(clause.key for clause in pods.clauses or ())
            self.watch(tally, tally, (pods,), living=True)
        return tally

    def watch(self, name: Hashable, tally: PodTally, sets: Iterable[PodSet], *, living: bool) -> PodTally:
        """Register *tally* for the pods that belong to all of *sets*, without terminating pods if *living*.

        Returns the tally registered as *name* before, if there is one.
        """
        if (watch := self._watches.get(name)) is None:
            watch = self._watches[name] = Watch(tally, tuple(sets), living)
            crowds, exactly = self._reached(watch)
            for crowd in crowds:
                if exactly or watch.has(crowd):
                    join(watch, crowd)
        return watch.tally

    def _unmake(self, pod: PodRecord, kind: PodKind) -> None:
        self.volumes.know(pod, -1)
        for claim in kind.claims:
            self._makers[claim] -= 1

    def _reached(self, watch: Watch) -> tuple[list[PodCrowd], bool]:
        """Return the crowds that *watch* can count, and whether it counts all of them; index it for crowds that follow."""
        listed = [each.namespaces for each in watch.sets if each.others is None]
        namespaces = frozenset.intersection(*listed) if listed else None
        equal = [(clause.key, value) for pods in watch.sets for clause in pods.clauses or () if (value := clause.only_value) is not None]
        if not equal:
            self._unindexed.append(watch)
            self._settle()
            if namespaces is None:
                return list(self._crowds.values()), False
            return [crowd for namespace in sorted(namespaces) for crowd in self._crowds_in.get(namespace, ())], False
        namespace = next(iter(namespaces)) if namespaces is not None and len(namespaces) == 1 else _EVERY
        # The label with which fewest watches are found.
        key, value = min(equal, key=lambda each: len(self._index(namespace, each[0]).watches[each[1]])) if len(equal) > 1 else equal[0]
        self._settle(key, value)
        index = self._index(namespace, key)
        index.watches[value].append(watch)
        return index.crowds[value], namespace != _EVERY and len(watch.sets) == 1 == len(watch.sets[0].clauses or ())

    def _settle(self, key: str = "", value: str = "") -> None:
        """Count by their labels the postponed pods that have the label *key*: *value*; without a key, all."""
        for pods in self._postponed.remove_labelled(key, value):
            for pod, node in pods:
                bump(self.kind(pod).crowd.living, node, 1)

    def _index(self, namespace: str, key: str) -> LabelIndex:
        indices = self._indices.setdefault(namespace, {})
        if (index := indices.get(key)) is None:
            index = indices[key] = LabelIndex()
            for crowd in self._crowds.values() if namespace == _EVERY else self._crowds_in.get(namespace, ()):
                if (value := crowd.labels.get(key)) is not None:
                    index.crowds[value].append(crowd)
        return index

    def _kind(self, pod: PodRecord) -> PodKind:
        crowd = self._crowd(pod)
        if (kind := self._kinds.get((pod.shape, crowd))) is None:
            kind = self._kinds[pod.shape, crowd] = PodKind(pod.shape, crowd, *self._compile(pod.shape, crowd))
        return kind

    def _compile(self, shape: PodShape, crowd: PodCrowd) -> tuple[PodTerms, tuple[TermClaim, ...]]:
        """Return terms and claims, computed once for all crowds with equal values of the labels that the terms read."""
        if (keys := self._own_keys.get(shape)) is None:
            keys = self._own_keys[shape] = tuple(sorted(own_keys(shape)))
        name = (shape, crowd.namespace, *(crowd.labels.get(key) for key in keys))
        if (compiled := self._compiled.get(name)) is None:
            pod_terms = terms(shape, crowd.namespace, crowd.labels, self._namespaces, self.nodes.behavior)
            compiled = self._compiled[name] = (pod_terms, self._claims_of(pod_terms))
        return compiled

    def _crowd(self, pod: PodRecord) -> PodCrowd:
        name = (pod.namespace, frozenset(pod.labels.items()))
        if (crowd := self._crowds.get(name)) is None:
            crowd = self._crowds[name] = PodCrowd(pod.namespace, dict(pod.labels))
            self._crowds_in.setdefault(pod.namespace, []).append(crowd)
            watches = [*self._unindexed]
            for key, index in (each for where in (pod.namespace, _EVERY) for each in self._indices.get(where, {}).items()):
                if (value := crowd.labels.get(key)) is not None:
                    index.crowds[value].append(crowd)
                    watches += index.watches[value]
            for watch in watches:
                if watch.has(crowd):
                    join(watch, crowd)
        return crowd

    def _claims_of(self, pod_terms: PodTerms) -> tuple[TermClaim, ...]:
        """Return the claims of a pod with these terms, one for each term: a repeated term counts twice."""
        near = [(replaced(term, weight=REQUIRED_AFFINITY_WEIGHT), False) for term in pod_terms.affinity]
        far = [(term, True) for term in pod_terms.anti_affinity]
        return tuple(self._claim(term, forbids) for term, forbids in (*near, *far, *((term, False) for term in pod_terms.preferred)))

    def _claim(self, term: Term, forbids: bool) -> TermClaim:  # noqa: FBT001 - half of the claim's name
        if (claim := self._claims.get((term, forbids))) is None:
            column = self.nodes.label_column(term.key)
            claim = self._claims[term, forbids] = TermClaim(term, forbids, PodTally(column.ids, len(column.values)))
            self._claim_list.append(claim)
            pods = term.pods
            if not {clause.key for clause in pods.clauses or ()} <= self._claim_keys.keys():
                self._claim_keys.update((clause.key, None) for clause in pods.clauses or ())
                self._selecting.clear()
            only = pods.others is None and len(pods.namespaces) == 1
            self._claim_index.add(pods.clauses, next(iter(pods.namespaces)) if only else "")
        return claim
