"""Cost of capacity on nodes."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.preemption.bounds.node_cost import ShapeRequests, UnitCosts, candidate_nodes
from tests.scheduler_core.preemption.asked import gang, low, task
from tests.scheduler_core.preemption.crowded import group, node, pod


def looked(objects, most=(9,), weights=None):
    """Return capacity and shares by node; units by the name of their first pod."""
    found = task(objects)
    called = {number: found.units.unit(number).pods[0].name for number in found.candidates.tolist()}
    shapes = found.requirements.required.ways[0]
    prices = UnitCosts({number: (weights or {}).get(name, 12) for number, name in called.items()}, dict.fromkeys(called, 0))
    needs = ShapeRequests(found.requirements.state, [shape for shape, _ in shapes])
    made, shares = candidate_nodes(needs, found.shortage, np.arange(len(found.requirements.state.nodes)), most, prices)
    return made, {(called[unit], node): share for (unit, node), share in shares.items()}, called


def test_only_resources_that_can_be_short_matter():
    objects = [node("a", 4), low("small", 1, "a"), low("large", 3, "a"), *gang(1, 2)]
    made, shares, called = looked(objects)
    (spot,) = made.values()

    assert ((2,), 1, (0,)) == (spot.most, len(spot.rows), spot.free)
    assert {("small", 0): 12, ("large", 0): 12} == shares
    assert {"small": (1000,), "large": (3000,)} == {called[unit]: need for unit, _, need in spot.units}
    assert spot.alone


def test_where_there_is_enough_for_all_nobody_is_in_the_way():
    made, shares, _ = looked([node("a", 9), low("some", 1, "a"), *gang(2, 2)], most=(2,))
    (spot,) = made.values()

    assert ((2,), (), (), ()) == (spot.most, spot.rows, spot.free, spot.units)
    assert {} == shares


def test_a_node_that_holds_nothing_is_left_out():
    made, _, _ = looked([node("a", 1), node("b", 4), low("a", 1, "a"), low("b", 4, "b"), *gang(1, 2)])

    assert [1] == sorted(made)


def test_a_unit_on_several_nodes_costs_its_share_on_each_where_it_is_in_the_way():
    objects = [node(name, 2) for name in "abcd"] + [node("e", 1)]
    objects += [group("g", 1, everything=True, priority=0), *(low(f"g{name}", 2, name, "g") for name in "abc"), low("ge", 1, "e", "g")]
    objects += [low("d", 2, "d"), *gang(2, 2)]
    made, shares, _ = looked(objects, weights={"ga": 14})

    assert {("ga", 0): 14 - 2 * 4, ("ga", 1): 4, ("ga", 2): 4, ("d", 3): 12} == shares
    assert [False, False, False, True] == [made[number].alone for number in range(4)]


@pytest.mark.parametrize("rank", [0, 1])
def test_of_units_that_cost_the_same_those_of_the_lowest_rank_come_first(rank):
    found = task([node("a", 2), low("x", 1, "a"), low("y", 1, "a"), *gang(1, 2)])
    numbers = found.candidates.tolist()
    prices = UnitCosts(dict.fromkeys(numbers, 5), {numbers[0]: rank, numbers[1]: 1 - rank})
    needs = ShapeRequests(found.requirements.state, [found.requirements.required.ways[0][0][0]])
    made, _ = candidate_nodes(needs, found.shortage, np.arange(1), (1,), prices)

    assert [numbers[rank], numbers[1 - rank]] == [unit for unit, _, _ in made[0].units]
    assert 0 == made[0].rank


def test_a_node_that_a_pod_may_not_use_is_none_for_it():
    chosen = pod("gang-0", 2, "gang")
    chosen["spec"]["nodeSelector"] = {"rack": "r2"}
    objects = [node("a", 2, rack="r1"), node("b", 2, rack="r2"), low("x", 2, "a"), low("y", 2, "b"), group("gang", 1), chosen]
    made, shares, _ = looked(objects)

    assert [1] == sorted(made)
    assert {("y", 1): 12} == shares
