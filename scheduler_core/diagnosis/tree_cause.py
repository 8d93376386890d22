"""Why a tree is not placed: down to the group that fails first, then outwards again, level by level."""

from __future__ import annotations

import dataclasses
import itertools

from scheduler_core.diagnosis import phrases, pod_group_cause
from scheduler_core.diagnosis.domain_capacity import room, tries
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
    """A composite on one of its domains."""

    place: Placement
    outcome: PlacementOutcome
    fitting: int


class TreeCause:
    """Collects what is to be said of the groups and pods of one root.

    Attributes:
        groups: of each group that is not placed, why.
        pods: of each pod that found no node, why; in kube-scheduler's words.

    """

    def __init__(self, greedy: Greedy) -> None:
        self.groups: dict[Name, str] = {}
        self.pods: dict[str, str] = {}
        self._greedy = greedy

    def failing(self, request: PlacementRequest, parent: Placement, path: Path) -> list[str]:
        """Sentences about *request*, which fails inside *parent* as the ledger stands: the innermost group first."""
        if request.leaf:
            found = pod_group_cause.cause(self._greedy, request, parent)
            self.pods.update(found.pods)
            told = [f"{subject(request, path)} {found.rest}"]
        else:
            told = self._failing_composite(request, parent, path)
        self.groups[request.entity.name] = ". ".join(told)
        return told

    def left_over(self, request: PlacementRequest, outcome: PlacementOutcome, path: Path) -> list[str]:
        """Sentences about what a success, which is assumed, leaves without a node: a leaf's pods, and children that fail."""
        if not request.leaf:
            told = []
            for child, below in zip(request.children, outcome.children, strict=True):
                inner = (*path, child.entity.name.name)
                if below is not None:
                    told += self.left_over(child, below, inner) if below.success else self.failing(child, outcome.placement, inner)
            return told
        nodes = [] if outcome.nodes is None else outcome.nodes.tolist()
        left = [pod for pod, node in zip(request.entity.waiting, nodes, strict=True) if node < 0]
        if not left:
            return []
        found = pod_group_cause.left_over(self._greedy, request, outcome.placement, left)
        self.pods.update(found.pods)
        return [f"{subject(request, path)} {found.rest}"]

    def _failing_composite(self, request: PlacementRequest, parent: Placement, path: Path) -> list[str]:
        minimum, children = request.entity.minimum, request.children
        if len(children) < minimum:
            why = f"has {len(children)} of the {phrases.counted(minimum, 'group')} that it needs"
        elif not (places := self._greedy.placements(request, parent)):
            why = pod_group_cause.nowhere(request, parent)
        else:
            return self._in_domains(request, places, path)
        for child in children:
            self._not_tried(child, f"not tried: {path[-1]} {why}")
        return [f"{subject(request, path)} {why}"]

    def _in_domains(self, request: PlacementRequest, places: tuple[Placement, ...], path: Path) -> list[str]:
        """The domain that holds most of the children is told in full, others in short."""
        found = self._ranked(request, places)
        told = self._inside(request, found[0], path)
        return [*told, self._level(request, found, len(places), path)]

    def _ranked(self, request: PlacementRequest, places: tuple[Placement, ...]) -> list[_Try]:
        """Where most children fit first, then where there is most room, then by value."""
        again = tries(self._greedy, request, places)
        most = dict(zip((each.serial for each in again), room(self._greedy.state, request, again).tolist(), strict=True))
        found = [_tried(place, self._greedy.attempt(request, place)) for place in again]
        return sorted(found, key=lambda each: (-each.fitting, -most[each.place.serial], each.place.value))

    def _inside(self, request: PlacementRequest, at: _Try, path: Path) -> list[str]:
        told: list[str] = []
        fitting: list[tuple[PlacementRequest, PlacementOutcome]] = []
        before: list[tuple[PlacementRequest, PlacementOutcome]] = []
        failing: list[PlacementRequest] = []
        with rewound(self._greedy.state):
            for child, below in zip(request.children, at.outcome.children, strict=True):
                inner = (*path, child.entity.name.name)
                if below is None:
                    self._not_tried(child, f"not tried: {path[-1]} can no longer have {_groups(request)}")
                elif below.success:
                    self._greedy.assume(child, below)
                    self.left_over(child, below, inner)
                    fitting.append((child, below))
                else:
                    sentences = self.failing(child, at.place, inner)
                    if not failing:
                        told, before = sentences, list(fitting)
                    failing.append(child)
        for child, below in fitting:
            self._fits_alone(child, below, f"but group {failing[0].entity.name.name} does not" if failing else "but its parent does not")
        if not failing:
            return [f"{subject(request, path)}: {at.outcome.message}"]
        return [*told, *self._around(failing, before, at.place)]

    def _around(
        self, failing: list[PlacementRequest], before: list[tuple[PlacementRequest, PlacementOutcome]], place: Placement
    ) -> list[str]:
        """What the siblings of the child that fails first have to do with it."""
        told = []
        if before and self._greedy.evaluate(failing[0], place).success:
            told.append(f"It would fit by itself, but before it {_taken(before, place)}")
        if len(failing) > 1:
            others = phrases.listed([child.entity.name.name for child in failing[1:]])
            told.append(f"{others} {'does' if len(failing) == 2 else 'do'} not fit either")
        return told

    def _level(self, request: PlacementRequest, found: list[_Try], total: int, path: Path) -> str:
        """How far the children of *request* get in each domain."""
        name, first = path[-1], found[0]
        if not request.entity.key:
            return f"{name} needs {_groups(request)}: {first.fitting or 'none'} {'fits' if first.fitting <= 1 else 'fit'}"
        whys = ["", *(self._brief(request, each, ()) for each in found[1 : phrases.SHOWN])]
        told = []
        for (fitting, why), same in itertools.groupby(zip(found, whys, strict=False), key=lambda pair: (pair[0].fitting, pair[1])):
            told.append(phrases.holds_phrase([each.place for each, _ in same], fitting) + (f" ({why})" if why else ""))
        if more := total - len(whys):
            told.append(f"and {more} more {phrases.level(request.entity.key)}{'s' if more > 1 else ''}")
        return f"{name} needs {_groups(request)} in one {phrases.level(request.entity.key)}: {'; '.join(told)}"

    def _brief(self, request: PlacementRequest, at: _Try, path: Path) -> str:
        """Which group fails first in a domain, and by how much."""
        with rewound(self._greedy.state):
            for child, below in zip(request.children, at.outcome.children, strict=True):
                if below is None:
                    break
                if below.success:
                    self._greedy.assume(child, below)
                    continue
                inner = (*path, child.entity.name.name)
                if child.leaf:
                    return f"{subject(child, inner)} {pod_group_cause.brief(self._greedy, child, at.place)}"
                places = self._greedy.placements(child, at.place)
                deeper = self._brief(child, self._ranked(child, places)[0], inner) if places else ""
                return deeper or f"{subject(child, inner)} fails"
        return ""

    def _fits_alone(self, request: PlacementRequest, outcome: PlacementOutcome, but: str) -> None:
        where = f" in {phrases.place(outcome.placement)}" if request.entity.key else ""
        for each in request.entity.walk():
            self.groups.setdefault(each.name, f"fits by itself{where if each is request.entity else ''}, {but}")

    def _not_tried(self, request: PlacementRequest, why: str) -> None:
        for each in request.entity.walk():
            self.groups[each.name] = why


def subject(request: PlacementRequest, path: Path) -> str:
    """``group decode of serve``, ``pod web-0``."""
    return f"{'pod' if request.entity.name.kind == 'Pod' else 'group'} {' of '.join(reversed(path))}"


def _tried(place: Placement, outcome: PlacementOutcome) -> _Try:
    return _Try(place, outcome, sum(1 for below in outcome.children if below is not None and below.success))


def _groups(request: PlacementRequest) -> str:
    minimum, total = request.entity.minimum, len(request.children)
    if minimum < total:
        return f"{minimum} of its {total} groups"
    return {1: "its group", 2: "both of its groups"}.get(total, f"all {total} of its groups")


def _taken(before: list[tuple[PlacementRequest, PlacementOutcome]], parent: Placement) -> str:
    """What siblings that were tried before took: ``g1 and g2 went to rack r1, g3 placed 7 pods, 3 more than it needs``."""
    placed = [(child, below) for child, below in before if below.placed]
    told = []
    for where, same in itertools.groupby(placed, key=lambda each: _where(each[0], each[1], parent)):
        told.append(f"{phrases.listed([child.entity.name.name for child, _ in same])} {where}")
    return phrases.listed(told)


def _where(request: PlacementRequest, outcome: PlacementOutcome, parent: Placement) -> str:
    extra = len(request.entity.running) + outcome.placed - request.entity.minimum if request.leaf else 0
    place = f"went to {phrases.place(outcome.placement)}" if outcome.placement is not parent else ""
    if extra <= 0:
        return place or f"placed {phrases.counted(outcome.placed, 'pod')}"
    more = f"placed {phrases.counted(outcome.placed, 'pod')}, {extra} more than it needs"
    return f"{place} and {more}" if place else more
