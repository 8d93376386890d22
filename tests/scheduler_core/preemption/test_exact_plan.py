"""Smallest set of units with proof: its result at the end, and if it stops early."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.bounds.cost_table import TooLargeError
from scheduler_core.preemption.minimal.exact_plan import ExactSearch
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from tests.scheduler_core.preemption.crowded import budget, group, node, pod
from tests.scheduler_core.preemption.pending_root import gang, low, names, task, tree


def searched(objects, *, allow_violations=False, effort=10**6):
    result = task(objects, allow_violations=allow_violations)
    return result, ExactSearch(result, result.requirements.required, Effort(effort))


def best(objects, *, allow_violations=False):
    """Return the first pods of the best units, with proof; None if there are none."""
    result, exact = searched(objects, allow_violations=allow_violations)
    exact.run()

    assert exact.proved
    assert exact.best is None or exact.lower == len(exact.best)
    return None if exact.best is None else names(result.units, exact.best)


def racks(count, cpu):
    return [node(f"n{number}", cpu, rack=f"r{number}") for number in range(count)]


def test_siblings_share_what_one_unit_gives_back():
    objects = [*racks(2, 4), low("a", 2, "n0"), low("b", 2, "n0"), low("large", 4, "n1"), *tree({"one": (1, 2), "two": (1, 2)})]

    assert ["large"] == best(objects)


def test_siblings_go_apart_where_that_is_cheaper():
    objects = [*racks(3, 3), low("a0", 1, "n0"), low("a1", 2, "n0"), low("b0", 1, "n1"), low("b1", 2, "n1"), low("c", 3, "n2")]
    objects += tree({"one": (1, 2), "two": (1, 2)})

    assert ["a1", "b1"] == best(objects)


def test_a_unit_on_several_nodes_is_paid_once():
    objects = [*racks(3, 2), group("g", 1, everything=True, priority=0), low("g0", 2, "n0", "g"), low("g1", 2, "n1", "g")]
    objects += [low("x", 2, "n2"), *gang(2, 2)]

    assert ["g0"] == best(objects)


def test_parts_of_several_units_are_no_bargain():
    # Each gang is in the way in both racks; half of each would be one unit together.
    objects = [node(f"a{number}", 2, rack="r1") for number in range(2)] + [node(f"b{number}", 2, rack="r2") for number in range(2)]
    for name in ("one", "two"):
        objects += [group(name, 1, everything=True, priority=0)]
    objects += [low("one-0", 2, "a0", "one"), low("one-1", 2, "b0", "one"), low("two-0", 2, "a1", "two"), low("two-1", 2, "b1", "two")]
    objects += [low("spare", 2, "c0"), low("spare-1", 2, "c1"), node("c0", 2, rack="r3"), node("c1", 2, rack="r3")]
    objects += tree({"one-and-only": (2, 2)})

    assert ["spare", "spare-1"] == best(objects)


def test_pods_without_topology_are_shown_next_to_those_in_racks():
    objects = [
        *racks(2, 4),
        node("loose", 2),
        low("a", 4, "n0"),
        low("b", 2, "n1", priority=5),
        low("c", 2, "n1", priority=5),
        low("d", 2, "loose"),
    ]
    objects += [group("tree", 2), group("one", 2, key="rack", parent="tree"), group("two", 1, parent="tree")]
    objects += [pod("one-0", 2, "one"), pod("one-1", 2, "one"), pod("two-0", 2, "two")]

    assert ["a", "d"] == best(objects)


def test_the_cheapest_children_make_the_quorum():
    objects = [*racks(3, 3), *(low(f"x{number}", 3, f"n{number}") for number in range(3))]
    objects += tree({"one": (3, 1), "two": (1, 3), "three": (2, 3)}, minimum=2)

    assert 2 == len(best(objects))


@pytest.mark.parametrize(
    ("units", "want"),
    [
        pytest.param([("a", 10, 0), ("b", 5, 0), ("c", 7, 0)], ["b"], id="the lowest priority"),
        pytest.param([("a", 5, 3), ("b", 5, 9), ("c", 5, 1)], ["b"], id="the youngest"),
        pytest.param([("a", 5, 3), ("b", 9, 9), ("c", 5, 1)], ["a"], id="the youngest of the lowest priority"),
    ],
)
def test_of_units_alike_leaves(units, want):
    objects = [
        *racks(3, 2),
        *(low(name, 2, f"n{number}", priority=priority, second=second) for number, (name, priority, second) in enumerate(units)),
    ]

    assert want == best([*objects, *gang(1, 2)])


def test_the_highest_priority_comes_before_the_sum_of_all():
    # One rack has 9 and 0, the other 6 and 6.
    objects = [node(f"{rack}{number}", 2, rack=rack) for rack in ("r1", "r2") for number in range(2)]
    objects += [low("a", 2, "r10", priority=9), low("b", 2, "r11"), low("c", 2, "r20", priority=6), low("d", 2, "r21", priority=6)]

    assert ["c", "d"] == best([*objects, *gang(2, 2, "rack")])


def test_it_is_the_oldest_that_counts():
    # The young one of the first rack is the youngest of all, and the old one the oldest.
    objects = [node(f"{rack}{number}", 2, rack=rack) for rack in ("r1", "r2") for number in range(2)]
    objects += [low("a", 2, "r10", second=1), low("b", 2, "r11", second=9), low("c", 2, "r20", second=4), low("d", 2, "r21", second=5)]

    assert ["c", "d"] == best([*objects, *gang(2, 2, "rack")])


def test_the_youngest_do_not_leave_where_one_of_them_is_of_a_higher_priority():
    # Both racks come to 12.
    objects = [node(f"{rack}{number}", 2, rack=rack) for rack in ("r1", "r2") for number in range(2)]
    objects += [low(name, 2, f"r1{number}", priority=6, second=1) for number, name in enumerate("ab")]
    objects += [low("c", 2, "r20", priority=9, second=8), low("d", 2, "r21", priority=3, second=9)]

    assert ["a", "b"] == best([*objects, *gang(2, 2, "rack")])


def test_where_groups_together_need_far_more_than_each_alone_that_is_found():
    # There is room for eight pods: four in one rack, the others each in a rack of its own.
    objects = [node("a", 4, rack="r0"), node("b", 4, rack="r1"), *(low(f"x{number}", 1, "b") for number in range(4))]
    objects += [node(f"c{number}", 1, rack=f"r{number + 2}") for number in range(4)]

    assert [] == best([*objects, *tree({"one": (4, 1)})])
    assert ["x0", "x1", "x2", "x3"] == best([*objects, *tree({"one": (4, 1), "two": (4, 1)})])


def test_without_breaking_a_budget_there_may_be_no_plan():
    objects = [*racks(2, 2), low("a", 2, "n0", app="x"), low("b", 2, "n1", app="x"), *gang(2, 2)]

    assert [None, ["a", "b"]] == [
        best([*objects, budget("x", "x", 1)], allow_violations=allow_violations) for allow_violations in (False, True)
    ]


def test_a_budget_keeps_the_cheapest_from_leaving_together():
    objects = [*racks(3, 2), *(low(name, 2, f"n{number}", app="x") for number, name in enumerate("ab"))]
    objects += [low("c", 2, "n2", priority=50), budget("x", "x", 1), *gang(2, 2)]

    assert "c" in best(objects)
    assert ["a", "b"] == best(objects, allow_violations=True)


def test_where_the_effort_ends_the_bound_holds_and_what_was_found_is_a_plan():
    objects = [*racks(4, 4), *(low(f"x{number}{part}", 1 + part, f"n{number}", app="x") for number in range(4) for part in range(2))]
    objects += [budget("x", "x", 5), *tree({"one": (2, 2), "two": (1, 3), "three": (1, 2)})]
    want = best(objects)
    spent = 0
    for effort in range(0, 6_000, 150):
        result, exact = searched(objects, effort=effort)
        try:
            exact.run()
        except EffortSpentError:
            spent += 1
            assert not exact.proved
        assert 0 <= exact.lower <= len(want)
        assert exact.best is None or len(exact.best) >= len(want)
        assert exact.best is None or result.is_allowed(exact.best)
    assert 0 < spent


def test_domains_that_overlap_halfway_are_not_examined():
    objects = [node("a", 2, rack="r1", zone="z1"), node("b", 2, rack="r1", zone="z2"), node("c", 2, rack="r2", zone="z1")]
    objects += [low("x", 2, "a"), low("y", 2, "b"), low("z", 2, "c")]
    objects += [group("tree", 2), group("one", 1, key="rack", parent="tree"), group("two", 1, key="zone", parent="tree")]
    objects += [pod("one-0", 1, "one"), pod("two-0", 1, "two")]
    _, exact = searched(objects)

    with pytest.raises(TooLargeError):
        exact.run()
    assert (None, False) == (exact.best, exact.proved)


def test_where_some_ways_are_not_known_nothing_is_proved():
    sizes = range(1, 12)
    objects = [node("n", sum(sizes)), *(low(f"x{size:02}", size, "n") for size in sizes), *gang(2, 9)]
    result, exact = searched(objects)
    exact.run()

    assert (False, 0) == (exact.proved, exact.lower)
    assert ["x10", "x11"] == names(result.units, exact.best)


def test_nobody_need_leave_where_there_is_capacity():
    _, exact = searched([*racks(2, 2), low("x", 2, "n0"), *gang(1, 2)])
    exact.run()

    assert (frozenset(), True) == (exact.best, exact.proved)
