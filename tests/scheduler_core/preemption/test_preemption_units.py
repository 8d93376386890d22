"""Preemption units: their pods and their priority."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.names import Name
from scheduler_core.preemption.units.preemption_units import Units
from tests.scheduler_core.preemption.scene import cases, composite, leaf, ledger_of, names, node_table, pod, units_of


@pytest.mark.parametrize("case", cases("preemptionUnit"), ids=lambda case: case["id"])
def test_the_highest_group_with_mode_all_owns_the_unit(case):
    groups = []
    for index, group in enumerate(case["chain"]):
        above = case["chain"][index + 1 :]
        make = leaf if group["kind"] == "PodGroup" else composite
        if not group.get("missing"):
            groups.append(make(group["name"], group["mode"], above[0]["name"] if above else None))
    member = pod("p", 0, group=case["chain"][0]["name"] if case["chain"] else "")

    owner = units_of([member], groups).unit(0).owner

    assert case["expect"]["unit"] == (None if owner.kind == "Pod" else f"{owner.kind}/{owner.name}")


TREE = [
    composite("root"),
    composite("whole", "all", "root"),
    leaf("one", "single", "whole"),
    leaf("two", "all", "whole"),
    leaf("apart", "single", "root"),
]
MEMBERS = [
    pod("a", 0, 1, group="one"),
    pod("b", 3, 2, group="two"),
    pod("c", 1, 3, group="apart"),
    pod("d", 1, 4, group="apart"),
    pod("e", 2, 5),
]


def unit_rows(units: Units) -> list[tuple[str, str, int, list[str]]]:
    result = [units.unit(number) for number in range(len(units))]
    return [(f"{unit.owner.kind}/{unit.owner.name}", unit.type, unit.priority, names(unit.pods)) for unit in result]


def test_a_unit_has_all_pods_below_its_owner_and_the_priority_of_the_root():
    assert [
        ("CompositePodGroup/whole", "CompositePodGroup", 70, ["a", "b"]),
        ("Pod/c", "PodGroup", 70, ["c"]),
        ("Pod/d", "PodGroup", 70, ["d"]),
        ("Pod/e", "Pod", 5, ["e"]),
    ] == unit_rows(units_of(MEMBERS, TREE, {"root": 70, "whole": 80, "one": 90, "apart": 60}))


def test_the_last_group_that_can_be_reached_gives_the_priority():
    groups = [leaf("pg", "single", "middle"), composite("middle", "single", "not-there")]

    assert [("Pod/p", "PodGroup", 30, ["p"])] == unit_rows(units_of([pod("p", 0, 5, group="pg")], groups, {"pg": 20, "middle": 30}))


def test_a_pod_whose_group_is_not_there_has_its_own_priority_and_ranks_as_a_group():
    assert [("Pod/p", "PodGroup", 5, ["p"])] == unit_rows(units_of([pod("p", 0, 5, group="pg")]))


def test_a_pod_group_is_no_parent():
    groups = [leaf("pg", "single", "other"), leaf("other", "all")]

    assert [("Pod/p", "PodGroup", 7, ["p"])] == unit_rows(units_of([pod("p", 0, group="pg")], groups, {"pg": 7}))


def test_a_circle_of_parents_ends_where_it_began():
    groups = [leaf("pg", "all", "x"), composite("x", "single", "y"), composite("y", "all", "x")]

    assert [("CompositePodGroup/y", "CompositePodGroup", 9, ["p", "q"])] == unit_rows(
        units_of([pod("q", 0, group="pg"), pod("p", 0, group="pg")], groups, {"y": 9})
    )


def test_a_group_that_is_its_own_parent_is_met_once():
    assert [("CompositePodGroup/x", "CompositePodGroup", 4, ["p"])] == unit_rows(
        units_of([pod("p", 0, group="pg")], [leaf("pg", "", "x"), composite("x", "all", "x")], {"x": 4})
    )


def test_groups_of_one_name_in_two_namespaces_are_two():
    groups = [leaf("pg", "all"), leaf("pg", "all", namespace="other")]
    pods = [pod("p", 0, group="pg"), pod("p", 1, group="pg", namespace="other"), pod("q", 1, group="pg", namespace="other")]

    assert [("PodGroup/pg", "PodGroup", 0, ["p"]), ("PodGroup/pg", "PodGroup", 0, ["p", "q"])] == unit_rows(units_of(pods, groups))


def test_a_group_that_names_no_namespace_is_in_default():
    assert Units([pod("p", 0, group="pg")], [leaf("pg", "all", namespace="")], {}).unit(0).owner == Name("PodGroup", "default", "pg")


def test_pods_that_wait_are_in_no_unit():
    assert [("Pod/b", "Pod", 0, ["b"])] == unit_rows(units_of([pod("a"), pod("b", 0)]))


@pytest.mark.parametrize(("priority", "want"), [(5, []), (6, ["e"]), (70, ["e"]), (71, ["a", "b", "c", "d", "e"])])
def test_below_are_the_units_of_strictly_lower_priority(priority, want):
    units = units_of(MEMBERS, TREE, {"root": 70})
    below = units.potential_victims(priority)

    assert want == [units.pods[index].name for index in below.pods.tolist()]
    assert want == sorted(name for number in below.units.tolist() for name in names(units.unit(number).pods))


def test_what_units_below_take_is_what_the_ledger_has_of_them():
    pods = [pod("a", 0, 1, 500), pod("b", 0, 1, 500), pod("c", 1, 1, 300), pod("d", 1, 2, 500)]
    nodes = node_table([2000, 2000])
    ledger, units = ledger_of(nodes, pods), units_of(pods)

    ledger.release(units.potential_victims(2).loads, ledger.fresh())

    assert (ledger_of(nodes, pods[3:]).used == ledger.used).all()


def test_the_same_release_has_the_same_cause_in_one_ledger():
    pods = [pod("a", 0, 1), pod("b", 0, 2)]
    units, ledger = units_of(pods), ledger_of(node_table([2000]), pods)

    assert units.potential_victims(2).cause(ledger) == units.potential_victims(2).cause(ledger)
    assert units.potential_victims(2).cause(ledger) != units.potential_victims(3).cause(ledger)


GROUPS = [
    leaf("l0", "single", "m"),
    leaf("l1", "all", "m"),
    leaf("l2", "", "n"),
    leaf("l3", "all"),
    composite("m", "all", "n"),
    composite("n"),
]


@given(
    st.lists(st.tuples(st.sampled_from(["", "l0", "l1", "l2", "l3", "gone"]), st.integers(0, 3), st.integers(0, 3)), max_size=12),
    st.randoms(),
)
def test_units_part_the_pods_that_run_whatever_their_order(members, random):
    pods = [pod(f"p{index:02}", node, priority, group=group) for index, (group, node, priority) in enumerate(members)]
    mixed, groups = pods[:], GROUPS[:]
    random.shuffle(mixed)
    random.shuffle(groups)
    units, again = units_of(pods, GROUPS, {"n": 2, "l3": 1}), units_of(mixed, groups, {"n": 2, "l3": 1})

    assert sorted(names(pods)) == sorted(name for number in range(len(units)) for name in names(units.unit(number).pods))
    assert unit_rows(units) == unit_rows(again)
    assert np.array_equal(units.positions, again.positions)
