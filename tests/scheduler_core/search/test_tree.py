"""Trees on which a search can go wrong: each is told beside what the exact oracle says."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from scheduler_core.cycle import CycleOptions, queued
from scheduler_core.load import load
from scheduler_core.options import PlacingOptions
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.site import Site
from scheduler_core.search.budget import Budget
from scheduler_core.search.complete import searchable
from scheduler_core.search.needs import satisfied
from scheduler_core.search.tree import TreeSearch
from tests.scheduler_core.exact import corpus, model
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node

slowly = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
PLENTY = 1_000_000


def searched(objects: Objects) -> dict[str, bool]:
    """Whether the search by itself finds a plan for each root of groups that it is for."""
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    snapshot = load([json.dumps(each).encode() for each in complete])
    site = Site.of(snapshot, PlacingOptions())
    forms = [Greedy(site).form(root) for root in queued(snapshot, CycleOptions()) if root.name.kind != "Pod"]
    tried = [form for form in forms if searchable(form) and not satisfied(form)]
    return {form.entity.name.name: TreeSearch(site, form, Budget(PLENTY)).plan(site.topology.root) is not None for form in tried}


def racks(*cpus: int, zones: int = 1) -> Objects:
    """One node a rack, as many racks in each zone."""
    each = len(cpus) // zones
    return [node(f"n{number}", cpu, rack=f"r{number}", zone=f"z{number // each}") for number, cpu in enumerate(cpus)]


def below(name: str, parent: str, minimum: int = 1, key: str = "") -> Objects:
    """A composite inside another."""
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


@pytest.mark.parametrize(
    ("objects", "want"),
    [*((objects, True) for objects in PLACED.values()), *((objects, False) for objects in REFUTED.values())],
    ids=[*PLACED, *REFUTED],
)
def test_the_search_knows_whether_there_is_a_placement(objects, want):
    assert {"root": want} == searched(objects)
    assert {"root": want} == model.feasible(objects)


def test_a_tree_may_have_more_groups_than_python_has_frames():
    middle = [below(f"m{one}", "root", 8) for one in range(8)]
    inner = [below(f"m{one}-{two}", f"m{one}", 8, "zone") for one in range(8) for two in range(8)]
    outer = [child(f"g{one}-{two}-{three}", f"m{one}-{two}", 1, "rack") for one in range(8) for two in range(8) for three in range(8)]
    objects = [*racks(*[4] * 128, zones=8), composite(8), *(each for part in (*middle, *inner, *outer) for each in part)]

    assert {"root": True} == searched(objects)


@slowly
@given(clusters(TINY))
def test_the_search_agrees_with_the_exact_oracle_on_tiny_clusters(objects):
    truth = model.feasible(objects)

    assert {name: truth[name] for name in searched(objects) if name in truth} == {
        name: found for name, found in searched(objects).items() if name in truth
    }


@pytest.mark.parametrize("seed", range(40))
def test_the_search_agrees_with_the_exact_oracle_on_hard_trees(seed):
    make = corpus.Make(
        depth=1 + seed % 4, shapes=1 + seed % 3, spare=seed % 2, loose=seed % 5 == 0, running=seed % 3 == 0, moved=seed % 3, short=seed % 2
    )
    objects = corpus.instance(seed, make)
    truth = model.feasible(objects)

    assert {name: truth[name] for name in searched(objects)} == searched(objects)
