"""Victims are the fewest: against trying all sets of units, and on clusters worked out by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cycle.preemptor import Preemptor, Proving
from scheduler_core.cycle.run_cycle import CycleOptions, Result, run_cycle
from scheduler_core.exact.complete import Complete
from scheduler_core.model.decision import Decision, Eviction, Status
from scheduler_core.preemption.minimal.minimal_plans import NOT_PROVED, fewest_victims
from scheduler_core.preemption.victims.workload_aware import select_victims
from tests.sampling import sampled
from tests.scheduler_core.oracle.model import Objects, read
from tests.scheduler_core.oracle.strategies import Size, clusters
from tests.scheduler_core.preemption import subsets
from tests.scheduler_core.preemption.asked import gang, prepared, snapshot
from tests.scheduler_core.preemption.crowded import PRIORITY, budget, crowded, group, node, pod

SMALL = Size(nodes=3, trees=2, depth=2, pending=2, running=2, lone=4)
slowly = settings(deadline=None, max_examples=sampled(60), suppress_health_check=list(HealthCheck))
REFUSED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)


def run(objects: Objects, strategy: str = "complete", **options: Any) -> Result:
    return run_cycle(snapshot(objects), CycleOptions(strategy=strategy, **options))


def decide(objects: Objects, strategy: str = "complete", **options: Any) -> Decision:
    return run(objects, strategy, **options).decisions[0]


def name_of(decision: Decision) -> dict[str, str]:
    return {"kind": decision.root.kind, "name": decision.root.name, "namespace": decision.root.namespace}


def victims(decision: Decision) -> list[str]:
    return [key.removeprefix("default/") for key in decision.victims]


def proved(units: int) -> Eviction:
    """So many, and it is certain that no plan is better."""
    return Eviction(units, units, proved=True)


@slowly
@given(crowded())
def test_no_set_of_units_is_better_than_the_one_chosen(objects):
    decision = decide(objects)
    if decision.status not in REFUSED:
        return
    want = subsets.best(objects, name_of(decision), PRIORITY)

    assert want == (subsets.of_victims(objects, decision.victims) if decision.victims else None)
    if want is not None:
        assert want[1] == decision.preemption.units
        assert decision.preemption.lower <= want[1]


@slowly
@given(clusters(SMALL))
def test_no_set_of_units_is_better_in_clusters_of_all_kinds(objects):
    decision = next(iter(run(objects).decisions), None)
    if decision is None or decision.root.kind == "Pod" or decision.status not in REFUSED:
        return
    root = read(objects).groups[decision.root.kind, decision.root.namespace, decision.root.name]
    want = None if root.policy == "Never" else subsets.best(objects, name_of(decision), root.priority)

    assert want == (subsets.of_victims(objects, decision.victims) if decision.victims else None)


@slowly
@given(crowded())
def test_greedy_breaks_no_fewer_units_unless_it_breaks_a_budget(objects):
    few, many = decide(objects), decide(objects, "greedy")
    if many.victims and few.status in REFUSED:
        assert subsets.of_victims(objects, few.victims)[:2] <= subsets.of_victims(objects, many.victims)[:2]


@slowly
@given(crowded())
def test_once_the_victims_have_left_the_root_is_placed(objects):
    first, *later = run(objects, evict=True).decisions
    if first.victims:
        (second,) = [each for each in later if each.root == first.root]

        assert Status.SUCCESS is second.status


@slowly
@given(crowded(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(objects, random):
    want = decide(objects)
    random.shuffle(objects)

    assert want == decide(objects)


@slowly
@given(crowded())
def test_the_ledger_is_as_it_was(objects):
    decider, root = prepared(objects)
    ledger = decider._greedy.state.ledger
    before = [ledger.used.copy(), ledger.held.copy(), ledger.scored.copy()]
    decider._preempt(root, fewest=True)

    assert all(np.array_equal(want, got) for want, got in zip(before, (ledger.used, ledger.held, ledger.scored), strict=True))


SPREAD = [
    *(node(f"n{number}", 4) for number in range(4)),
    *(pod(f"small-{number}{part}", 2, on=f"n{number}") for number in range(3) for part in "ab"),
    pod("large", 4, on="n3"),
]
"""Four full nodes: two pods on each of three, one on the last."""


def low(objects: Objects, priority: int = 0) -> Objects:
    return [{**each, "spec": {**each["spec"], "priority": priority}} if each["kind"] == "Pod" else each for each in objects]


def test_a_gang_goes_where_one_pod_makes_room_for_all_of_it():
    objects = [*low(SPREAD), *gang(2, 2)]

    assert ["large"] == victims(decide(objects))
    assert 1 < len(decide(objects, "greedy").victims)


def test_a_unit_that_leaves_anyway_is_made_use_of_on_all_its_nodes():
    objects = [
        *(node(f"n{number}", 2) for number in range(4)),
        group("low", 2, everything=True, priority=0),
        *(pod(f"low-{number}", 2, "low", on=f"n{number}", priority=0) for number in (0, 3)),
        *(pod(f"single-{number}", 2, on=f"n{number}", priority=0) for number in (1, 2)),
        *gang(2, 2),
    ]
    decision = decide(objects)

    assert ["low-0", "low-3"] == victims(decision)
    assert proved(1) == decision.preemption
    assert {"default/gang-0": "n0", "default/gang-1": "n3"} == dict(decision.nominations)


def test_optional_pods_cost_no_victims():
    objects = [node("n", 3), *(pod(f"low-{number}", on="n", priority=0) for number in range(3)), *gang(3, 1, minimum=1)]

    assert (1, 3) == (len(decide(objects).victims), len(decide(objects, "greedy").victims))


def one_of(*pods: dict[str, Any]) -> Objects:
    """A node for each of *pods*, and a gang of one that fits nowhere."""
    made = [{**each, "spec": {**each["spec"], "nodeName": f"n{number}"}} for number, each in enumerate(pods)]
    return [*(node(f"n{number}", 2) for number in range(len(pods))), *made, *gang(1, 2)]


def low_gang(name: str, size: int) -> Objects:
    members = [pod(f"{name}-{member}", 1, name, on=f"{name}-node", priority=0) for member in range(size)]
    return [node(f"{name}-node", size), group(name, 1, everything=True, priority=0), *members]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [*low_gang("three", 3), *low_gang("two", 2), *gang(1, 2)],
            ["two-0", "two-1"],
            id="of one unit each the one with fewer pods",
        ),
        pytest.param(
            one_of(pod("a", 2, on="-", priority=10), pod("b", 2, on="-", priority=5), pod("c", 2, on="-", priority=7)),
            ["b"],
            id="of one pod each the one of lowest priority",
        ),
        pytest.param(
            one_of(*(pod(name, 2, on="-", priority=0, second=second) for name, second in (("a", 3), ("b", 9), ("c", 1)))),
            ["b"],
            id="of one priority the youngest",
        ),
        pytest.param(
            one_of(*(pod(name, 2, on="-", priority=0) for name in ("b", "a", "c"))),
            ["c"],
            id="of pods alike the last by name",
        ),
        pytest.param(
            [*one_of(pod("a", 2, on="-", priority=0, app="x"), pod("b", 2, on="-", priority=90)), budget("x", "x", 0)],
            ["b"],
            id="no budget is broken where another plan exists",
        ),
        pytest.param(
            [
                *(node(name, 2) for name in ("m", "n")),
                pod("guarded", 2, on="m", priority=0, app="x"),
                *(pod(f"many-{part}", 1, on="n", priority=0) for part in "ab"),
                budget("x", "x", 0),
                *gang(1, 2),
            ],
            ["many-a", "many-b"],
            id="not even for more units",
        ),
        pytest.param(
            [*one_of(pod("a", 2, on="-", priority=0, app="x")), budget("x", "x", 0)],
            ["a"],
            id="where none exists one is broken",
        ),
        pytest.param(
            [
                *one_of(*(pod(name, 2, on="-", priority=0, app=app) for name, app in (("a", "x"), ("b", "x"), ("c", None))))[:-2],
                budget("x", "x", 1),
                *gang(2, 2),
            ],
            ["b", "c"],
            id="a budget that allows one allows no second",
        ),
    ],
)
def test_of_several_plans_the_better_one_is_taken(objects, want):
    assert want == victims(decide(objects))


@pytest.mark.parametrize("kind", ["gang", "pod"])
def test_a_pod_by_itself_and_a_gang_of_one_make_the_same_pod_leave(kind):
    objects = [*low(SPREAD), *(gang(1, 3) if kind == "gang" else [pod("alone", 3)])]
    decision = decide(objects)

    assert ["large"] == victims(decision)
    assert {"n3"} == set(decision.nominations.values())


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([*low(SPREAD), *gang(1, 5)], id="larger than a node"),
        pytest.param([*low(SPREAD, PRIORITY), *gang(1, 2)], id="among pods of the same priority"),
        pytest.param([*low(SPREAD), *gang(9, 2)], id="more than all nodes hold"),
    ],
)
def test_nobody_leaves_where_that_does_not_help(objects):
    decision = decide(objects)

    assert (0, {}, None) == (len(decision.victims), dict(decision.nominations), decision.preemption)


def test_members_that_run_stay():
    objects = [node("n", 2), node("m", 2), pod("low", 2, on="m", priority=0), *gang(2, 2, minimum=2)]
    objects.append(pod("gang-9", 2, "gang", on="n"))

    assert ["low"] == victims(decide(objects))


def test_whoever_is_leaving_already_costs_nothing():
    leaving = pod("leaving", 2, on="n1", priority=0)
    leaving["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:09Z"
    objects = [node("n0", 2), node("n1", 2), pod("low", 2, on="n0", priority=0), leaving, *gang(1, 2)]
    decision = decide(objects)

    assert ([], {"default/gang-0": "n1"}) == (victims(decision), dict(decision.nominations))


def test_a_root_makes_no_use_of_victims_of_the_root_before_it():
    objects = [node("n0", 2), node("n1", 2), *(pod(f"low-{number}", 2, on=f"n{number}", priority=0) for number in range(2))]
    objects += [group("first", 1), pod("first-0", 2, "first"), group("second", 1), pod("second-0", 2, "second")]
    first, second = run(objects).decisions

    assert [["low-1"], ["low-0"]] == [victims(first), victims(second)]


def test_a_domain_is_chosen_for_how_few_must_leave():
    objects = [node("a", 4, rack="r1"), node("b", 4, rack="r2"), node("c", 2, rack="r2")]
    objects += [pod(f"a-{number}", on="a", priority=0) for number in range(4)]
    objects += [pod("b-0", 2, on="b", priority=0), pod("b-1", 2, on="b", priority=200), pod("c-0", 1, on="c", priority=0)]
    decision = decide([*objects, *gang(2, 2, "rack")])

    assert ["b-0", "c-0"] == victims(decision)
    assert proved(2) == decision.preemption


@pytest.mark.parametrize("steps", [0, 30, 100, 20_000])
def test_with_less_effort_the_bound_still_holds(steps):
    objects = [*low(SPREAD), group("tree", 2), *(group(name, 1, parent="tree") for name in ("one", "two"))]
    objects += [pod("one-0", 2, "one"), pod("two-0", 1, "two")]
    decider, root = prepared(objects)
    proving = Proving(decider._greedy, root)
    first = select_victims(root, decider._units(), decider._budgets, decider._ledger, proving)
    found = fewest_victims(root, first, proving, decider._units(), decider._budgets, steps=steps)

    assert Status.SUCCESS is found.status
    assert 0 < found.lower <= 1 <= len(found.units) <= len(first.units)


def test_who_is_in_nobodys_way_stays_although_there_is_no_effort_left():
    decider, root = prepared([*low(SPREAD), *gang(2, 2)])
    proving = Proving(decider._greedy, root)
    units = decider._units()
    first = select_victims(root, units, decider._budgets, decider._ledger, proving)
    everybody = tuple(units.unit(number) for number in range(len(units)))
    found = fewest_victims(root, dataclasses.replace(first, units=everybody), proving, units, decider._budgets, steps=0)

    assert Status.SUCCESS is found.status
    assert len(found.units) <= 2 < len(everybody)
    assert not found.proved


def test_a_plan_that_cannot_be_proved_is_refused(monkeypatch):
    decider, root = prepared([*low(SPREAD), *gang(2, 2)])
    greedy = decider._greedy
    assert isinstance(greedy, Complete)
    proving = Proving(greedy, root)
    first = select_victims(root, decider._units(), decider._budgets, decider._ledger, Preemptor(greedy))
    before = greedy.state.ledger.used.copy()
    nothing = proving.place(root)
    monkeypatch.setattr(proving, "place", lambda _: nothing)
    found = fewest_victims(root, first, proving, decider._units(), decider._budgets)

    assert (Status.UNSCHEDULABLE, NOT_PROVED, ()) == (found.status, found.message, found.victims)
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
    """The first takes the only node that the second fits on, though it fits on another as well."""
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
    """A node full of *count* pods of 1 to 3 CPU, more than are looked at in all sets."""
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
