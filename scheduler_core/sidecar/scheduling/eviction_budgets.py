"""Disruption budgets that forbid the evictions of a preemption plan.

The eviction API refuses a pod that matches two budgets, and a pod whose budget allows no further disruption.  Evictions of one plan use up
the same budget, which no dry run of single evictions shows.  So they are counted here before the first of them is sent.  No budget protects
a pod that has not started; an unready pod is protected only by a budget that lacks healthy pods, unless its policy is AlwaysAllow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from kubeapi.base_structs import as_dict
from scheduler_core.causes.changes import DeletedBudgets
from scheduler_core.causes.live import (
    BudgetConflict,
    EvictionRefused,
    EvictionsBlocked,
    ExceededBudget,
    LiveCause,
    OverlappingBudgets,
)
from scheduler_core.model.decision import Decision, Remedy, Step
from scheduler_core.model.names import Name
from scheduler_core.model.pods import Health, PodRecord
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets


@dataclasses.dataclass(frozen=True, slots=True)
class BlockedPreemption:
    """Reason why the victims of a decision are not evicted, and changes to budgets that would allow it."""

    by: EvictionRefused | tuple[BudgetConflict, ...]
    remedies: tuple[Remedy, ...] = ()

    def added_to(self, decision: Decision, retry_seconds: float) -> Decision:
        """Return *decision* with the reason in the causes of the root, its unplaced groups and its pods, and with the remedies."""
        # Once the budgets allow it, the root still waits for its victims to be evicted.
        remedies = (*(dataclasses.replace(each, then=decision.status) for each in self.remedies), *decision.remedies)
        return with_note(dataclasses.replace(decision, remedies=remedies), EvictionsBlocked(self.by, retry_seconds))


def with_note(decision: Decision, note: LiveCause) -> Decision:
    """Return *decision* with *note* in the causes of the root and its pods, and in the notes of its groups."""
    return dataclasses.replace(
        with_noted_groups(decision, note),
        causes=(note, *decision.causes),
        pending={pod: (*causes, note) for pod, causes in decision.pending.items()},
    )


def with_noted_groups(decision: Decision, note: LiveCause) -> Decision:
    """Return *decision* with *note* in the notes of its groups only."""
    groups = tuple(dataclasses.replace(group, notes=(*group.notes, note)) for group in decision.groups)
    return dataclasses.replace(decision, groups=groups)


def blocked_preemption(budgets: Iterable[DisruptionBudget], victims: Sequence[PodRecord]) -> BlockedPreemption | None:
    """Return why *budgets* forbid to evict all *victims*; None if they allow it."""
    matching = DisruptionBudgets(budgets)
    started = [pod for pod in victims if pod.health is not Health.STARTING]
    protected = [(pod, matching.budgets_of(pod)) for pod in sorted(started, key=lambda pod: pod.key)]
    by_name = {_name(budget): budget for _, protecting in protected for budget in protecting}
    charged: dict[Name, list[str]] = {name: [] for name in sorted(by_name, key=_in_order)}
    for pod, protecting in protected:
        for budget in protecting:
            if pod.name not in budget.disrupted and _protects(budget, pod):
                charged[_name(budget)].append(pod.key)
    exceeded = {name: pods for name, pods in charged.items() if len(pods) > by_name[name].allowed}
    conflicts: tuple[BudgetConflict, ...] = (
        *(ExceededBudget(name, by_name[name].allowed, tuple(pods)) for name, pods in exceeded.items()),
        *(OverlappingBudgets(pod.key, tuple(map(_name, protecting))) for pod, protecting in protected if len(protecting) > 1),
    )
    if not conflicts:
        return None
    return BlockedPreemption(conflicts, (_remedy(exceeded, [each for _, each in protected]),))


def _protects(budget: DisruptionBudget, pod: PodRecord) -> bool:
    """Return whether the eviction of *pod*, which has started, is counted."""
    return pod.health is Health.READY or (budget.spares_unready and not budget.healthy)


def _remedy(exceeded: Mapping[Name, Sequence[str]], protecting: Iterable[Sequence[DisruptionBudget]]) -> Remedy:
    """Return the removal of budgets after which every victim has one budget at most, which allows its eviction."""
    removed = set(exceeded)
    for budgets in protecting:
        removed.update([name for name in map(_name, budgets) if name not in removed][1:])
    deleted = tuple(sorted(removed, key=_in_order))
    (disruptions,) = map(len, exceeded.values()) if len(removed) == len(exceeded) == 1 else (0,)
    return Remedy(
        DeletedBudgets(deleted, disruptions),
        tuple(Step(delete={"apiVersion": "policy/v1", **as_dict(each)}) for each in deleted),
    )


def _name(budget: DisruptionBudget) -> Name:
    return Name("PodDisruptionBudget", budget.namespace, budget.name)


def _in_order(budget: Name) -> str:
    return f"{budget.namespace}/{budget.name}"
