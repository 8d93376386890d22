"""Cause of a failed tree: for each composite the domain that holds most of its children, and the children that fail there."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.attempts import FitError
from scheduler_core.causes.domains import AttemptFailed
from scheduler_core.causes.groups import (
    ChildFails,
    ChildrenDoNotFit,
    ChildrenInDomain,
    FailedGroup,
    FitsAlone,
    FurtherDomains,
    GroupCause,
    MinimumOutOfReach,
    NoDomain,
    NoPlacement,
    NotTried,
    Path,
    PodsLeftOver,
    SiblingPlacement,
    TooFewMembers,
)
from scheduler_core.diagnosis import pod_group_cause
from scheduler_core.diagnosis.domain_capacity import DESCRIBED, capacity, places_to_try
from scheduler_core.diagnosis.domain_causes import DomainCauses, domain_of
from scheduler_core.diagnosis.with_pods import rewound
from scheduler_core.model.names import Name
from scheduler_core.model.topology import Placement
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest

_Placed = tuple[PlacementRequest, PlacementOutcome]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Try:
    """Result of a composite on one of its domains; *fitting* of its children fit, of those that were tried."""

    place: Placement
    outcome: PlacementOutcome
    fitting: int


class TreeCause:
    """Collects the causes of the groups and pods of one root.

    Attributes:
        groups: cause of each group that is not placed.
        pods: cause of each pod that was rejected, in kube-scheduler's terms.

    """

    def __init__(self, causes: DomainCauses) -> None:
        self.groups: dict[Name, GroupCause] = {}
        self.pods: dict[str, FitError] = {}
        self._causes, self._greedy = causes, causes.greedy

    @property
    def hides_reasons_from_pods(self) -> bool:
        """Return whether kube-scheduler's message of a pod does not state the result of its group."""
        return self._greedy.state.behavior.hides_reasons_from_pods

    def failing(self, request: PlacementRequest, parent: Placement, path: Path) -> FailedGroup:
        """Return the cause of *request*, which fails inside *parent* on the present ledger."""
        if request.leaf:
            cause: FailedGroup
            cause, pods = pod_group_cause.cause(self._causes, request, parent, path)
            self.pods.update(pods)
        else:
            cause = self._failing_composite(request, parent, path)
        self.groups[request.entity.name] = cause
        return cause

    def left_over(
        self, request: PlacementRequest, outcome: PlacementOutcome, path: Path, *, explained: bool
    ) -> list[FailedGroup | PodsLeftOver]:
        """Record what an assumed success leaves without a node: pods of a leaf, and children that fail.

        If *explained*, return their causes.
        """
        if not request.leaf:
            causes: list[FailedGroup | PodsLeftOver] = []
            for child, below in zip(request.children, outcome.children, strict=True):
                inner = (*path, child.entity.name)
                if below is not None and below.success:
                    causes += self.left_over(child, below, inner, explained=explained)
                elif below is not None:
                    causes.append(self.failing(child, outcome.placement, inner))
            return causes
        nodes = [] if outcome.nodes is None else outcome.nodes.tolist()
        left = [pod for pod, node in zip(request.entity.waiting, nodes, strict=True) if node < 0]
        if not left:
            return []
        state, domain = self._greedy.state, outcome.placement
        self.pods.update(pod_group_cause.reasons(state, left, domain))
        return [pod_group_cause.left_over(state, request, domain, left, path)] if explained else []

    def _failing_composite(self, request: PlacementRequest, parent: Placement, path: Path) -> FailedGroup:
        minimum, children = request.entity.minimum, request.children
        why: TooFewMembers | NoPlacement | NoDomain
        if len(children) < minimum:
            why = TooFewMembers(path, len(children), minimum)
        elif not (places := self._greedy.placements(request, parent)):
            why = pod_group_cause.no_domain(self._greedy.state, request, parent, path)
        else:
            return self._in_domains(request, places, path)
        for child in children:
            self._record(child, NotTried(why))
        return why

    def _in_domains(self, request: PlacementRequest, places: tuple[Placement, ...], path: Path) -> FailedGroup:
        """Return the domain that holds most of the children in full, other domains in short."""
        tries = sorted(
            (self._completed(request, each) for each in self._ranked(request, places)[:DESCRIBED]), key=lambda each: -each.fitting
        )
        first, reason = self._inside(request, tries[0], path), tries[0].outcome.reason
        others = tries[1:] if request.entity.key else []
        further = len(places) - 1 - len(others) if request.entity.key else 0
        return ChildrenDoNotFit(
            path,
            len(request.children),
            request.entity.minimum,
            (first, *(self._brief(request, each, path) for each in others)),
            request.entity.key,
            FurtherDomains(further) if further else None,
            None if first.failing or reason is None else AttemptFailed(reason),
        )

    def _ranked(self, request: PlacementRequest, places: tuple[Placement, ...]) -> list[_Try]:
        """Return domains by number of children that fit, then by capacity, then by value."""
        retried = places_to_try(self._greedy, request, places)
        capacities = dict(zip((each.serial for each in retried), capacity(self._greedy.state, request, retried).tolist(), strict=True))
        tries = [_attempt(place, self._greedy.attempt(request, place)) for place in retried]
        return sorted(tries, key=lambda each: (-each.fitting, -capacities[each.place.serial], each.place.value))

    def _completed(self, request: PlacementRequest, attempt: _Try) -> _Try:
        """Return *attempt* with the children too that were not tried because the minimum was out of reach."""
        if None not in attempt.outcome.children:
            return attempt
        fitting = 0
        with rewound(self._greedy.state):
            for child, below in zip(request.children, attempt.outcome.children, strict=True):
                outcome = self._greedy.evaluate(child, attempt.place) if below is None else below
                if outcome.success:
                    self._greedy.assume(child, outcome)
                    fitting += 1
        return dataclasses.replace(attempt, fitting=fitting)

    def _inside(self, request: PlacementRequest, attempt: _Try, path: Path) -> ChildrenInDomain:
        fitting: list[_Placed] = []
        before: list[_Placed] = []
        failing: list[tuple[PlacementRequest, FailedGroup]] = []
        with rewound(self._greedy.state):
            for child, below in zip(request.children, attempt.outcome.children, strict=True):
                inner = (*path, child.entity.name)
                if below is None:
                    self._record(child, NotTried(MinimumOutOfReach(path, len(request.children), request.entity.minimum)))
                elif below.success:
                    self._greedy.assume(child, below)
                    self.left_over(child, below, inner, explained=False)
                    fitting.append((child, below))
                else:
                    cause = self.failing(child, attempt.place, inner)
                    if not failing:
                        before = list(fitting)
                    failing.append((child, cause))
        for child, below in fitting:
            self._fits_alone(child, below, failing[0][0].entity.name if failing else None)
        fits_alone = failing and before and self._greedy.evaluate(failing[0][0], attempt.place).success
        taken = tuple(_sibling(*each, attempt.place) for each in before if each[1].placed) if fits_alone else ()
        return ChildrenInDomain(domain_of(attempt.place), attempt.fitting, tuple(cause for _, cause in failing), taken)

    def _brief(self, request: PlacementRequest, attempt: _Try, path: Path) -> ChildrenInDomain:
        """Return the group that fails first in a domain, in short."""
        failing = self._first_failing(request, attempt, path)
        return ChildrenInDomain(domain_of(attempt.place), attempt.fitting, () if failing is None else (failing,))

    def _first_failing(self, request: PlacementRequest, attempt: _Try, path: Path) -> FailedGroup | None:
        """Return the cause of the group that fails first in a domain, and how many pods it lacks."""
        with rewound(self._greedy.state):
            for child, below in zip(request.children, attempt.outcome.children, strict=True):
                if below is None:
                    break
                if below.success:
                    self._greedy.assume(child, below)
                    continue
                inner = (*path, child.entity.name)
                if child.leaf:
                    return pod_group_cause.brief(self._greedy, child, attempt.place, inner)
                places = self._greedy.placements(child, attempt.place)
                inner_cause = self._first_failing(child, self._ranked(child, places)[0], inner) if places else None
                return inner_cause or ChildFails(inner)
        return None

    def _fits_alone(self, request: PlacementRequest, outcome: PlacementOutcome, but: Name | None) -> None:
        domain = domain_of(outcome.placement) if request.entity.key else None
        for each in request.entity.walk():
            self.groups.setdefault(each.name, FitsAlone(domain if each is request.entity else None, but))

    def _record(self, request: PlacementRequest, cause: GroupCause) -> None:
        for each in request.entity.walk():
            self.groups[each.name] = cause


def _attempt(place: Placement, outcome: PlacementOutcome) -> _Try:
    return _Try(place, outcome, sum(1 for below in outcome.children if below is not None and below.success))


def extra_pods(request: PlacementRequest, outcome: PlacementOutcome) -> int:
    """Return how many pods above its minimum a leaf has with *outcome*, negative below it; 0 for a composite."""
    return len(request.entity.running) + outcome.placed - request.entity.minimum if request.leaf else 0


def _sibling(request: PlacementRequest, outcome: PlacementOutcome, parent: Placement) -> SiblingPlacement:
    domain = domain_of(outcome.placement) if outcome.placement is not parent else None
    return SiblingPlacement(request.entity.name, domain, outcome.placed, max(extra_pods(request, outcome), 0))
