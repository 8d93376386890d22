"""Measures of pods and groups."""

from __future__ import annotations

import pytest

from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.measures import Measures
from tests.scheduler_core.builders import Json, leaf, node, pod, pods
from tests.scheduler_core.exact.small_trees import PLENTY, cluster, gang, measured, standing, tree


def of(objects: list[Json]) -> tuple[Measures, dict[str, int]]:
    """Return the measures of the tree ``t`` and its minimum measures, by name; shapes are named by their CPU request."""
    here, request = standing(objects)
    capacity, measures = measured(here, request, StepBudget(PLENTY))
    names = [] if measures.single else [here.nodes.resources[row] for row in capacity.rows]
    slots = len(measures.nothing) - len(names)
    return measures, dict(zip([*names, *(f"slots {number}" for number in range(slots))], measures.least(request), strict=True))


def test_pods_that_are_all_alike_are_only_counted():
    _, least = of([*cluster([[4]]), *tree(gang("a", 2, 3), gang("b", 1), minimum=2)])

    assert {"slots 0": 3} == least


def test_pods_of_two_shapes_are_measured_by_every_resource_and_counted_each():
    _, least = of([*cluster([[4]]), *tree(gang("a", 2), gang("b", 3, cpu="2"), minimum=2)])

    assert {"cpu": 8000, "pods": 5, "slots 0": 2, "slots 1": 3} == least


def test_of_several_kinds_of_pods_the_least_of_each_measure_counts():
    mixed = [leaf("a", 2, parent="t"), pod("x", "a", cpu="1", memory="4Gi"), pod("y", "a", cpu="3", memory="1Gi"), pod("z", "a", cpu="3")]
    _, least = of([*cluster([[4]]), *tree(mixed, minimum=1)])

    assert (4000, 2**30, 2) == (least["cpu"], least["memory"], least["pods"])


def test_a_quorum_measures_as_its_smallest_children():
    _, least = of([*cluster([[4]]), *tree(gang("a", 5), gang("b", 2), gang("c", 3), minimum=2)])

    assert {"slots 0": 5} == least


@pytest.mark.parametrize(
    ("below", "minimum", "want"),
    [
        pytest.param([gang("a", 2, 5)], 1, True, id="equal pods"),
        pytest.param([gang("a", 2), gang("b", 3)], 2, True, id="all children"),
        pytest.param([gang("a", 2), gang("b", 3)], 1, False, id="one of two children"),
        pytest.param([[leaf("a", 1, parent="t"), pod("x", "a", cpu="1"), pod("y", "a", cpu="2")]], 1, False, id="one of two pods"),
        pytest.param([[leaf("a", 2, parent="t"), pod("x", "a", cpu="1"), pod("y", "a", cpu="2")]], 1, True, id="two of two pods"),
    ],
)
def test_it_is_exact_where_there_is_nothing_to_choose(below, minimum, want):
    here, request = standing([*cluster([[4]]), *tree(*below, minimum=minimum)])
    _, measures = measured(here, request, StepBudget(PLENTY))

    assert want == measures.exact(request)


def test_a_smaller_pod_is_easier_unless_its_nodes_are_others():
    there = [node("n0", "4", disk="ssd"), node("n1", "4")]
    kinds = {"large": {"cpu": "2"}, "small": {"cpu": "1"}, "small and choosy": {"cpu": "1", "nodeSelector": {"disk": "ssd"}}}
    below = [[leaf(f"g{number}", 1, parent="t"), *pods(f"g{number}", 1, **kind)] for number, kind in enumerate(kinds.values())]
    here, request = standing([*there, *tree(*below, minimum=3)])
    _, measures = measured(here, request, StepBudget(PLENTY))
    serials = {name: child.runs[0].shape.serial for name, child in zip(kinds, request.children, strict=True)}
    easier = {(one, other) for one in kinds for other in kinds if one != other and measures.easier(serials[one], serials[other])}

    assert {("small", "large"), ("small", "small and choosy")} <= easier
    assert ("small and choosy", "large") not in easier
    assert ("large", "small") not in easier
