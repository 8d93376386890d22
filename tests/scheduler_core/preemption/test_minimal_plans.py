"""Smallest sets of victims on clusters worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.decision import Eviction
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.preemption.crowded import PRIORITY, budget, group, node, pod
from tests.scheduler_core.preemption.deciding import SPREAD, decide, low, proved, run, victims
from tests.scheduler_core.preemption.pending_root import gang


def test_a_gang_goes_where_one_pod_frees_capacity_for_all_of_it():
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
    """Return a node for each of *pods*, and a gang of one pod that fits nowhere."""
    created = [{**each, "spec": {**each["spec"], "nodeName": f"n{number}"}} for number, each in enumerate(pods)]
    return [*(node(f"n{number}", 2) for number in range(len(pods))), *created, *gang(1, 2)]


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


def test_that_no_plan_keeps_to_the_budgets_is_certain():
    objects = [*one_of(pod("a", 2, on="-", priority=0, app="x")), budget("x", "x", 0)]

    assert Eviction(1, 1, violating=1, proved=True) == decide(objects).preemption


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
def test_no_pod_is_preempted_where_that_does_not_help(objects):
    decision = decide(objects)

    assert (0, {}, None) == (len(decision.victims), dict(decision.nominations), decision.preemption)


def test_members_that_run_stay():
    objects = [node("n", 2), node("m", 2), pod("low", 2, on="m", priority=0), *gang(2, 2, minimum=2)]
    objects.append(pod("gang-9", 2, "gang", on="n"))

    assert ["low"] == victims(decide(objects))


def test_terminating_victims_cost_nothing():
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
