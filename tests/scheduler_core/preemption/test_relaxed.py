"""Lower bound of the cost of a root if units may be preempted in part."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.bounds.cost_table import INFINITE
from scheduler_core.preemption.bounds.domain_cost import DomainCost
from scheduler_core.preemption.bounds.node_cost import ShapeRequests, UnitCosts
from scheduler_core.preemption.bounds.relaxed import Relaxation
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.group_domains import areas
from scheduler_core.preemption.plans.kinds import Kinds
from tests.scheduler_core.preemption.crowded import group, node, pod
from tests.scheduler_core.preemption.pending_root import gang, low, task, tree


class Scene:
    """Root without a constraint; every unit costs 60."""

    def __init__(self, objects, effort=10**6):
        problem = task(objects)
        question, expected = problem.requirements, problem.requirements.required
        self.effort = Effort(effort)
        self.called = {problem.units.unit(number).pods[0].name: number for number in problem.candidates.tolist()}
        prices = UnitCosts(dict.fromkeys(self.called.values(), 60), {number: number for number in self.called.values()})
        (domain,) = question.domains
        kinds = Kinds(expected)
        scope = DomainCost(
            ShapeRequests(question.state, kinds.shapes), problem.shortage, domain.nodes, kinds.most(expected), prices, self.effort
        )
        self.relaxed = Relaxation(expected, kinds, areas(question.state, expected, domain, self.effort), scope, self.effort)

    def least(self, leaving=(), staying=(), limit=INFINITE):
        """Return the cost, and the number of nodes on which each unit is used."""
        result = self.relaxed.least(*self._state(leaving, staying), limit)
        names = {number: name for name, number in self.called.items()}
        return None if result is None else (result[0], {names[unit]: len(nodes) for unit, nodes in result[1].items()})

    def bound(self, leaving=(), staying=()):
        return self.relaxed.bound(*self._state(leaving, staying))

    def _state(self, leaving, staying):
        return frozenset(self.called[name] for name in leaving), frozenset(self.called[name] for name in staying)


WIDE = [
    *(node(f"{rack}{number}", 2, rack=rack) for rack in ("r1", "r2") for number in range(2)),
    group("g", 1, everything=True, priority=0),
    group("h", 1, everything=True, priority=0),
    *(low(f"xg{rack}", 2, f"{rack}0", "g") for rack in ("r1", "r2")),
    *(low(f"xh{rack}", 2, f"{rack}1", "h") for rack in ("r1", "r2")),
    *tree({"one": (2, 2)}),
]
"""Cluster of two racks of two nodes, a gang on the first node of each and a gang on the second."""


@pytest.mark.parametrize(
    ("leaving", "staying", "want"),
    [
        pytest.param((), (), (60, {"xgr1": 1, "xhr1": 1}), id="half of each, which they are not to be had for"),
        pytest.param(("xgr1",), (), (30, {"xhr1": 1}), id="who leaves costs nothing more, and is not named"),
        pytest.param(("xgr1", "xhr1"), (), (0, {}), id="nothing once all have left"),
        pytest.param((), ("xgr1",), None, id="there is no way past who stays"),
    ],
)
def test_two_pods_in_one_rack_cost(leaving, staying, want):
    assert want == Scene(WIDE).least(leaving, staying)


def test_what_is_not_below_the_limit_is_not_reported():
    scene = Scene(WIDE)

    assert [None, 60, None, 60] == [result and result[0] for result in (scene.least(limit=limit) for limit in (60, 61, 1, INFINITE))]


def test_the_bound_lets_pods_of_one_group_go_apart():
    objects = [node("a", 2, rack="r1"), node("b", 2, rack="r2"), node("c", 4, rack="r3"), low("xa", 2, "a"), low("xb", 2, "b")]
    objects += [low("xc", 2, "c"), low("xd", 2, "c", priority=200), *tree({"one": (1, 2), "two": (2, 2)})]
    scene = Scene(objects)

    assert (180, None) == (scene.bound(), scene.least())
    assert 120 == scene.bound(leaving=("xa",))


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        pytest.param({"one": (1, 4), "two": (2, 2)}, 120, id="each in a rack of its own"),
        pytest.param({"one": (1, 1), "two": (1, 1), "three": (1, 2)}, 60, id="all in one"),
        pytest.param({"one": (3, 1), "two": (1, 1), "three": (1, 4)}, 120, id="some together"),
    ],
)
def test_groups_are_divided_among_racks_at_the_least_cost(sizes, want):
    objects = [node(f"n{number}", 4, rack=f"r{number}") for number in range(3)]
    objects += [low(f"x{number}", 4, f"n{number}") for number in range(3)]
    cost, used = Scene([*objects, *tree(sizes)]).least()

    assert (want, want) == (cost, 60 * len(used))


@pytest.mark.parametrize("zones", ["aabbc", "aaaac"], ids=["a zone for each composite", "one zone for both"])
def test_composites_are_divided_among_zones_and_their_gangs_among_racks(zones):
    objects = [node(f"n{number}", 2 if number < 4 else 1, zone=zone, rack=f"r{number}") for number, zone in enumerate(zones)]
    objects += [low(f"x{number}", 2, f"n{number}") for number in range(4)]
    objects.append(group("tree", 2))
    for number in range(2):
        objects.append(group(f"tree{number}", 2, key="zone", parent="tree"))
        for child in range(2):
            name = f"leaf{number}{child}"
            objects += [group(name, 1, key="rack", parent=f"tree{number}"), pod(f"{name}-0", 2, name)]

    assert (240, {f"x{number}": 1 for number in range(4)}) == Scene(objects).least()
    assert None is Scene(objects).least(staying=("x3",))


def test_pods_without_a_rack_use_nodes_that_have_none():
    objects = [node("a", 2, rack="r1"), node("b", 2), low("xa", 2, "a"), group("tree", 2), group("one", 1, key="rack", parent="tree")]
    objects += [group("two", 1, parent="tree"), pod("one-0", 2, "one"), pod("two-0", 2, "two")]

    assert (60, {"xa": 1}) == Scene(objects).least()


def test_what_was_found_below_a_limit_is_found_again_below_a_higher_one():
    scene = Scene([*WIDE, node("r30", 4, rack="r3"), low("y", 4, "r30")])

    assert [None, 60, 30] == [result and result[0] for result in (scene.least(limit=60), scene.least(), scene.least(leaving=("xgr1",)))]
    assert (60, {"y": 1}) == scene.least(staying=("xgr1",))


@pytest.mark.parametrize("objects", [WIDE, [node("a", 2), low("x", 2, "a"), *gang(1, 2)]], ids=["a tree", "a gang"])
def test_looking_takes_effort(objects):
    scene = Scene(objects)
    scene.effort.renew(30)

    with pytest.raises(EffortSpentError):
        scene.least()
