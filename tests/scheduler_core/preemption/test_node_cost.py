"""Cost of capacity on nodes."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.preemption.bounds.node_cost import ShapeRequests, UnitCosts, candidate_nodes
from tests.scheduler_core.preemption.crowded import group, node, pod
from tests.scheduler_core.preemption.pending_root import gang, low, task


def node_costs(objects, most=(9,), weights=None):
    """Return capacity and shares by node; units by the name of their first pod."""
    result = task(objects)
    called = {number: result.units.unit(number).pods[0].name for number in result.candidates.tolist()}
    shapes = result.requirements.required.ways[0]
    prices = UnitCosts({number: (weights or {}).get(name, 12) for number, name in called.items()}, dict.fromkeys(called, 0))
    needs = ShapeRequests(result.requirements.state, [shape for shape, _ in shapes])
    created, shares = candidate_nodes(needs, result.shortage, np.arange(len(result.requirements.state.nodes)), most, prices)
    return created, {(called[unit], node): share for (unit, node), share in shares.items()}, called


def test_only_resources_that_can_be_short_matter():
    objects = [node("a", 4), low("small", 1, "a"), low("large", 3, "a"), *gang(1, 2)]
    created, shares, called = node_costs(objects)
    (spot,) = created.values()

    assert ((2,), 1, (0,)) == (spot.most, len(spot.rows), spot.free)
    assert {("small", 0): 12, ("large", 0): 12} == shares
    assert {"small": (1000,), "large": (3000,)} == {called[unit]: need for unit, _, need in spot.units}
    assert spot.alone


def test_where_there_is_enough_for_all_nobody_is_in_the_way():
    created, shares, _ = node_costs([node("a", 9), low("some", 1, "a"), *gang(2, 2)], most=(2,))
    (spot,) = created.values()

    assert ((2,), (), (), ()) == (spot.most, spot.rows, spot.free, spot.units)
    assert {} == shares


def test_a_node_that_holds_nothing_is_left_out():
    created, _, _ = node_costs([node("a", 1), node("b", 4), low("a", 1, "a"), low("b", 4, "b"), *gang(1, 2)])

    assert [1] == sorted(created)


def test_a_unit_on_several_nodes_costs_its_share_on_each_where_it_is_in_the_way():
    objects = [node(name, 2) for name in "abcd"] + [node("e", 1)]
    objects += [group("g", 1, everything=True, priority=0), *(low(f"g{name}", 2, name, "g") for name in "abc"), low("ge", 1, "e", "g")]
    objects += [low("d", 2, "d"), *gang(2, 2)]
    created, shares, _ = node_costs(objects, weights={"ga": 14})

    assert {("ga", 0): 14 - 2 * 4, ("ga", 1): 4, ("ga", 2): 4, ("d", 3): 12} == shares
    assert [False, False, False, True] == [created[number].alone for number in range(4)]


@pytest.mark.parametrize("rank", [0, 1])
def test_of_units_that_cost_the_same_those_of_the_lowest_rank_come_first(rank):
    result = task([node("a", 2), low("x", 1, "a"), low("y", 1, "a"), *gang(1, 2)])
    numbers = result.candidates.tolist()
    prices = UnitCosts(dict.fromkeys(numbers, 5), {numbers[0]: rank, numbers[1]: 1 - rank})
    needs = ShapeRequests(result.requirements.state, [result.requirements.required.ways[0][0][0]])
    created, _ = candidate_nodes(needs, result.shortage, np.arange(1), (1,), prices)

    assert [numbers[rank], numbers[1 - rank]] == [unit for unit, _, _ in created[0].units]
    assert 0 == created[0].rank


def test_a_node_that_a_pod_must_not_use_is_none_for_it():
    chosen = pod("gang-0", 2, "gang")
    chosen["spec"]["nodeSelector"] = {"rack": "r2"}
    objects = [node("a", 2, rack="r1"), node("b", 2, rack="r2"), low("x", 2, "a"), low("y", 2, "b"), group("gang", 1), chosen]
    created, shares, _ = node_costs(objects)

    assert [1] == sorted(created)
    assert {("y", 1): 12} == shares
