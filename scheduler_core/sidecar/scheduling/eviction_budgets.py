"""Disruption budgets that forbid the evictions of a preemption plan.

The eviction API refuses a pod that matches two budgets, and a pod whose budget allows no further disruption.  Evictions of one plan use up
the same budget, which no dry run of single evictions shows.  So they are counted here before the first of them is sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from scheduler_core.model.decision import Decision, Remedy, Step
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.model.wording import cut, listed
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
        note = self.note(retry_seconds)
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
        return dataclasses.replace(
            decision,
            message=f"{note}; {decision.message}" if decision.message else note,
            groups=groups,
            pending={pod: _joined(message, note) for pod, message in decision.pending.items()},
            remedies=(*self.remedies, *decision.remedies),
        )


def blocked_preemption(budgets: Iterable[DisruptionBudget], victims: Sequence[PodRecord]) -> BlockedPreemption | None:
    """Return why *budgets* forbid to evict all *victims*; None if they allow it."""
    matching = DisruptionBudgets(budgets)
    charged: dict[tuple[str, str], tuple[DisruptionBudget, list[str]]] = {}
    overlaps: list[str] = []
    for pod in sorted(victims, key=lambda pod: pod.key):
        protecting = matching.budgets_of(pod)
        if len(protecting) > 1:
            names = " and ".join(each.name for each in protecting)
            overlaps.append(f"pod {pod.key} matches PodDisruptionBudgets {names}, and the eviction API refuses a pod with more than one")
        for budget in protecting:
            if pod.name not in budget.disrupted:
                charged.setdefault((budget.namespace, budget.name), (budget, []))[1].append(pod.key)
    exceeded = [(budget, pods) for _, (budget, pods) in sorted(charged.items()) if len(pods) > budget.allowed]
    if not (overlaps or exceeded):
        return None
    reasons = [f"{_name(budget)} allows {_disruptions(budget.allowed)} and matches {_victims(pods)}" for budget, pods in exceeded]
    return BlockedPreemption(listed([*reasons, *overlaps], longest=_NOTE_LENGTH), tuple(_remedy(*each) for each in exceeded))


def _remedy(budget: DisruptionBudget, pods: Sequence[str]) -> Remedy:
    identity = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "namespace": budget.namespace, "name": budget.name}
    return Remedy(f"{_name(budget)} deleted, or changed to allow {_disruptions(len(pods))}", (Step(delete=identity),))


def _name(budget: DisruptionBudget) -> str:
    return f"PodDisruptionBudget {budget.namespace}/{budget.name}"


def _disruptions(count: int) -> str:
    return f"{count} disruption{'' if count == 1 else 's'}"


def _victims(pods: Sequence[str]) -> str:
    more = len(pods) - MAX_NAMES
    names = ", ".join(pods[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"{len(pods)} victim{'' if len(pods) == 1 else 's'} ({names})"


def _joined(message: str, note: str) -> str:
    """Return *message* with *note* at its end, where a long message is cut and the note is not."""
    return f"{cut(message, 1024 - len(note) - 2)}; {note}" if message else note
