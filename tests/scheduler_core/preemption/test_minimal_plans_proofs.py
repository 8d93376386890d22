"""Proofs that a set of victims is smallest: limited effort, refused plans, and bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from scheduler_core.causes.attempts import PreemptionResult
from scheduler_core.cycle.preemptor import Preemptor, Proving
from scheduler_core.exact.complete import Complete
from scheduler_core.model.status import Status
from scheduler_core.preemption.minimal.minimal_plans import fewest_victims
from scheduler_core.preemption.victims.workload_aware import select_victims
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.preemption.crowded import group, node, pod
from tests.scheduler_core.preemption.deciding import SPREAD, decide, low, proved, victims
from tests.scheduler_core.preemption.pending_root import gang, prepared


@pytest.mark.parametrize("steps", [0, 30, 100, 20_000])
def test_with_less_effort_the_bound_still_holds(steps):
    objects = [*low(SPREAD), group("tree", 2), *(group(name, 1, parent="tree") for name in ("one", "two"))]
    objects += [pod("one-0", 2, "one"), pod("two-0", 1, "two")]
    decider, root = prepared(objects)
    proving = Proving(decider._greedy, root)
    first = select_victims(root, decider.preemptions.units(root), decider.preemptions.budgets, decider._ledger, proving)
    result = fewest_victims(root, first, proving, decider.preemptions.units(root), decider.preemptions.budgets, steps=steps)

    assert Status.SUCCESS is result.status
    assert 0 < result.lower <= 1 <= len(result.units) <= len(first.units)


def test_who_is_in_nobodys_way_stays_although_there_is_no_effort_left():
    decider, root = prepared([*low(SPREAD), *gang(2, 2)])
    proving = Proving(decider._greedy, root)
    units = decider.preemptions.units(root)
    first = select_victims(root, units, decider.preemptions.budgets, decider._ledger, proving)
    everybody = tuple(units.unit(number) for number in range(len(units)))
    result = fewest_victims(root, dataclasses.replace(first, units=everybody), proving, units, decider.preemptions.budgets, steps=0)

    assert Status.SUCCESS is result.status
    assert len(result.units) <= 2 < len(everybody)
    assert not result.proved


def test_a_plan_that_cannot_be_proved_is_refused(monkeypatch):
    decider, root = prepared([*low(SPREAD), *gang(2, 2)])
    greedy = decider._greedy
    assert isinstance(greedy, Complete)
    proving = Proving(greedy, root)
    first = select_victims(root, decider.preemptions.units(root), decider.preemptions.budgets, decider._ledger, Preemptor(greedy))
    before = greedy.state.ledger.used.copy()
    nothing = proving.place(root)
    monkeypatch.setattr(proving, "place", lambda _: nothing)
    result = fewest_victims(root, first, proving, decider.preemptions.units(root), decider.preemptions.budgets)

    assert (Status.UNSCHEDULABLE, PreemptionResult.NOT_PROVED, ()) == (result.status, result.reason, result.victims)
    assert np.array_equal(before, greedy.state.ledger.used)


def test_pods_that_keep_away_from_others_get_a_plan_too():
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    objects = [node(name, 2, **{"kubernetes.io/hostname": name}) for name in ("a", "b")]
    objects += [pod("near", 1, on="a", priority=0, app="x"), pod("high", 2, on="b", priority=200)]
    waiting = pod("gang-0", 1, "gang")
    waiting["spec"]["affinity"] = apart
    decision = decide([*objects, group("gang", 1), waiting])

    assert ["near"] == victims(decision)
    assert proved(1) == decision.preemption


def test_pods_of_which_greedy_alone_has_failed_prove_nothing():
    """The first pod takes the only node that the second fits on, although it fits on another as well."""
    with_port = [pod("first", 1, "a"), pod("second", 2, "b")]
    for each in with_port:
        each["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    gangs = [group("tree", 2), group("a", 1, parent="tree"), group("b", 1, parent="tree")]
    decision = decide([node("n0", 2), node("n1", 1), node("n2", 2), pod("low", 2, on="n2", priority=0), *gangs, *with_port])

    assert ["low"] == victims(decision)
    assert "not-searched" == decision.search.outcome
    assert decision.preemption is None or not decision.preemption.proved


def test_the_order_of_the_pods_of_a_group_does_not_matter():
    running = [pod("low-0", 2, on="n0", priority=0), pod("low-1", 1, on="n0", priority=0)]
    running += [pod(f"low-{name}{number}", 1, on=name, priority=0) for name in ("n1", "n2") for number in range(3)]
    gangs = [group("tree", 1), group("a", 2, key="rack", parent="tree"), group("b", 2, key="rack", parent="tree")]
    waiting = [pod("a-0", 1, "a"), pod("a-1", 2, "a"), pod("b-0", 2, "b"), pod("b-1", 1, "b")]
    decision = decide([*(node(f"n{number}", 3, rack=f"r{number}") for number in range(3)), *running, *gangs, *waiting])

    assert ["low-0", "low-1"] == victims(decision)
    assert proved(2) == decision.preemption


def test_greedy_says_nothing_of_how_good_its_victims_are():
    assert decide([*low(SPREAD), *gang(2, 2)], "greedy").preemption is None


def crammed(count: int) -> Objects:
    """Return a node full of *count* pods of 1 to 3 CPU, more than can be tried in all sets."""
    sizes = [1 + number % 3 for number in range(count)]
    return [node("n", sum(sizes)), *(pod(f"low-{number:02}", size, on="n", priority=0) for number, size in enumerate(sizes))]


@pytest.mark.parametrize(("cpu", "want"), [(1, 1), (3, 1), (4, 2), (9, 3), (10, 4)])
def test_on_a_node_with_many_pods_the_large_ones_leave(cpu, want):
    decision = decide([*crammed(12), *gang(1, cpu)])

    assert proved(want) == decision.preemption


def test_a_large_gang_takes_the_units_that_give_back_most():
    objects = [node(f"n{number:02}", 4) for number in range(30)]
    objects += [
        pod(f"low-{number:02}-{part}", 2 if number < 10 else 1, on=f"n{number:02}", priority=0)
        for number in range(30)
        for part in range(2 if number < 10 else 4)
    ]
    decision = decide([*objects, *gang(24, 2)])

    assert proved(20 + 8) == decision.preemption


@pytest.mark.parametrize(("nodes", "pods", "want"), [(40, 4, 100), (120, 4, 300), (40, 8, 100)])
def test_a_large_gang_of_two_shapes_gets_the_fewest_victims(nodes, pods, want):
    objects = [node(f"n{number:03}", pods) for number in range(nodes)]
    objects += [pod(f"low-{number:03}-{part}", 1, on=f"n{number:03}", priority=0) for number in range(nodes) for part in range(pods)]
    count = nodes if pods == 4 else 40
    mixed = [pod(f"gang-{number:03}", 3 if number % 2 else 2, "gang") for number in range(count)]

    assert proved(want) == decide([*objects, group("gang", count), *mixed]).preemption


def test_a_bound_that_sums_do_not_give_is_found_by_trying_all_sets():
    objects = [node(name, 4) for name in ("a", "b")]
    objects += [pod(f"{name}-{part}", 2, on=name, priority=0) for name in ("a", "b") for part in range(2)]
    decision = decide([*objects, group("gang", 2), pod("gang-0", 3, "gang"), pod("gang-1", 3, "gang", memory="1Gi")])

    assert proved(4) == decision.preemption


def test_with_equal_highest_priorities_the_lower_sum_leaves():
    priorities = {"a": 10, "b": 5, "c": 10, "d": 0}
    objects = [node(name, 2, rack="r1" if name in "ab" else "r2") for name in priorities]
    objects += [pod(f"low-{name}", 2, on=name, priority=priority) for name, priority in priorities.items()]

    assert ["low-c", "low-d"] == victims(decide([*objects, *gang(2, 2, "rack")]))
