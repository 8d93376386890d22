"""Cost of capacity in one domain, compared with trying all units."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.bounds.cost_table import INFINITE, LARGEST_GRID, TooLargeError
from scheduler_core.preemption.bounds.domain_cost import DomainCost
from scheduler_core.preemption.bounds.node_cost import ShapeRequests, UnitCosts
from scheduler_core.preemption.minimal.eviction_problem import PlanProblem
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.group_domains import DomainArea
from scheduler_core.preemption.plans.kinds import Kinds
from tests.scheduler_core.preemption.crowded import group, node, pod
from tests.scheduler_core.preemption.pending_root import low, task

NOBODY: frozenset[int] = frozenset()


@dataclasses.dataclass
class Scene:
    """Gang of two shapes, of one and of two CPU, without a constraint; units by the names of their first pods."""

    problem: PlanProblem
    scope: DomainCost
    area: DomainArea
    called: dict[str, int]

    def cost(self, counts: Any, leaving: Any = (), staying: Any = ()) -> int:
        return self.scope.table(self.area, *self.state(leaving, staying)).cost_of(counts)

    def state(self, leaving: Any = (), staying: Any = ()) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(self.called[name] for name in leaving), frozenset(self.called[name] for name in staying)

    def leavers(self, counts: Any, leaving: Any = (), staying: Any = ()) -> list[str]:
        state = self.state(leaving, staying)
        result = [
            unit
            for at, choice, path in self.scope.table(self.area, *state).trace(counts)
            for unit in self.scope.victims(at, choice.units[path], *state)
        ]
        return sorted(name for name, unit in self.called.items() if unit in result)


def scene(objects: Any, most: tuple[int, int] = (4, 4), weights: dict[str, int] | None = None, effort: int = 10**6) -> Scene:
    waiting = [group("gang", 2), pod("gang-0", 1, "gang"), pod("gang-1", 2, "gang")]
    problem = task([*objects, *waiting])
    called = {problem.units.unit(number).pods[0].name: number for number in problem.candidates.tolist()}
    prices = UnitCosts(
        {number: (weights or {}).get(name, 10) for name, number in called.items()}, {number: number for number in called.values()}
    )
    nodes = np.arange(len(problem.requirements.state.nodes))
    kinds = Kinds(problem.requirements.required)
    scope = DomainCost(ShapeRequests(problem.requirements.state, kinds.shapes), problem.shortage, nodes, most, prices, Effort(effort))
    return Scene(problem, scope, DomainArea(0, nodes, {}), called)


_nodes = st.lists(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), max_size=3), min_size=1, max_size=3)


@given(_nodes, st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_no_units_make_as_much_capacity_for_less(nodes, wanted):
    sizes = [max(1, sum(size for size, _ in each)) for each in nodes]
    objects = [node(f"n{number}", size) for number, size in enumerate(sizes)]
    weights = {}
    for number, each in enumerate(nodes):
        for part, (size, weight) in enumerate(each):
            objects.append(low(f"x{number}{part}", size, f"n{number}"))
            weights[f"x{number}{part}"] = weight
    free = [size - sum(each for each, _ in units) for size, units in zip(sizes, nodes, strict=True)]
    where = {f"x{number}{part}": (number, size) for number, each in enumerate(nodes) for part, (size, _) in enumerate(each)}
    costs = []
    for chosen in itertools.chain.from_iterable(itertools.combinations(where, size) for size in range(len(where) + 1)):
        capacity = [have + sum(size for name in chosen for at, size in [where[name]] if at == number) for number, have in enumerate(free)]
        if any(
            sum(larges) >= wanted[1] and sum(have - 2 * large for have, large in zip(capacity, larges, strict=True)) >= wanted[0]
            for larges in itertools.product(*(range(have // 2 + 1) for have in capacity))
        ):
            costs.append(sum(weights[name] for name in chosen))
    result = scene(objects, (2, 2), weights)
    want = min(costs, default=INFINITE)

    assert want == result.cost(wanted)
    if want < INFINITE:
        assert want == sum(weights[name] for name in result.leavers(wanted))


TWO = [node("a", 2), node("b", 2), low("x0", 1, "a"), low("x1", 1, "a"), low("y", 2, "b")]


@pytest.mark.parametrize(
    ("leaving", "staying", "want"),
    [
        pytest.param((), (), 10, id="one unit of two"),
        pytest.param(("y",), (), 0, id="who leaves costs nothing"),
        pytest.param(("x0",), (), 10, id="part of what is needed may have left"),
        pytest.param((), ("y",), 20, id="who stays is in the way"),
        pytest.param(("x1",), ("y",), 10, id="both"),
        pytest.param((), ("y", "x0"), INFINITE, id="there may be nobody left"),
    ],
)
def test_capacity_for_a_pod_of_two_cpu_costs(leaving, staying, want):
    result = scene(TWO)

    assert want == result.cost((0, 1), leaving, staying)
    if want < INFINITE:
        leavers = result.leavers((0, 1), leaving, staying)

        assert want == 10 * len(leavers)
        assert {*leavers}.isdisjoint((*leaving, *staying))


def test_a_unit_on_two_nodes_costs_half_on_each():
    objects = [
        node("a", 2),
        node("b", 2),
        node("c", 2),
        group("g", 1, everything=True, priority=0),
        low("xa", 2, "a", "g"),
        low("xb", 2, "b", "g"),
    ]
    result = scene([*objects, low("x", 2, "c")], weights={"xa": 11})
    shares = [result.scope.share(result.called["xa"], number) for number in (0, 1)]

    assert ([6, 5], [5, 11, 21]) == (shares, [result.cost((0, count)) for count in (1, 2, 3)])


def test_of_nodes_alike_no_more_are_examined_than_pods_can_use():
    objects = [node(f"n{number}", 2) for number in range(40)]
    objects += [low(f"x{number}", 2, f"n{number}") for number in range(40)]
    weights = {f"x{number}": 100 - number for number in range(40)}
    result = scene(objects, (1, 1), weights)

    assert [61, 61 + 62] == [result.cost(counts) for counts in ((0, 1), (1, 1))]
    assert 2 == len(list(result.scope.table(result.area, NOBODY, NOBODY).trace((1, 1))))


def test_the_units_of_an_area_are_those_that_can_be_in_the_way_there():
    objects = [node("a", 2), node("b", 9), node("c", 2), *(low(f"x{name}", 2, name) for name in "abc")]
    result = scene(objects, (1, 1))

    assert {result.called["xa"]} == result.scope.units_of(DomainArea(5, np.array([0, 1]), {}))
    assert {result.called["xa"], result.called["xc"]} == result.scope.units_of(result.area)


@pytest.mark.parametrize(("most", "want"), [((255, 255), True), ((256, 255), False)])
def test_a_table_that_would_be_too_large_is_not_made(most, want):
    result = scene([*(node(name, 300) for name in "abc"), *(low(f"x{name}", 300, name) for name in "abc")], most)
    assert LARGEST_GRID == 256 * 256

    assert want == result.scope.is_small(result.area)
    if want:
        assert 10 == result.cost((1, 0))
    else:
        with pytest.raises(TooLargeError):
            result.cost((1, 0))


def test_looking_at_nodes_takes_effort():
    with pytest.raises(EffortSpentError):
        scene(TWO, effort=100)
    result = scene(TWO, effort=130)
    with pytest.raises(EffortSpentError):
        result.cost((0, 1))
