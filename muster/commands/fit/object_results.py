"""Results of the objects at PATH, one by one: those that do not fit are first."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from expansion.rollouts.play import Outcome
from kubeapi.problem import Problem
from muster.commands.fit.rollout_trial import JudgedRollout
from muster.commands.fit.verdict import ORDER, Kind, kind_of
from muster.commands.fit.verdict_words import subject
from muster.commands.simulate.own_objects import pod_name
from muster.render.answer import Answer
from scheduler_core.model.decision import Decision, latest
from scheduler_core.model.names import Name


@dataclasses.dataclass(slots=True)
class ObjectResult:
    """Result of one object at PATH.

    Attributes:
        name: the object.
        kind: the verdict about it.
        decisions: the last decision on each of its roots.
        failed: those of *decisions* that have the worst result.
        assigned: the nodes of its pods that have one.
        rootless: its pods without a decision, with the reason.
        refused: why the API server would refuse its pods.
        rollout: the update of the running object that it replaces.

    """

    name: Name
    kind: Kind = Kind.FITS
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    failed: list[Decision] = dataclasses.field(default_factory=list)
    assigned: dict[str, str] = dataclasses.field(default_factory=dict)
    rootless: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    refused: list[Problem] = dataclasses.field(default_factory=list)
    rollout: JudgedRollout | None = None

    @property
    def placed(self) -> int:
        """Return the number of its pods with a node."""
        return len(self.assigned)

    @property
    def is_divided(self) -> bool:
        """Return whether pods without a node are some of several roots, or of pods that have nodes."""
        return bool(self.pending) and (bool(self.assigned) or len(self.failed) > 1)

    @property
    def pending(self) -> int:
        """Return the number of its pods without a node."""
        return sum(len(each.pending) for each in self.decisions) + len(self.rootless)


def object_results(answer: Answer, origins: Mapping[Name, Name], rollouts: Sequence[JudgedRollout], *, kept: bool) -> list[ObjectResult]:
    """Return the result of each object, the worst first, otherwise in the order of the decisions.

    *answer* is restricted to PATH.  *kept*: the updates are finished, and keep those old pods whose new ones have no place.
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
    for rollout in rollouts:
        result_of(rollout.origin).rollout = rollout
    for result in results.values():
        _judge(result, evicting, kept=kept)
    return sorted(results.values(), key=lambda each: -ORDER.index(each.kind))


def _judge(result: ObjectResult, evicting: set[Name], *, kept: bool) -> None:
    """Set the verdict about one object, and the decisions that are the reason."""
    kinds = [kind_of(each, evicts=each.root in evicting) for each in result.decisions]
    result.kind = max(kinds, key=ORDER.index, default=Kind.FITS)
    result.failed = [each for each, kind in zip(result.decisions, kinds, strict=True) if kind is result.kind]
    if result.refused or result.rootless:
        result.kind = Kind.DOES_NOT_FIT
    if result.rollout is None:
        return
    if kept and result.rollout.is_finished:
        result.kind = Kind.FITS
    elif result.kind in {Kind.FITS, Kind.AFTER_EVICTION}:
        updated = {Outcome.HANGS: Kind.DOES_NOT_FIT, Outcome.TOO_LONG: Kind.UNDECIDED}
        during = Kind.AFTER_EVICTION if result.rollout.victims else result.kind
        result.kind = updated.get(result.rollout.played.outcome, during)
