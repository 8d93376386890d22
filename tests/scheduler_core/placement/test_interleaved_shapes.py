"""Placing many short runs compared with pod by pod."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.placement import interleaved_shapes
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, as_values, entities, leaf, names, node, pod, shape, state

KINDS: list[Json] = [
    {"cpu": "500m"},
    {"cpu": "1", "memory": "1Gi"},
    {"cpu": "2", "memory": "512Mi"},
    {"cpu": "500m", "nodeSelector": {"disk": "ssd"}},
    {"cpu": "", "memory": "3Gi"},
    {"cpu": ""},
]
randomly = settings(deadline=None, max_examples=sampled(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@st.composite
def small_clusters(draw: st.DrawFn) -> list[Json]:
    """Draw nodes, some of them alike, with running pods and one nominated pod."""
    results = []
    for number in range(draw(st.integers(1, 7))):
        labels = draw(st.sampled_from([{}, {"disk": "ssd"}]))
        results.append(node(f"n{number}", draw(st.sampled_from("248")), draw(st.sampled_from(["4Gi", "16Gi"])), pods=9, **labels))
    results += [pod(f"runs-{number}", cpu="1", on="n0") for number in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        results.append(pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}]))
    return results


def formed(objects: list[Json]) -> tuple[PlacementState, PlacementRequest]:
    here = state(objects)
    return here, Greedy(here).request(entities(objects)["g"])


def mixed(kinds: list[int], minimum: int) -> list[Json]:
    return [leaf("g", minimum, priority=5), *(pod(f"g-{number:03}", "g", priority=5, **KINDS[kind]) for number, kind in enumerate(kinds))]


@randomly
@given(small_clusters(), st.lists(st.integers(0, len(KINDS) - 1), min_size=1, max_size=3, unique=True), st.data())
def test_by_turns_gives_the_same_result_as_pod_by_pod(there, kinds, data):
    drawn = data.draw(st.lists(st.sampled_from(kinds), min_size=6, max_size=40))
    here, request = formed([*there, *mixed(drawn, data.draw(st.integers(1, len(drawn))))])
    before = (here.ledger.used.tobytes(), here.ledger.held.tobytes(), here.ledger.mark())

    assert as_values(try_leaf(dataclasses.replace(request, special=True), here.topology.root, here)) == as_values(
        try_leaf(request, here.topology.root, here)
    )
    assert before == (here.ledger.used.tobytes(), here.ledger.held.tobytes(), here.ledger.mark())


@pytest.mark.parametrize(
    ("lengths", "want"),
    [([1] * 5, True), ([1] * 4, False), ([4] * 6, True), ([5] * 6, False)],
    ids=["more than two runs of each shape", "two runs of each shape", "runs of four pods", "runs of five pods"],
)
def test_it_is_for_many_short_runs(lengths, want):
    shapes = (shape(1000, serial=1), shape(2000, serial=2))
    runs = [Run(shapes[number % 2], length) for number, length in enumerate(lengths)]

    assert want == interleaved_shapes.worth_while(runs)


def test_more_pods_than_nodes_go_on_until_nothing_has_capacity():
    here, request = formed([*(node(f"n{number:03}", "3", pods=2) for number in range(300)), *mixed([0, 1] * 400, 1)])
    outcome = try_leaf(request, here.topology.root, here)
    where = names(here, outcome)

    assert 600 == outcome.placed
    assert {2} == {where.count(f"n{number:03}") for number in range(300)}
