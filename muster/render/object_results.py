"""Results of the objects that a person wrote, one by one: those that do not fit are first."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping

from kubeapi.problem import Problem
from muster.render.answer import Answer
from muster.render.tree_rows import pod_name
from scheduler_core.model.decision import Decision, latest
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status

BUDGET = "budget"


class Kind(enum.StrEnum):
    """Verdict, as in JSON."""

    FITS = "fits"
    AFTER_EVICTION = "fits-after-eviction"
    UNDECIDED = "undecided"
    DOES_NOT_FIT = "does-not-fit"
    NOTHING = "nothing-to-judge"


MARKS = {Kind.FITS: "✓", Kind.AFTER_EVICTION: "→", Kind.UNDECIDED: "?", Kind.DOES_NOT_FIT: "✗", Kind.NOTHING: "○"}
ORDER = (Kind.FITS, Kind.AFTER_EVICTION, Kind.UNDECIDED, Kind.DOES_NOT_FIT)
"""From the best to the worst."""
PLACED = frozenset({Kind.FITS, Kind.AFTER_EVICTION})
"""Verdicts with a node for every pod."""


@dataclasses.dataclass(slots=True)
class ObjectResult:
    """Result of one object that a person wrote.

    Attributes:
        name: the object.
        kind: the verdict about it.
        decisions: the last decision on each of its roots.
        failed: those of *decisions* that have the worst result.
        assigned: the nodes of its pods that have one.
        rootless: its pods without a decision, with the reason.
        refused: why the API server would refuse its pods.

    """

    name: Name
    kind: Kind = Kind.FITS
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    failed: list[Decision] = dataclasses.field(default_factory=list)
    assigned: dict[str, str] = dataclasses.field(default_factory=dict)
    rootless: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    refused: list[Problem] = dataclasses.field(default_factory=list)

    @property
    def placed(self) -> int:
        """Return the number of its pods with a node."""
        return len(self.assigned)

    @property
    def is_divided(self) -> bool:
        """Return whether pods without a node are some of several roots, or of pods that have nodes."""
        return bool(self.pending) and (bool(self.assigned) or len(self.failed) > 1)

    @property
    def unplaced(self) -> list[Decision]:
        """Return those of *failed* with pods without a node."""
        return [each for each in self.failed if each.pending]

    @property
    def pending(self) -> int:
        """Return the number of its pods without a node."""
        return sum(len(each.pending) for each in self.decisions) + len(self.rootless)


def object_results(answer: Answer, origins: Mapping[Name, Name], *, one_cycle: bool = False) -> list[ObjectResult]:
    """Return the result of each object, the worst first, otherwise in the order of the decisions.

    *origins* has the object of each group and pod that was created for one.  *one_cycle*: no further cycle was wanted, in which a root
    is placed after its victims have left.
    """
    results: dict[Name, ObjectResult] = {}

    def result_of(name: Name) -> ObjectResult:
        return results.setdefault(name, ObjectResult(name))

    last = latest(answer.decisions)
    evicting = {each.root for each in answer.decisions if each.victims}
    for root, decision in last.items():
        result_of(subject(origins, root)).decisions.append(decision)
    for decision in answer.decisions:
        result_of(subject(origins, decision.root)).assigned.update(decision.assignments)
    decided = {pod for each in last.values() for pod in each.pending}
    for pod, why in answer.reasons.items():
        if pod not in decided:
            result_of(subject(origins, pod_name(pod))).rootless.append((pod, why))
    for problem in answer.refused:
        for name in problem.names[:1]:
            result_of(name).refused.append(problem)
    for result in results.values():
        _judge(result, evicting, one_cycle=one_cycle)
    return worst_first(results.values())


def worst_first(results: Iterable[ObjectResult]) -> list[ObjectResult]:
    """Return *results* by verdict, otherwise in their order."""
    return sorted(results, key=lambda each: -ORDER.index(each.kind))


def subject(origins: Mapping[Name, Name], root: Name) -> Name:
    """Return the object that a person wrote to which a root belongs."""
    return origins.get(root, root)


def _judge(result: ObjectResult, evicting: set[Name], *, one_cycle: bool) -> None:
    """Set the verdict about one object, and the decisions that are the reason."""
    kinds = [kind_of(each, evicts=each.root in evicting, one_cycle=one_cycle) for each in result.decisions]
    result.kind = max(kinds, key=ORDER.index, default=Kind.FITS)
    result.failed = [each for each, kind in zip(result.decisions, kinds, strict=True) if kind is result.kind]
    if result.refused or result.rootless:
        result.kind = Kind.DOES_NOT_FIT


def kind_of(decision: Decision, *, evicts: bool, one_cycle: bool = False) -> Kind:
    """Return the result of one root by its last decision; *evicts*: whether any decision on it has victims."""
    if one_cycle and decision.victims:
        return Kind.AFTER_EVICTION
    if decision.status is Status.SUCCESS and not decision.pending:
        return Kind.AFTER_EVICTION if evicts else Kind.FITS
    if is_unsettled(decision) and not one_cycle:
        return Kind.UNDECIDED
    unsure = decision.status in {Status.UNSCHEDULABLE, Status.UNRESOLVABLE} and decision.search.outcome == BUDGET
    return Kind.UNDECIDED if unsure else Kind.DOES_NOT_FIT


def is_unsettled(decision: Decision) -> bool:
    """Return whether a root's last cycle evicted pods, or placed a part of a Basic group: only the limit of cycles ended the search."""
    return bool(decision.victims or (decision.assignments and decision.pending))
