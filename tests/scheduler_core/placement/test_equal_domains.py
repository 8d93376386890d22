"""Domains that are equal for a group: tried one by one, they have the same result, on nodes at the same positions."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scheduler_core.model.topology import Division
from scheduler_core.placement import equal_domains
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, composite, entities, leaf, node, pod, state

KEYS = ("rack", "half", "zone", "kubernetes.io/hostname")
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


def related(chance: random.Random) -> Json:
    """Return the labels of a pod, and affinity or anti-affinity to pods with such labels."""
    affinity: dict[str, Any] = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        term = {"labelSelector": {"matchLabels": {"app": chance.choice("ab")}}, "topologyKey": chance.choice(KEYS)}
        if chance.random() < 0.4:
            required = chance.random() < 0.6
            affinity[kind] = {REQUIRED: [term]} if required else {PREFERRED: [{"weight": chance.randint(1, 100), "podAffinityTerm": term}]}
    spread = [spreading(chance, key) for key in KEYS if chance.random() < 0.1]
    more = {"affinity": affinity, "topologySpreadConstraints": spread}
    return {"labels": {"app": chance.choice("abc")}, **{name: value for name, value in more.items() if value}}


def spreading(chance: random.Random, key: str) -> Json:
    """Return a constraint, of which some nodes are not eligible if they are not selected."""
    policy = {"nodeAffinityPolicy": "Ignore"} if chance.random() < 0.3 else {}
    selector = {"matchLabels": {"app": chance.choice("abc")}}
    return {
        "maxSkew": chance.choice([1, 1, 2]),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **policy,
    }


def cluster(chance: random.Random) -> list[Json]:
    """Return racks of few kinds with a few running pods, and a group with pods that depend on others."""
    sizes = [chance.choice([2, 2, 3]) for _ in range(chance.randint(3, 6))]
    objects = []
    for rack, size in enumerate(sizes):
        for number in range(size):
            labels = {
                "rack": f"r{rack}",
                "zone": f"z{rack % 2}",
                **({"half": f"{rack}-{chance.randrange(2)}"} if chance.random() < 0.9 else {}),
            }
            labels["disk"] = chance.choice(["ssd", "ssd", "ssd", "hdd"])
            objects.append(node(f"n{rack}-{number}", chance.choice("44444448"), **labels))
    # Racks with as many pods differ by their terms alone.
    running = range(len(sizes)) if chance.random() < 0.5 else [chance.randrange(len(sizes)) for _ in range(chance.randint(0, 3))]
    cpu = chance.choice("123")
    for number, rack in enumerate(running):
        more = related(chance) if chance.random() < 0.5 else {}
        objects.append(pod(f"there-{number}", cpu=cpu, on=f"n{rack}-{chance.randrange(sizes[rack])}", **more))
    groups = ["g"]
    if chance.random() < 0.5:
        groups = ["c0", "c1"]
        objects.append(composite("g", chance.randint(1, 2), "rack"))
    for name in groups:
        count = chance.randint(1, 3)
        objects.append(leaf(name, chance.randint(1, count), *(["rack"] if name == "g" else ["", "g"])))
        for number in range(count):
            selector = {"nodeSelector": {"disk": "ssd"}} if chance.random() < 0.3 else {}
            objects.append(pod(f"{name}-{number}", name, chance.choice("123"), **selector, **related(chance)))
    return objects


def result(request: PlacementRequest, outcome: PlacementOutcome, division: Division, row: int) -> tuple[Any, ...]:
    """Return the status, and the position of each pod in its domain."""
    positions = {node: position for position, node in enumerate(division.domains[row].nodes.tolist())}
    places = {each.key: positions[node] for each, node in assigned(request, outcome)} if outcome.success else {}
    return outcome.status, outcome.placed, places


def formed(objects: list[Json]) -> tuple[PlacementState, PlacementRequest, Division]:
    here = state(objects)
    return here, Greedy(here).request(entities(objects)["g"]), here.topology.divide(here.topology.root, "rack")


def test_equal_domains_have_equal_results():
    several = placed = 0
    for seed in range(sampled(1000)):
        here, request, division = formed(cluster(random.Random(seed)))
        groups = equal_domains.grouped(request, division, range(len(division.domains)), here)
        assert sorted(row for rows in groups for row in rows) == [*range(len(division.domains))]
        for rows in groups:
            found = [result(request, Greedy(here).attempt(request, division.domains[row]), division, row) for row in rows]
            assert found == found[:1] * len(rows), seed
            several += len(rows) > 1
            placed += len(rows) > 1 and found[0][1] > 0
    assert several > sampled(1000) // 6
    assert placed > sampled(1000) // 12


def test_a_decision_is_the_same_if_each_domain_is_tried(monkeypatch):
    def one_by_one(_request, _division, rows, _state):
        return [[row] for row in rows]

    for seed in range(sampled(1000)):
        objects = cluster(random.Random(seed))
        here, request, division = formed(objects)
        found = Greedy(here).place(request)
        with monkeypatch.context() as patched:
            patched.setattr(equal_domains, "grouped", one_by_one)
            want = Greedy(here).place(request)
        assert (want.status, want.reason, want.placement.value) == (found.status, found.reason, found.placement.value), seed
        if want.success:
            row = division.rows[want.placement.value]
            assert result(request, want, division, row) == result(request, found, division, row), seed


APART = {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}, "topologyKey": "rack"}]}}
NEAR_ZONE = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]}}
SPREAD = {"maxSkew": 1, "topologyKey": "rack", "labelSelector": {}}
HARD, SOFT = ([SPREAD | {"whenUnsatisfiable": each}] for each in ("DoNotSchedule", "ScheduleAnyway"))


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"affinity": APART}, [[0, 1, 2], [3]], id="anti-affinity"),
        pytest.param({"affinity": APART | NEAR_ZONE}, [[0], [1], [2], [3]], id="scores that are normalised over all nodes"),
        pytest.param({"affinity": APART, "topologySpreadConstraints": HARD}, [[0, 1, 2], [3]], id="spread"),
        pytest.param({"affinity": APART, "topologySpreadConstraints": SOFT}, [[0], [1], [2], [3]], id="spread that scores all nodes"),
        pytest.param({"affinity": APART, "host_port": 80}, [[0], [1], [2], [3]], id="host ports"),
        pytest.param({"affinity": APART, "nominated": "n1"}, [[0], [1], [2], [3]], id="a pod that holds a place"),
        pytest.param({}, [[0], [1], [2], [3]], id="results are kept anyway"),
    ],
)
def test_racks_are_equal_for_pods_of_which_all_is_known(spec, want):
    nodes = [node(f"n{rack}", "8" if rack < 3 else "4", rack=f"r{rack}", zone="z") for rack in range(4)]
    here, request, division = formed([*nodes, leaf("g", 1, "rack"), pod("g-0", "g", **spec)])

    assert want == equal_domains.grouped(request, division, range(4), here)


def test_a_rack_with_a_pod_that_prefers_the_group_is_another_one():
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
    near = {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}}
    nodes = [node(f"n{rack}-{number}", rack=f"r{rack}") for rack in range(3) for number in range(2)]
    running = [pod(f"there-{rack}", on=f"n{rack}-1", **({"affinity": near} if rack == 1 else {})) for rack in range(3)]
    here, request, division = formed([*nodes, *running, leaf("g", 1, "rack"), pod("g-0", "g", labels={"app": "a"})])

    assert [[0, 2], [1]] == equal_domains.grouped(request, division, range(3), here)


def test_a_rack_with_a_pod_that_a_constraint_counts_is_another_one():
    nodes = [node(f"n{rack}-{number}", rack=f"r{rack}") for rack in range(3) for number in range(2)]
    running = [pod(f"there-{rack}", on=f"n{rack}-1", labels={"app": "b" if rack == 1 else "c"}) for rack in range(3)]
    spread = SPREAD | {
        "whenUnsatisfiable": "DoNotSchedule",
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    member = pod("g-0", "g", labels={"app": "b"}, topologySpreadConstraints=[spread])
    here, request, division = formed([*nodes, *running, leaf("g", 1, "rack"), member])

    assert [[0, 2], [1]] == equal_domains.grouped(request, division, range(3), here)


def test_racks_are_not_equal_if_other_nodes_share_a_domain():
    halves = ["aabb", "abab", "aabb"]
    nodes = [
        node(f"n{rack}-{number}", rack=f"r{rack}", half=f"{rack}{of[number]}") for rack, of in enumerate(halves) for number in range(4)
    ]
    member = pod("g-0", "g", topologySpreadConstraints=[SPREAD | {"whenUnsatisfiable": "DoNotSchedule", "topologyKey": "half"}])
    here, request, division = formed([*nodes, leaf("g", 1, "rack"), member])

    assert [[0, 2], [1]] == equal_domains.grouped(request, division, range(3), here)
