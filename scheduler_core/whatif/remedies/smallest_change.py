"""The smallest change with which all pods of several roots, or of one that is placed in part, get a node.

Unlike the remedies of one root, a change is verified by the cycles of the whole cluster, as a caller judges them.  Relaxations are tried
on all the pods, as of one pod template; then the fewest cordoned nodes, a few running pods that are moved, or evicted, and the fewest nodes
of a kind, on the assumption that more nodes never harm.  Cycles of a large cluster take long, so a change that leaves too little capacity is refuted without one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from scheduler_core.causes.changes import MoreThanSums
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.diagnosis.bisection import least, necessary
from scheduler_core.model.decision import Remedy, Step
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.change_order import order_key
from scheduler_core.whatif.edits.edits import (
    EVICTED,
    MORE_NODES,
    MOVED,
    UNCORDONED,
    Both,
    DeletionsAwaitedFirst,
    Edit,
    Moved,
    combine,
    disruption,
)
from scheduler_core.whatif.edits.node_edits import LARGER, uncordoning
from scheduler_core.whatif.edits.raw_objects import Book, after, merged
from scheduler_core.whatif.remedies import candidates
from scheduler_core.whatif.remedies.deletions import fewest_awaited, leaving_pods
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds
from scheduler_core.whatif.remedies.node_sums import more_than_sums
from scheduler_core.whatif.remedies.pod_bounds import PodBounds
from scheduler_core.whatif.remedies.running_pods import RunningPods, evicted
from scheduler_core.whatif.remedies.spread_nodes import SpreadNodes, by_lowest_domain, spread_nodes
from scheduler_core.whatif.remedies.uncordon import CordonedNodes
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import TrialsSpentError

MOST_TRIES = 40
_EFFORT = 6_000_000
"""Maximum number of nodes and pods examined in all tries."""
_AREAS = 1
MOST_NODES = 4_096
"""Maximum number of nodes that are added."""

Missing = Callable[[ClusterSnapshot], int]
"""Number of pods without a node in a changed cluster; 0 if the change works."""


class SmallestChange(Record, frozen=True):
    """A change that works.

    Attributes:
        remedy: the change.
        proven: whether smaller ones were tried and do not work; False if the limit of tries ended the search.

    """

    remedy: Remedy
    proven: bool


class UnplacedRoots(Record, frozen=True):
    """Roots that are to be placed together.

    Attributes:
        title: the object that created them.
        root: the first that is not placed, or in part: nodes are added in its topology domains.
        pods: keys of the pods that a relaxation changes; empty for no relaxation.
        left: keys of the pods without a node.
        required: keys of all pods that must get a node.

    """

    title: Name
    root: Name
    pods: Collection[str]
    left: Collection[str]
    required: Collection[str]


def smallest_change(
    book: Book,
    snapshot: ClusterSnapshot,
    roots: UnplacedRoots,
    missing: Missing,
    options: CycleOptions,
    remedies: Iterable[Remedy] = (),
) -> SmallestChange | None:
    """Return the smallest change that works, and of equal ones the first by its values; None if none is found.

    Args:
        book: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        roots: the roots to help.
        missing: judges a changed cluster.
        options: those of the cycles.
        remedies: changes that help one of the roots at least in part, small ones first; they are tried first.

    """
    if (subject := _subject(snapshot, roots)) is None:
        return None
    trials = _Trials(book, snapshot, roots.required, missing, options)
    relaxed = dataclasses.replace(subject, waiting=_pods(snapshot, roots.pods))
    edits: list[Edit] = []
    if relaxed.waiting:
        joint = candidates.joint_tolerations(snapshot, relaxed, range(len(snapshot.nodes)))
        edits = [*candidates.relaxations(snapshot, relaxed), *(each for each in joint if isinstance(each, Both))]
        edits.sort(key=lambda each: (disruption(each), order_key(each.change)))
    capacity = PresentCapacity(snapshot, subject, book)
    # Of equal weights: the remedies of a single pod of a controller lack the relaxations of all its pods.
    if leaving := leaving_pods(snapshot, roots.required):
        edits.append(DeletionsAwaitedFirst(leaving))
    changes: list[Edit | Remedy] = [*edits, *remedies] if roots.root.kind == "Pod" else [*remedies, *edits]
    try:
        if (found := _without_nodes(trials, capacity, changes)) is not None:
            return found
    except TrialsSpentError:
        return None
    added = _fewest_nodes(trials, capacity, len(subject.waiting))
    if added is None or added.edit.weight[1] >= LARGER:
        # Nodes of a kind that does not exist are the last resort.
        added = _relaxed_and_nodes(trials, snapshot, roots, edits) or added
    return None if added is None else trials.as_change(added.edit, proven=added.proven, because=added.because)


def _without_nodes(trials: _Trials, capacity: PresentCapacity, changes: Sequence[Edit | Remedy]) -> SmallestChange | None:
    """Return the smallest of *changes*, cordoned nodes and running pods that works; None if none does.  Raises TrialsSpentError."""
    searches: tuple[tuple[int, Callable[[_Trials, PresentCapacity], Edit | None]], ...] = (
        (UNCORDONED, _fewest_uncordoned),
        (MOVED, _moved),
        (EVICTED, _evicted),
        (MORE_NODES, lambda *_: None),
    )
    ordered, tried = sorted(changes, key=_weight), 0
    for kind, search in searches:
        while tried < len(ordered) and _weight(ordered[tried])[0] <= kind:
            change = ordered[tried]
            if (found := trials.try_change(change)) is not None:
                return (
                    trials.as_change(fewest_awaited(change.pods, trials.works), proven=True)
                    if isinstance(change, DeletionsAwaitedFirst)
                    else found
                )
            tried += 1
        if (edit := search(trials, capacity)) is not None:
            return trials.as_change(edit, proven=True)
    return None


def _fewest_uncordoned(trials: _Trials, capacity: PresentCapacity, first: Edit | None = None) -> Edit | None:
    """Return the fewest cordoned nodes that work if they are uncordoned, after *first*; None if all do not.  Raises TrialsSpentError."""
    cordoned = CordonedNodes(capacity)

    def arranged(nodes: Sequence[int], slots: Sequence[int]) -> Sequence[int]:
        return by_lowest_domain(nodes, slots, capacity, trials.bounds(capacity.snapshot)) if nodes else nodes

    for area in cordoned.capacity.areas(_AREAS):
        found = cordoned.fewest(area, len(capacity.subject.waiting), lambda edit: trials.works(combine(first, edit)), arranged)
        if found is not None:
            return combine(first, uncordoning(found[0]))
    return None


def _weight(change: Edit | Remedy) -> tuple[int, ...]:
    return change.weight if isinstance(change, Remedy) else disruption(change)


def _running(trials: _Trials, capacity: PresentCapacity) -> tuple[RunningPods, DomainCapacity]:
    """Return the running pods, and the domain in which the root lacks the least."""
    return RunningPods(capacity, trials.bounds(capacity.snapshot).state), capacity.areas(_AREAS)[0]


def _moved(trials: _Trials, capacity: PresentCapacity) -> Edit | None:
    """Return a few running pods that work if they move; None if that does not work.  Raises TrialsSpentError."""
    running, area = _running(trials, capacity)
    edit = Moved(running.moves(area, len(capacity.subject.waiting)))
    if not edit.nodes or not trials.works(edit):
        return None
    return edit if _are_alike(capacity) else edit.only(necessary(sorted(edit.nodes), lambda fewer: trials.works(edit.only(fewer))))


def _evicted(trials: _Trials, capacity: PresentCapacity) -> Edit | None:
    """Return a few running pods, in whole gangs, that work if they are evicted; None as above.  Raises TrialsSpentError."""
    running, area = _running(trials, capacity)
    units = running.units(area, len(capacity.subject.waiting))
    if not units or not trials.works(evicted(units)):
        return None
    return evicted(units if _are_alike(capacity) else necessary(units, lambda fewer: trials.works(evicted(fewer))))


def _are_alike(capacity: PresentCapacity) -> bool:
    """Return whether the pods are equal: then the slots say that each of the running pods is needed, without a cycle for each."""
    return len({pod.shape.serial for pod in capacity.subject.waiting}) == 1


class _Nodes(Record, frozen=True):
    """The fewest nodes that work.

    Attributes:
        edit: adds or uncordons them.
        proven: whether fewer do not work.
        because: why they are more than the sum of requests says.

    """

    edit: Edit
    proven: bool
    because: MoreThanSums | None = None


def _relaxed_and_nodes(trials: _Trials, snapshot: ClusterSnapshot, roots: UnplacedRoots, edits: Iterable[Edit]) -> _Nodes | None:
    """Return the first of *edits* with which uncordoned or more nodes work, and the fewest of them."""
    found: _Nodes | None = None
    for edit in edits:
        if found is not None and not snapshot.nodes.unschedulable.any():
            break
        if not (steps := edit.steps(trials.book)):
            continue
        changed = after(trials.book.cluster(snapshot), merged(steps)).snapshot()
        if (subject := _subject(changed, roots)) is None:
            continue
        capacity = PresentCapacity(changed, subject, trials.book)
        try:
            if (cordoned := _fewest_uncordoned(trials, capacity, edit)) is not None:
                return _Nodes(cordoned, proven=True)
        except TrialsSpentError:
            return found
        if found is None:
            added = _fewest_nodes(trials, capacity, len(subject.waiting), edit)
            found = added if added is not None and added.edit.weight[1] < LARGER else None
    return found


def _fewest_nodes(trials: _Trials, capacity: PresentCapacity, pods: int, first: Edit | None = None) -> _Nodes | None:
    """Return the fewest nodes of a kind that work for *pods* pods without a node, after the edit *first*."""
    best: _Nodes | None = None
    # Pods that are ahead in the queue, or that are placed only after evictions, can take added nodes.
    waiting = sum(pod.node < 0 for pod in capacity.snapshot.pods)
    fewest = min(waiting, MOST_NODES)
    spread = spread_nodes(capacity, trials.bounds(capacity.snapshot))
    each_kind: Iterable[NodeKind | SpreadNodes] = _kinds(capacity) if spread is None else (spread, *_kinds(capacity))
    for kind in each_kind:
        # Another kind matters only if fewer nodes work.
        likely = fewest if best else -(-pods // kind.slots)
        count, proven = _least_count(trials, kind, (likely, fewest), waiting if not capacity.subject.groups else 0, first)
        if count:
            best, fewest = _Nodes(combine(first, kind.more(count)), proven, trials.because(count, kind, capacity)), count - 1
            if kind is spread:
                break
    return best


def _least_count(
    trials: _Trials, kind: NodeKind | SpreadNodes, counts: tuple[int, int], waiting: int, first: Edit | None
) -> tuple[int, bool]:
    """Return the least number of nodes of *kind* that works after *first*, 0 if none does; and whether fewer do not.

    *counts* are the first number to try and the largest.  *waiting* is the number of pending pods if none belongs to a group, else 0.
    """
    good, useless = 0, False

    def edit(count: int) -> Edit:
        return combine(first, kind.more(count))

    def works(count: int) -> bool:
        nonlocal good, useless
        if useless:
            return False
        if not trials.works(edit(count)):
            # Of pods without a group, each gets a node as soon as it can: for example, a spread needs nodes in another domain.
            useless = waiting > 0 and trials.missing >= pods and count * kind.slots >= waiting
            return False
        good = count
        return True

    def missing() -> int:
        return -(-trials.missing // kind.slots)

    likely, high = counts
    pods = likely * kind.slots
    try:
        # Numbers that the bound refutes take no cycle.
        if likely := least(likely, high, lambda count: not trials.is_refuted(edit(count)), missing):
            least(likely, high, works, missing)
    except TrialsSpentError:
        return good, False
    return good, True


def _kinds(capacity: PresentCapacity) -> Iterator[NodeKind]:
    """Yield the kinds of nodes of the domains with the most capacity, each once."""
    seen = set()
    for area in capacity.areas(_AREAS):
        for kind in kinds(capacity, area):
            if (change := kind.more(1).change) not in seen:
                seen.add(change)
                yield kind


class _Trials:
    """Tries edits of a cluster; ``missing`` is the number of pods without a node in the last try, or a lower bound of it."""

    def __init__(self, book: Book, snapshot: ClusterSnapshot, required: Collection[str], missing: Missing, options: CycleOptions) -> None:
        self.book = book
        self.missing = 0
        self._bounds: PodBounds | None = None
        self._snapshot, self._required, self._options = snapshot, required, options
        self._missing = missing
        self._left = min(MOST_TRIES, _EFFORT // max(1, len(snapshot.nodes) + len(snapshot.pods)))

    def bounds(self, snapshot: ClusterSnapshot) -> PodBounds:
        """Return the bounds for a changed cluster; those for the cluster itself are kept."""
        if snapshot is not self._snapshot:
            return PodBounds(snapshot, self._options)
        self._bounds = self._bounds or PodBounds(snapshot, self._options)
        return self._bounds

    def works(self, edit: Edit) -> bool:
        """Return whether *edit* works.  Raises TrialsSpentError."""
        steps = edit.steps(self.book)
        return bool(steps) and self.helps(merged(steps))

    def is_refuted(self, edit: Edit) -> bool:
        """Return whether *edit* cannot work, by bounds alone."""
        steps = edit.steps(self.book)
        if not steps:
            return True
        self.missing = self.bounds(self._changed(merged(steps))).least_missing(self._required)
        return self.missing > 0

    def try_change(self, change: Edit | Remedy) -> SmallestChange | None:
        """Return *change* if it works.  Raises TrialsSpentError."""
        if isinstance(change, Remedy):
            return SmallestChange(change, proven=True) if self.helps(change.steps) else None
        return self.as_change(change, proven=True) if self.works(change) else None

    def helps(self, steps: Sequence[Step]) -> bool:
        """Return whether the cluster works with *steps*.  Raises TrialsSpentError."""
        changed = self._changed(steps)
        self.missing = self.bounds(changed).least_missing(self._required)
        if self.missing:
            return False
        if not self._left:
            raise TrialsSpentError
        self._left -= 1
        self.missing = self._missing(changed)
        return not self.missing

    def _changed(self, steps: Sequence[Step]) -> ClusterSnapshot:
        return after(self.book.cluster(self._snapshot), steps).snapshot()

    def because(self, count: int, kind: NodeKind | SpreadNodes, capacity: PresentCapacity) -> MoreThanSums | None:
        """Return why *count* nodes of *kind* are more than the sums say; None if other pods can take some of them."""
        waiting = [pod for pod in capacity.snapshot.pods if pod.node < 0]
        return more_than_sums(count, kind, capacity, waiting) if all(pod.key in self._required for pod in waiting) else None

    def as_change(self, edit: Edit, *, proven: bool, because: MoreThanSums | None = None) -> SmallestChange:
        """Return *edit*, which works."""
        return SmallestChange(Remedy(edit.change, merged(edit.steps(self.book)), because=because), proven)


def _subject(snapshot: ClusterSnapshot, roots: UnplacedRoots) -> Subject | None:
    """Return the first root of *roots*, with all pods that have no node; None if there are none."""
    subject, waiting = Subject.from_snapshot(snapshot, roots.root), _pods(snapshot, roots.left)
    return None if subject is None or not waiting else dataclasses.replace(subject, root=roots.title, waiting=waiting)


def _pods(snapshot: ClusterSnapshot, keys: Iterable[str]) -> tuple[PodRecord, ...]:
    wanted = {*keys}
    return tuple(pod for pod in snapshot.pods if pod.key in wanted)
