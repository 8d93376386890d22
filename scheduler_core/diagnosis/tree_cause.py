"""Cause of a failed tree: the innermost group that fails first, then its parents, level by level."""

from __future__ import annotations

import dataclasses
import itertools

from scheduler_core.diagnosis import phrases, pod_group_cause
from scheduler_core.diagnosis.domain_capacity import capacity, places_to_try
from scheduler_core.diagnosis.with_pods import rewound
from scheduler_core.model.decision import Name
from scheduler_core.model.topology import Placement
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest

Path = tuple[str, ...]
"""Names of groups, the root first."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Try:
    """Result of a composite on one of its domains."""

    place: Placement
    outcome: PlacementOutcome
    fitting: int


class TreeCause:
    """Collects the causes of the groups and pods of one root.

    Attributes:
        groups: cause of each group that is not placed.
        pods: reason for each pod that was rejected, in kube-scheduler's wording.

    """

    def __init__(self, greedy: Greedy) -> None:
        self.groups: dict[Name, str] = {}
        self.pods: dict[str, str] = {}
        self._greedy = greedy

    def failing(self, request: PlacementRequest, parent: Placement, path: Path) -> list[str]:
        """Return sentences about *request*, which fails inside *parent* on the present ledger: the innermost group first."""
        if request.leaf:
            leaf_cause = pod_group_cause.cause(self._greedy, request, parent)
            self.pods.update(leaf_cause.pods)
            sentences = [f"{subject(request, path)} {leaf_cause.rest}"]
        else:
            sentences = self._failing_composite(request, parent, path)
        self.groups[request.entity.name] = ". ".join(sentences)
        return sentences

    def left_over(self, request: PlacementRequest, outcome: PlacementOutcome, path: Path, *, worded: bool) -> list[str]:
        """Record what an assumed success leaves without a node: pods of a leaf, and children that fail.

        If *worded*, return sentences about that.
        """
        if not request.leaf:
            sentences = []
            for child, below in zip(request.children, outcome.children, strict=True):
                inner = (*path, child.entity.name.name)
                if below is not None and below.success:
                    sentences += self.left_over(child, below, inner, worded=worded)
                elif below is not None:
                    sentences += self.failing(child, outcome.placement, inner)
            return sentences
        nodes = [] if outcome.nodes is None else outcome.nodes.tolist()
        left = [pod for pod, node in zip(request.entity.waiting, nodes, strict=True) if node < 0]
        if not left:
            return []
        state, domain = self._greedy.state, outcome.placement
        self.pods.update(pod_group_cause.reasons(state, left, domain))
        return [f"{subject(request, path)} {pod_group_cause.left_over(state, request, domain, left)}"] if worded else []

    def _failing_composite(self, request: PlacementRequest, parent: Placement, path: Path) -> list[str]:
        minimum, children = request.entity.minimum, request.children
        if len(children) < minimum:
            why = f"has {len(children)} of the {phrases.counted(minimum, 'group')} that it needs"
        elif not (places := self._greedy.placements(request, parent)):
            why = pod_group_cause.no_domain(self._greedy.state, request, parent)
        else:
            return self._in_domains(request, places, path)
        for child in children:
            self._not_tried(child, f"not tried: {path[-1]} {why}")
        return [f"{subject(request, path)} {why}"]

    def _in_domains(self, request: PlacementRequest, places: tuple[Placement, ...], path: Path) -> list[str]:
        """Describe the domain that holds most of the children in full, other domains in short."""
        tries = self._ranked(request, places)
        sentences = self._inside(request, tries[0], path)
        return [*sentences, self._level(request, tries, len(places), path)]

    def _ranked(self, request: PlacementRequest, places: tuple[Placement, ...]) -> list[_Try]:
        """Return domains by number of children that fit, then by capacity, then by value."""
        retried = places_to_try(self._greedy, request, places)
        capacities = dict(zip((each.serial for each in retried), capacity(self._greedy.state, request, retried).tolist(), strict=True))
        tries = [_attempt(place, self._greedy.attempt(request, place)) for place in retried]
        return sorted(tries, key=lambda each: (-each.fitting, -capacities[each.place.serial], each.place.value))

    def _inside(self, request: PlacementRequest, attempt: _Try, path: Path) -> list[str]:
        first_sentences: list[str] = []
        fitting: list[tuple[PlacementRequest, PlacementOutcome]] = []
        before: list[tuple[PlacementRequest, PlacementOutcome]] = []
        failing: list[PlacementRequest] = []
        with rewound(self._greedy.state):
            for child, below in zip(request.children, attempt.outcome.children, strict=True):
                inner = (*path, child.entity.name.name)
                if below is None:
                    self._not_tried(child, f"not tried: {path[-1]} can no longer place {_groups(request)}")
                elif below.success:
                    self._greedy.assume(child, below)
                    self.left_over(child, below, inner, worded=False)
                    fitting.append((child, below))
                else:
                    sentences = self.failing(child, attempt.place, inner)
                    if not failing:
                        first_sentences, before = sentences, list(fitting)
                    failing.append(child)
        for child, below in fitting:
            self._fits_alone(child, below, f"but group {failing[0].entity.name.name} does not" if failing else "but its parent does not")
        if not failing:
            return [f"{subject(request, path)}: {attempt.outcome.message}"]
        return [*first_sentences, *self._around(failing, before, attempt.place)]

    def _around(
        self, failing: list[PlacementRequest], before: list[tuple[PlacementRequest, PlacementOutcome]], place: Placement
    ) -> list[str]:
        """Return how the siblings of the child that fails first affect it."""
        sentences = []
        if before and self._greedy.evaluate(failing[0], place).success:
            sentences.append(f"It would fit by itself, but earlier {_taken(before, place)}")
        if len(failing) > 1:
            others = phrases.listed([child.entity.name.name for child in failing[1:]])
            sentences.append(f"{others} {'does' if len(failing) == 2 else 'do'} not fit either")
        return sentences

    def _level(self, request: PlacementRequest, tries: list[_Try], total: int, path: Path) -> str:
        """Return how many children of *request* fit in each domain."""
        name, first = path[-1], tries[0]
        if not request.entity.key:
            return f"{name} needs {_groups(request)}: {first.fitting or 'none'} {'fits' if first.fitting <= 1 else 'fit'}"
        reasons = ["", *(self._brief(request, each, ()) for each in tries[1 : phrases.SHOWN])]
        clauses = []
        for (fitting, why), equal in itertools.groupby(zip(tries, reasons, strict=False), key=lambda pair: (pair[0].fitting, pair[1])):
            clauses.append(phrases.holds_phrase([each.place for each, _ in equal], fitting) + (f" ({why})" if why else ""))
        if more := total - len(reasons):
            clauses.append(f"and {more} more {phrases.level(request.entity.key)}{'s' if more > 1 else ''}")
        return f"{name} needs {_groups(request)} in one {phrases.level(request.entity.key)}: {'; '.join(clauses)}"

    def _brief(self, request: PlacementRequest, attempt: _Try, path: Path) -> str:
        """Return the group that fails first in a domain, and how many pods it lacks."""
        with rewound(self._greedy.state):
            for child, below in zip(request.children, attempt.outcome.children, strict=True):
                if below is None:
                    break
                if below.success:
                    self._greedy.assume(child, below)
                    continue
                child_path = (*path, child.entity.name.name)
                if child.leaf:
                    return f"{subject(child, child_path)} {pod_group_cause.brief(self._greedy, child, attempt.place)}"
                places = self._greedy.placements(child, attempt.place)
                inner_cause = self._brief(child, self._ranked(child, places)[0], child_path) if places else ""
                return inner_cause or f"{subject(child, child_path)} fails"
        return ""

    def _fits_alone(self, request: PlacementRequest, outcome: PlacementOutcome, but: str) -> None:
        where = f" in {phrases.place(outcome.placement)}" if request.entity.key else ""
        for each in request.entity.walk():
            self.groups.setdefault(each.name, f"fits by itself{where if each is request.entity else ''}, {but}")

    def _not_tried(self, request: PlacementRequest, why: str) -> None:
        for each in request.entity.walk():
            self.groups[each.name] = why


def subject(request: PlacementRequest, path: Path) -> str:
    """Return the name of the group in a sentence: ``group decode of serve``, ``pod web-0``."""
    return f"{'pod' if request.entity.name.kind == 'Pod' else 'group'} {' of '.join(reversed(path))}"


def _attempt(place: Placement, outcome: PlacementOutcome) -> _Try:
    return _Try(place, outcome, sum(1 for below in outcome.children if below is not None and below.success))


def _groups(request: PlacementRequest) -> str:
    minimum, total = request.entity.minimum, len(request.children)
    if minimum < total:
        return f"{minimum} of its {total} groups"
    return {1: "its group", 2: "both of its groups"}.get(total, f"all {total} of its groups")


def _taken(before: list[tuple[PlacementRequest, PlacementOutcome]], parent: Placement) -> str:
    """Return what earlier siblings took: ``g1 and g2 took rack r1, g3 placed 7 pods, 3 more than it needs``."""
    placed = [(child, below) for child, below in before if below.placed]
    parts = []
    for where, siblings in itertools.groupby(placed, key=lambda each: _where(each[0], each[1], parent)):
        parts.append(f"{phrases.listed([child.entity.name.name for child, _ in siblings])} {where}")
    return phrases.listed(parts)


def _where(request: PlacementRequest, outcome: PlacementOutcome, parent: Placement) -> str:
    extra = len(request.entity.running) + outcome.placed - request.entity.minimum if request.leaf else 0
    place = f"took {phrases.place(outcome.placement)}" if outcome.placement is not parent else ""
    if extra <= 0:
        return place or f"placed {phrases.counted(outcome.placed, 'pod')}"
    more = f"placed {phrases.counted(outcome.placed, 'pod')}, {extra} more than it needs"
    return f"{place} and {more}" if place else more
