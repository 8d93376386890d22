"""Nested domains."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.domain_tree import DomainTree, nested
from tests.scheduler_core.builders import Json, node
from tests.scheduler_core.exact.small_trees import PLENTY, RACK, ZONE, cluster, domain_tree_of, gang, measured, standing, tree

THERE = cluster([[2, 1], [3]], [[3], [1, 2]])


def small_domain_tree(there: list[Json], *below: list[Json], keys: tuple[str, ...] = (ZONE, RACK)) -> DomainTree:
    here, request = standing([*there, *tree(*(below or [gang("a", 1)]), minimum=1)])
    return domain_tree_of(here, measured(here, request, StepBudget(PLENTY))[1], *keys)


def values(domain_tree: DomainTree, cell: int, key: str) -> list[str]:
    return [domain_tree.value(each, key) for each in domain_tree.inside(cell, key)]


def test_the_domains_in_a_cell_are_those_of_its_nodes():
    domain_tree = small_domain_tree(THERE)
    zones = domain_tree.inside(0, ZONE)

    assert ["z0", "z1"] == values(domain_tree, 0, ZONE)
    assert ["r0", "r1", "r2", "r3"] == values(domain_tree, 0, RACK)
    assert [["r0", "r1"], ["r2", "r3"]] == [values(domain_tree, zone, RACK) for zone in zones]


def test_a_wider_key_does_not_divide_a_cell():
    domain_tree = small_domain_tree(THERE)
    rack = domain_tree.inside(0, RACK)[0]

    assert (rack,) == domain_tree.inside(rack, ZONE) == domain_tree.inside(rack, RACK) == domain_tree.inside(rack, "")
    assert "z0" == domain_tree.value(rack, ZONE)


def test_the_capacity_of_a_cell_is_that_of_its_nodes():
    domain_tree = small_domain_tree(THERE)

    assert [(12,), (6,), (6,), (3,), (3,), (3,), (3,)] == [cell.free for cell in domain_tree.cells]


def test_a_node_without_a_label_is_in_no_domain_of_it():
    domain_tree = small_domain_tree([*THERE, node("bare", "8"), node("zoned", "8", zone="z0")])
    zone = domain_tree.inside(0, ZONE)[0]

    assert ((28,), (14,)) == (domain_tree.cells[0].free, domain_tree.cells[zone].free)
    assert [(3,), (3,)] == [domain_tree.cells[each].free for each in domain_tree.inside(zone, RACK)]


@pytest.mark.parametrize(
    ("nodes", "want"),
    [(["n0-0", "n0-1"], ["r0"]), (["n0-0", "n1-0"], []), (["bare"], [])],
    ids=["in one rack", "in two racks", "without a label"],
)
def test_members_that_run_are_in_one_domain_or_in_none(nodes, want):
    there = [*THERE, node("bare", "8")]
    domain_tree = small_domain_tree(there)
    here, _ = standing([*there, *tree(gang("a", 1), minimum=1)])

    assert want == [domain_tree.value(each, RACK) for each in domain_tree.holding(0, RACK, [here.nodes.index[name] for name in nodes])]


def test_the_cells_around_nodes_are_all_that_contain_one():
    domain_tree = small_domain_tree(THERE)
    here, _ = standing([*THERE, *tree(gang("a", 1), minimum=1)])
    around = domain_tree.cells_containing([here.nodes.index["n0-1"], here.nodes.index["n2-0"]])

    assert {0, *domain_tree.inside(0, ZONE), domain_tree.inside(0, RACK)[0], domain_tree.inside(0, RACK)[2]} == around


def test_equal_pods_see_no_difference_between_nodes_of_a_domain():
    domain_tree = small_domain_tree(THERE)
    looks = [domain_tree.symmetry_class(each) for each in domain_tree.inside(0, RACK)]

    assert [looks[0]] * 4 == looks
    assert (
        domain_tree.symmetry_class(domain_tree.inside(0, ZONE)[0]) == domain_tree.symmetry_class(domain_tree.inside(0, ZONE)[1]) != looks[0]
    )


def test_pods_of_several_shapes_see_one():
    domain_tree = small_domain_tree(THERE, gang("a", 1), gang("b", 1, cpu="2"))
    looks = [domain_tree.symmetry_class(each) for each in domain_tree.inside(0, RACK)]

    assert (looks[0], looks[1]) == (looks[3], looks[2])
    assert looks[0] != looks[1]


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param([("z0", "r0"), ("z0", "r1"), ("z1", "r2")], (ZONE, RACK), id="racks inside zones"),
        pytest.param([("z0", "r0"), ("z1", "r0"), ("z1", "r1")], None, id="a rack across two zones"),
        pytest.param([("z0", "r0"), ("z0", None), ("z1", "r1")], (ZONE, RACK), id="a node in no rack"),
        pytest.param([("z0", "r0"), (None, "r1"), ("z0", "r2")], None, id="a rack in no zone, and zones wider than racks"),
        pytest.param([("z0", "r0"), ("z1", "r1")], (RACK, ZONE), id="a rack in each zone"),
    ],
)
def test_keys_are_nested_from_wide_to_narrow_or_not_at_all(labels, want):
    there = [
        node(f"n{number}", **{key: value for key, value in ((ZONE, zone), (RACK, rack)) if value})
        for number, (zone, rack) in enumerate(labels)
    ]
    here, _ = standing([*there, *tree(gang("a", 1), minimum=1)])

    assert want == nested((ZONE, RACK), here.topology.root.nodes, here.nodes)


def test_keys_that_lie_across_one_another_elsewhere_may_be_nested_here():
    there = [node("n0", zone="z0", rack="r0"), node("n1", zone="z1", rack="r0"), node("n2", zone="z1", rack="r1")]
    here, _ = standing([*there, *tree(gang("a", 1), minimum=1)])

    assert (ZONE, RACK) == nested((ZONE, RACK), np.array([1, 2]), here.nodes)
