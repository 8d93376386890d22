"""Trees on which a search can go wrong: each is told beside what the exact oracle says."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, queued
from scheduler_core.exact.complete import searchable
from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.crossing_domains import CrossingDomains
from scheduler_core.exact.tree.tree_search import TreeSearch, free_for
from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.cp_sat import corpus, model
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node
from tests.scheduler_core.placement import small_clusters

slowly = settings(deadline=None, max_examples=sampled(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
PLENTY = 1_000_000


def searched(objects: Objects, *, crossing: bool = False) -> dict[str, bool]:
    """Return true if the search finds a plan for each root that it supports; with *crossing* the search for overlapping domains."""
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    snapshot = load([json.dumps(each).encode() for each in complete])
    state = PlacementState.from_snapshot(snapshot, PlacingOptions())
    placement_requests = [Greedy(state).request(root) for root in queued(snapshot, CycleOptions()) if root.name.kind != "Pod"]
    candidates = [request for request in placement_requests if searchable(request) and not satisfied(request)]
    result = {}
    for request in candidates:
        budget = StepBudget(PLENTY)
        search = (
            CrossingDomains(state, request, budget, free_for(state, request, budget)) if crossing else TreeSearch(state, request, budget)
        )
        result[request.entity.name.name] = search.plan(state.topology.root) is not None
    return result


def racks(*cpus: int, zones: int = 1) -> Objects:
    """Return one node for each rack, and equally many racks in each zone."""
    each = len(cpus) // zones
    return [node(f"n{number}", cpu, rack=f"r{number}", zone=f"z{number // each}") for number, cpu in enumerate(cpus)]


def below(name: str, parent: str, minimum: int = 1, key: str = "") -> Objects:
    """Return a composite inside another one."""
    group = composite(minimum)
    constraint = {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
    return [{**group, "metadata": {"name": name}, "spec": {**group["spec"], "parentCompositePodGroupName": parent, **constraint}}]


def child(name: str, parent: str, need: int, key: str = "") -> Objects:
    group = leaf(name, need, 0, key)
    group["spec"]["parentCompositePodGroupName"] = parent
    return [group, *members(name, need)]


PLACED = {
    "a rack inside a zone that a sibling's pods are spread over is not like one in another zone": [
        *racks(3, 1, 3, 1, zones=2),
        composite(2),
        *child("a", "root", 4, "zone"),
        *below("b", "root"),
        *child("b0", "b", 3, "rack"),
    ],
    "a large child goes where a small one would go first": [
        *racks(4, 3),
        composite(2),
        *child("a", "root", 3, "rack"),
        *child("b", "root", 4, "rack"),
    ],
    "a rack with something in it is not like an empty one": [
        *(node(f"n{number}", 3, rack=f"r{number // 2}") for number in range(4)),
        composite(2),
        leaf("a", 2, 0, "rack"),
        *members("a", 2, 2),
        leaf("b", 1, 1, "rack"),
        *members("b", 1, 2, tolerations=[{"operator": "Exists"}]),
    ],
    "a rack that a sibling has a zone around is not like one elsewhere": [
        *racks(3, 3, 3, 3, zones=2),
        composite(2),
        *below("a", "root", 2, "zone"),
        *child("a0", "a", 2, "rack"),
        *child("a1", "a", 2, "rack"),
        *child("b", "root", 2, "rack"),
    ],
    "a rack where members of a sibling's child run is not like another": [
        *racks(5, 4),
        composite(2),
        *below("s", "root"),
        *child("a", "s", 4, "rack")[:4],
        *({**pod, "metadata": {"name": "a-runs"}, "spec": {**pod["spec"], "nodeName": "n0"}} for pod in members("a", 1)),
        *child("b", "root", 3, "rack"),
    ],
    "keys that do not nest": [
        node("n0", 1, rack="r0", zone="z0"),
        node("n1", 1, rack="r0", zone="z1"),
        node("n2", 1, rack="r1", zone="z0"),
        composite(2),
        *child("a", "root", 2, "rack"),
        *child("b", "root", 1, "zone"),
    ],
}
REFUTED = {
    "members that run are apart": [
        *racks(2, 2),
        composite(1),
        *child("a", "root", 3, "rack"),
        *({**pod, "spec": {**pod["spec"], "nodeName": f"n{number}"}} for number, pod in enumerate(members("a", 5)[3:])),
    ],
    "bins that are too small for all": [
        *racks(5, 5, 5),
        composite(4),
        *(each for number in range(4) for each in child(f"g{number}", "root", 3, "rack")),
    ],
}


@pytest.mark.parametrize("crossing", [False, True], ids=["nested", "crossing"])
@pytest.mark.parametrize(
    ("objects", "want"),
    [*((objects, True) for objects in PLACED.values()), *((objects, False) for objects in REFUTED.values())],
    ids=[*PLACED, *REFUTED],
)
def test_the_search_knows_whether_there_is_a_placement(objects, want, crossing):
    assert {"root": want} == searched(objects, crossing=crossing)
    assert {"root": want} == model.feasible(objects)


def test_a_tree_may_have_more_groups_than_python_has_frames():
    middle = [below(f"m{one}", "root", 8) for one in range(8)]
    inner = [below(f"m{one}-{two}", f"m{one}", 8, "zone") for one in range(8) for two in range(8)]
    outer = [child(f"g{one}-{two}-{three}", f"m{one}-{two}", 1, "rack") for one in range(8) for two in range(8) for three in range(8)]
    objects = [*racks(*[4] * 128, zones=8), composite(8), *(each for part in (*middle, *inner, *outer) for each in part)]

    assert {"root": True} == searched(objects)


@slowly
@given(clusters(TINY), st.booleans())
def test_the_search_agrees_with_the_exact_oracle_on_tiny_clusters(objects, crossing):
    truth = model.feasible(objects)
    result = searched(objects, crossing=crossing)

    assert {name: truth[name] for name in result if name in truth} == {name: each for name, each in result.items() if name in truth}


@pytest.mark.parametrize("crossing", [False, True], ids=["nested", "crossing"])
@pytest.mark.parametrize("seed", range(40))
def test_the_search_agrees_with_the_exact_oracle_on_hard_trees(seed, crossing):
    make = corpus.Make(
        depth=1 + seed % 4, shapes=1 + seed % 3, spare=seed % 2, loose=seed % 5 == 0, running=seed % 3 == 0, moved=seed % 3, short=seed % 2
    )
    objects = corpus.instance(seed, make)
    truth = model.feasible(objects)
    result = searched(objects, crossing=crossing)

    assert {name: truth[name] for name in result} == result


@pytest.mark.parametrize("seed", range(40))
def test_the_search_agrees_with_the_exact_oracle_where_racks_cross_zones(seed):
    chance = random.Random(seed)
    make = corpus.Make(depth=2 + seed % 3, shapes=1 + seed % 2, slack=10 * (seed % 4), spare=seed % 2)
    objects = corpus.instance(seed, make)
    for each in objects:
        if each["kind"] == "Node" and chance.random() < 0.5:
            each["metadata"]["labels"][corpus.RACK] = f"rack-{chance.randrange(3)}"
    truth = model.feasible(objects)
    result = searched(objects)

    assert {name: truth[name] for name in result} == result


def test_a_tree_that_needs_pods_and_has_none_that_wait_has_no_plan():
    state = small_clusters.state(small_clusters.table([(4, 4)]))
    request = Greedy(state).request(small_clusters.composite("t", [small_clusters.gang("a", (), 1)], 1))

    assert TreeSearch(state, request, StepBudget(PLENTY)).plan(state.topology.root) is None
