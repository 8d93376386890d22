"""What the choice of victims asks of the engine: place a root as things stand, who gets along with whom, what can be at all."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from scheduler_core.exact.complete import Complete, searchable
from scheduler_core.exact.needs import lacking, leaves, satisfied, selections
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.tree.tree_search import TreeSearch
from scheduler_core.model.decision import Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.candidate_placements import PinError, pinned_value
from scheduler_core.placement.greedy import Greedy, assigned, tried
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.bounds.shortage import GroupDemand
from scheduler_core.preemption.minimal.trials import Question
from scheduler_core.preemption.plans.required_pods import RequiredPods

_WAYS = 1_000
"""Ways to choose the pods of a group, of several shapes, up to which the best victims are searched for."""
_TRIAL = 2_000
"""Steps of the search for one trial."""


class _TooManyWaysError(Exception):
    """There are more ways to choose the pods of a group."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """What came of placing a root without those who may have to leave."""

    outcome: PlacementOutcome
    assigned: Sequence[tuple[PodRecord, int]]

    @property
    def status(self) -> Status:
        """Success if the root got what it needs."""
        return self.outcome.status

    @property
    def message(self) -> str:
        """Why not."""
        return self.outcome.message


class Preemptor:
    """The engine as ``preemption`` sees it."""

    def __init__(
        self, greedy: Greedy, promised: Callable[[PlacementRequest, PlacementOutcome], Sequence[tuple[PodRecord, int]]] = tried
    ) -> None:
        self._greedy = greedy
        self._promised = promised
        self._stateful = greedy.site.stateful

    def place(self, entity: Entity) -> Proposal:
        """Place *entity* on the ledger as it stands, with room kept for its own nominations."""
        ledger = self._greedy.site.ledger
        mark = ledger.mark()
        self._greedy.site.nominations.own(entity, 1)
        form = self._greedy.form(entity)
        outcome = self._greedy.place(form)
        ledger.rewind(mark)
        # As upstream unless told otherwise: who leaves is chosen for all pods that found a node, also for those of a child that failed.
        return Proposal(outcome, self._promised(form, outcome) if outcome.success else [])

    def resolvable(self, pod: PodRecord) -> Nodes:
        """Nodes where *pod* failed for a reason that eviction can remove: those of NodePorts, of NodeResourcesFit where the node is
        large enough at all, of anti-affinity and of topology spread.
        """
        site = self._greedy.site
        profile = site.profile.compile(pod.shape)
        able: Bools = np.array((site.nodes.allocatable[profile.rows] >= profile.amounts).all(axis=0))
        if profile.mask is not None:
            able &= profile.mask
        nodes = able.nonzero()[0]
        return self._stateful.resolvable(pod, nodes) if self._stateful.touches(pod) else nodes

    def matter(self, pods: Sequence[PodRecord], proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        """Whether *pods* can make a difference to *proposed* by more than the room they take."""
        if not self._stateful.active or not pods:
            return False
        # Proposed pods are mostly alike: one of each kind is asked about.
        kinds = {(other.shape.serial, other.namespace, frozenset(other.labels.items())): other for other, _ in proposed}
        return any(self._stateful.bind(pod, other) for other in kinds.values() for pod in pods)

    def move(self, pods: Sequence[PodRecord], *, away: bool) -> None:
        """*pods*, which run, leave their nodes, or are back on them."""
        if not self._stateful.active:
            return
        for pod in pods:
            if away:
                self._stateful.remove(pod, pod.node)
            else:
                self._stateful.assume(pod, pod.node)

    def passes_filters(self, proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        """Whether *proposed* may stand where they are to, one after the other."""
        mark = self._stateful.mark()
        try:
            for pod, node in proposed:
                there = np.array([node], dtype=np.int64)
                if not all(mask.all() for _, mask in self._stateful.filter(pod, there)):
                    return False
                self._stateful.assume(pod, node)
        finally:
            self._stateful.rewind(mark)
        return True


class Proving(Preemptor):
    """The exact search as ``preemption.minimal`` sees it, for one root."""

    def __init__(self, complete: Complete, root: Entity) -> None:
        super().__init__(complete, assigned)
        self._site = complete.site
        self._form = form = complete.form(root)
        # Where the domain is given the root's own key has done its part.
        self._inside = dataclasses.replace(form, entity=dataclasses.replace(form.entity, key=""))
        self.question = self._question(complete)

    def possible(self, placement: Placement) -> tuple[bool | None, int]:
        """Whether the root's minimum fits in *placement* as the ledger stands, None if the budget ended before; and the steps."""
        budget = StepBudget(_TRIAL)
        try:
            found = TreeSearch(self._site, self._inside, budget).plan(placement) is not None
        except StepsSpentError:
            return None, budget.explored
        return found, budget.explored

    def _question(self, complete: Complete) -> Question:
        site, form = self._site, self._form
        exact = searchable(form) and not satisfied(form) and not site.plugins
        try:
            domains = complete.placements(form, site.topology.root) if exact else (site.topology.root,)
        except PinError:
            exact, domains = False, (site.topology.root,)
        demand = _demand(form)
        wanted = None
        with contextlib.suppress(_TooManyWaysError):
            wanted = _wanted(self._inside, site) if exact else None
        return Question(site, domains, dataclasses.replace(demand, key="") if exact else demand, exact, wanted)


def _wanted(form: PlacementRequest, site: PlacementState) -> RequiredPods | None:
    """What must be placed of *form*, whose minimum is not met; None where that cannot be.

    Raises:
        _TooManyWaysError: there are too many ways to choose the pods of a group.

    """
    value = None
    if form.entity.key and form.pinned:
        try:
            value = pinned_value(site.nodes, form.entity.key, form.pinned)
        except PinError:
            return None
    if form.leaf:
        ways = tuple(itertools.islice(selections(form), _WAYS + 1))
        if len(ways) > _WAYS:
            raise _TooManyWaysError
        return RequiredPods(form.number, form.entity.key, value, ways) if ways else None
    missing = form.entity.minimum - sum(satisfied(child) for child in form.children)
    below = [_wanted(child, site) for child in form.children if not satisfied(child)]
    able = tuple(child for child in below if child is not None)
    return RequiredPods(form.number, form.entity.key, value, (), missing, able) if len(able) >= missing else None


def _demand(form: PlacementRequest) -> GroupDemand:
    """What must be placed of *form* in every plan."""
    counts, amounts = _least(form)
    shapes = {run.shape.serial: run.shape for leaf in leaves(form) for run in leaf.runs}
    missing = form.entity.minimum - sum(satisfied(child) for child in form.children) if not form.leaf and not satisfied(form) else 0
    children = tuple(_demand(child) for child in form.children if not satisfied(child)) if missing else ()
    return GroupDemand(
        tuple((shapes[serial], count) for serial, count in sorted(counts.items()) if count),
        tuple(sorted((row, amount) for row, amount in amounts.items() if amount)),
        form.entity.key,
        children,
        missing,
    )


def _least(form: PlacementRequest) -> tuple[Counter[int], Counter[int]]:
    """Fewest pods of each shape (by serial), least amounts of each resource (by row)."""
    if satisfied(form):
        return Counter(), Counter()
    if form.leaf:
        return _least_of_leaf(form)
    missing = form.entity.minimum - sum(satisfied(child) for child in form.children)
    below = [_least(child) for child in form.children if not satisfied(child)]
    found = []
    for part in (0, 1):
        kinds = {kind for each in below for kind in each[part]}
        found.append(Counter({kind: sum(sorted(each[part][kind] for each in below)[:missing]) for kind in kinds}))
    return found[0], found[1]


def _least_of_leaf(form: PlacementRequest) -> tuple[Counter[int], Counter[int]]:
    needed = lacking(form)
    shapes: list[PodShape] = [pod.shape for pod in form.entity.waiting]
    counts = Counter(shape.serial for shape in shapes)
    fewest = Counter({serial: max(0, needed - (len(shapes) - count)) for serial, count in counts.items()})
    requests = [dict(shape.requests) for shape in shapes]
    rows = {row for each in requests for row in each}
    return fewest, Counter({row: sum(sorted(each.get(row, 0) for each in requests)[:needed]) for row in rows})
