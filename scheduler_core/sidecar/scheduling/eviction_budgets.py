"""Disruption budgets that forbid the evictions of a preemption plan.

The eviction API refuses a pod that matches two budgets, and a pod whose budget allows no further disruption.  Evictions of one plan use up
the same budget, which no dry run of single evictions shows.  So they are counted here before the first of them is sent.  No budget protects
a pod that has not started; an unready pod is protected only by a budget that lacks healthy pods, unless its policy is AlwaysAllow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.causes.changes import DeletedBudgets
from scheduler_core.model.decision import Decision, Remedy, Step
from scheduler_core.model.names import Name
from scheduler_core.model.nouns import counted
from scheduler_core.model.pods import Health, PodRecord
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.model.wording import LONGEST, cut, listed
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets

MAX_NAMES = 3
"""Victims that a message names for each budget."""
_NOTE_LENGTH = 400


@dataclasses.dataclass(frozen=True, slots=True)
class BlockedPreemption:
    """Reason why the victims of a decision are not evicted, and changes to budgets that would allow it."""

    reason: str
    remedies: tuple[Remedy, ...] = ()

    def note(self, retry_seconds: float) -> str:
        """Return the reason with the time of the next try, as one clause of a message."""
        reason = cut(self.reason, _NOTE_LENGTH)
        return f"preemption is blocked: {reason}; retried when a PodDisruptionBudget changes, at the latest after {retry_seconds:.0f} s"

    def added_to(self, decision: Decision, retry_seconds: float) -> Decision:
        """Return *decision* with the reason in the messages of the root, its unplaced groups and its pods, and with the remedies."""
        # Once the budgets allow it, the root still waits for its victims to be evicted.
        remedies = (*(dataclasses.replace(each, then=decision.status) for each in self.remedies), *decision.remedies)
        return with_note(dataclasses.replace(decision, remedies=remedies), self.note(retry_seconds))


def with_note(decision: Decision, note: str) -> Decision:
    """Return *decision* with *note* in the messages of the root, its unplaced groups and its pods."""
    return dataclasses.replace(
        with_noted_groups(decision, note),
        message=f"{note}; {decision.message}" if decision.message else note,
        pending={pod: _joined(message, note) for pod, message in decision.pending.items()},
    )


def with_noted_groups(decision: Decision, note: str) -> Decision:
    """Return *decision* with *note* in the messages of the unplaced groups only."""
    groups = tuple(
        dataclasses.replace(
            group,
            conditions=tuple(
                dataclasses.replace(each, message=_joined(each.message, note)) if each.status == "False" else each
                for each in group.conditions
            ),
        )
        for group in decision.groups
    )
    return dataclasses.replace(decision, groups=groups)


def blocked_preemption(budgets: Iterable[DisruptionBudget], victims: Sequence[PodRecord]) -> BlockedPreemption | None:
    """Return why *budgets* forbid to evict all *victims*; None if they allow it."""
    matching = DisruptionBudgets(budgets)
    started = [pod for pod in victims if pod.health is not Health.STARTING]
    protected = [(pod, matching.budgets_of(pod)) for pod in sorted(started, key=lambda pod: pod.key)]
    by_name = {_name(budget): budget for _, protecting in protected for budget in protecting}
    charged: dict[str, list[str]] = {name: [] for name in sorted(by_name)}
    for pod, protecting in protected:
        for budget in protecting:
            if pod.name not in budget.disrupted and _protects(budget, pod):
                charged[_name(budget)].append(pod.key)
    exceeded = {name: pods for name, pods in charged.items() if len(pods) > by_name[name].allowed}
    reasons = [
        f"{name} allows {counted(by_name[name].allowed, 'disruption')} and matches {counted(len(pods), 'victim')} ({_some(pods)})"
        for name, pods in exceeded.items()
    ]
    reasons += [_overlap(pod, protecting) for pod, protecting in protected if len(protecting) > 1]
    if not reasons:
        return None
    return BlockedPreemption(listed(reasons, longest=_NOTE_LENGTH), (_remedy(exceeded, by_name, [each for _, each in protected]),))


def _protects(budget: DisruptionBudget, pod: PodRecord) -> bool:
    """Return whether the eviction of *pod*, which has started, is counted."""
    return pod.health is Health.READY or (budget.spares_unready and not budget.healthy)


def _remedy(
    exceeded: Mapping[str, Sequence[str]], by_name: Mapping[str, DisruptionBudget], protecting: Iterable[Sequence[DisruptionBudget]]
) -> Remedy:
    """Return the removal of budgets after which every victim has one budget at most, which allows its eviction."""
    removed = set(exceeded)
    for budgets in protecting:
        removed.update([name for name in map(_name, budgets) if name not in removed][1:])
    deleted = tuple(Name("PodDisruptionBudget", by_name[each].namespace, by_name[each].name) for each in sorted(removed))
    (disruptions,) = map(len, exceeded.values()) if len(removed) == len(exceeded) == 1 else (0,)
    return Remedy(
        DeletedBudgets(deleted, disruptions),
        tuple(Step(delete={"apiVersion": "policy/v1", **dataclasses.asdict(each)}) for each in deleted),
    )


def _name(budget: DisruptionBudget) -> str:
    return f"PodDisruptionBudget {budget.namespace}/{budget.name}"


def _overlap(pod: PodRecord, protecting: Sequence[DisruptionBudget]) -> str:
    names = " and ".join(each.name for each in protecting)
    return f"pod {pod.key} matches PodDisruptionBudgets {names}, and the eviction API refuses a pod with more than one"


def _some(pods: Sequence[str]) -> str:
    more = len(pods) - MAX_NAMES
    return ", ".join(pods[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _joined(message: str, note: str) -> str:
    """Return *message* with *note* at its end, where a long message is cut and the note is not."""
    return f"{cut(message, LONGEST - len(note) - 2)}; {note}" if message else note
