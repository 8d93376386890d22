"""Selecting victims for a pod without a group, with the check that the ledger is unchanged."""

from __future__ import annotations

import numpy as np

from scheduler_core.preemption.result import Preemption
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.victims.default_preemption import PodPreemption
from tests.scheduler_core.preemption.scene import FirstFit, ledger_of, node_table, units_of


def select(
    preemptor, pods, cpus, *, groups=(), priorities=None, budgets=(), leaving=frozenset(), room=110, where=None, related=False
) -> Preemption[None]:
    """Select victims, and assert that nothing else has changed."""
    nodes = node_table(cpus, room)
    ledger = ledger_of(nodes, pods)
    used = ledger.used.copy()
    surroundings = FirstFit(ledger, pods)
    chooser = PodPreemption(units_of(pods, groups, priorities), DisruptionBudgets(budgets), ledger)

    candidates = nodes.everything if where is None else np.array(where, dtype=np.int64)
    result = chooser.select_victims(preemptor, candidates, surroundings if related else None, leaving)

    assert np.array_equal(used, ledger.used)
    assert surroundings.away == set()
    return result
