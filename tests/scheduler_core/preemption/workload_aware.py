"""Selecting victims for a root, with the check that the ledger is unchanged; random running pods."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from scheduler_core.preemption.result import Preemption
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.victims.workload_aware import select_victims
from tests.scheduler_core.preemption.scene import (
    FirstFit,
    Outcome,
    composite,
    leaf,
    ledger_of,
    node_table,
    pod,
    units_of,
)

PORT = (("TCP", "0.0.0.0", 80),)


def select(preemptor, pods, cpus, *, groups=(), priorities=None, budgets=(), leaving=frozenset(), room=110) -> Preemption[Outcome]:
    """Select victims, and assert that nothing else has changed."""
    nodes = node_table(cpus, room)
    ledger = ledger_of(nodes, pods)
    used, versions, ports = ledger.used.copy(), ledger.versions.copy(), {node: dict(in_use) for node, in_use in ledger.ports.items()}
    placer = FirstFit(ledger, pods)

    result = select_victims(preemptor, units_of(pods, groups, priorities), DisruptionBudgets(budgets), ledger, placer, leaving)

    assert np.array_equal(used, ledger.used)
    assert np.array_equal(versions, ledger.versions)
    assert ports == ledger.ports
    assert placer.away == set()
    return result


PODS = st.lists(
    st.builds(
        dict,
        node=st.integers(0, 3),
        priority=st.integers(0, 4),
        cpu=st.sampled_from([0, 500, 1000, 1500]),
        group=st.sampled_from(["", "", "all", "single", "under"]),
        app=st.sampled_from(["", "a", "b"]),
        started=st.sampled_from(["", "2026-08-01T00:00:00Z", "2026-08-01T00:00:00.5Z", "2026-08-01T01:00:00+01:00"]),
        ports=st.sampled_from([(), (), PORT]),
    ),
    max_size=10,
)
GROUPS = [leaf("all", "all"), leaf("single", "single"), leaf("under", "single", "top"), composite("top", "all")]
PRIORITIES = {"all": 1, "single": 3, "top": 2}
BUDGETS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([{"app": "a"}, {"app": "b"}, {}])), max_size=3)


def running(members):
    return [
        pod(
            f"p{index:02}",
            each["node"],
            each["priority"],
            each["cpu"],
            group=each["group"],
            labels={"app": each["app"]} if each["app"] else {},
            started=each["started"],
            ports=each["ports"],
        )
        for index, each in enumerate(members)
    ]
