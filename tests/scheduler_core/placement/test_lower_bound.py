"""Domains that are rejected by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.infeasible_domains import DeviceBound, LowerBound, countable
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, entities, leaf, node, pod, state
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, request, template, wanting

KINDS: list[Json] = [{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "nodeSelector": {"disk": "ssd"}}]


def formed(objects: list[Json]) -> tuple[PlacementState, PlacementRequest]:
    here = state(objects)
    return here, Greedy(here).request(entities(objects)["g"])


def short(here: PlacementState, request: PlacementRequest) -> list[bool]:
    division = here.topology.divide(here.topology.root, "rack")
    result: list[bool] = LowerBound(request).short(division, np.arange(len(division.domains)), here).tolist()
    return result


def mixed(kinds: list[int], minimum: int) -> list[Json]:
    return [leaf("g", minimum, "rack"), *(pod(f"g-{number:03}", "g", **KINDS[kind]) for number, kind in enumerate(kinds))]


@settings(deadline=None, max_examples=sampled(100))
@given(
    st.lists(st.tuples(st.sampled_from("1248"), st.sampled_from("012"), st.booleans()), min_size=1, max_size=8),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 12),
    st.booleans(),
)
def test_no_domain_is_refuted_where_the_leaf_can_be_placed(nodes, kinds, minimum, promised):
    there = [node(f"n{number}", cpu, rack=f"r{rack}", disk="ssd" if ssd else "hdd") for number, (cpu, rack, ssd) in enumerate(nodes)]
    there += [pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}])] if promised else []
    here, request = formed([*there, *mixed(kinds, min(minimum, len(kinds)))])
    domains = here.topology.divide(here.topology.root, "rack").domains

    for domain, refuted in zip(domains, short(here, request), strict=True):
        assert not (refuted and try_leaf(request, domain, here).success)


@pytest.mark.parametrize(
    ("cores", "kinds", "want"),
    [
        pytest.param("6", [0, 0, 1, 1], False, id="as much as it needs"),
        pytest.param("5", [0, 0, 1, 1], True, id="less than it needs"),
        pytest.param("2", [0, 0], False, id="as many pods as have capacity"),
        pytest.param("8", [2, 0], True, id="no node for one of them"),
    ],
)
def test_a_domain_is_refuted_that_has_too_little(cores, kinds, want):
    here, request = formed([node("n0", cores, rack="r0"), *mixed(kinds, len(kinds))])

    assert [want] == short(here, request)


def test_what_has_been_taken_meanwhile_counts():
    here, request = formed([node("n0", "4", rack="r0"), pod("runs", cpu="3", on="n0"), *mixed([0, 0], 2)])

    assert [True] == short(here, request)


@pytest.mark.parametrize(
    ("kinds", "more", "want"),
    [([0, 1] * 4, {}, True), ([0, 1] * 3, {}, False), ([0, 1] * 4, {"host_port": 80}, False)],
    ids=["eight runs", "six runs", "ports of the host"],
)
def test_it_is_for_leaves_of_many_runs_that_nothing_else_decides_about(kinds, more, want):
    objects = [leaf("g", 1, "rack"), *(pod(f"g-{number}", "g", **KINDS[kind], **more) for number, kind in enumerate(kinds))]
    _, request = formed([node("n0", "4", rack="r0"), *objects])

    assert want == countable(request)


PAIR = template("one", request(count=2), constraints=[{"matchAttribute": "gpu.example/numa"}])


def with_devices(numas: list[list[int]], size: int, minimum: int, running: int = 0) -> tuple[PlacementState, PlacementRequest]:
    """Return a gang whose pods need two devices of one NUMA node; *numas* are those of the devices by node, two nodes a rack."""
    nodes = [node(f"n{number}", "100", rack=f"r{number // 2}") for number in range(len(numas))]
    slices = [
        device_slice(f"n{at}", *(device(f"d{number}", {"numa": each}) for number, each in enumerate(of))) for at, of in enumerate(numas)
    ]
    members = [wanting(f"g-{number}", group="g") for number in range(size)]
    bound = [pod(f"g-run{number}", "g", on="n0") for number in range(running)]
    objects = [*nodes, *slices, device_class(), PAIR, leaf("g", minimum, "rack"), *members, *bound]
    here = state(objects, PlacingOptions(sparing=True))
    return here, Greedy(here).request(entities(objects)["g"])


def without_devices(here: PlacementState, request: PlacementRequest) -> list[bool]:
    division = here.topology.divide(here.topology.root, "rack")
    result: list[bool] = DeviceBound(request).short(division, np.arange(len(division.domains)), here).tolist()
    return result


@settings(deadline=None, max_examples=sampled(100))
@given(st.lists(st.lists(st.integers(0, 1), max_size=5), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
def test_no_domain_is_refuted_where_the_leaf_gets_its_devices(numas, size, minimum, running):
    here, request = with_devices(numas, size, min(minimum, size + running), running)
    domains = here.topology.divide(here.topology.root, "rack").domains

    for domain, refuted in zip(domains, without_devices(here, request), strict=True):
        assert not (refuted and try_leaf(request, domain, here).success)


def test_domains_with_too_few_devices_are_refuted_without_placing_a_pod(monkeypatch):
    here, request = with_devices([[0] * 8, [1] * 7, [0] * 8, [0] * 8], 8, 8)
    assert [True, False] == without_devices(here, request)
    tried: list[str] = []
    greedy = Greedy(here)
    attempt = greedy.attempt
    monkeypatch.setattr(greedy, "attempt", lambda request, domain: tried.append(domain.value) or attempt(request, domain))
    assert greedy.place(greedy.request(request.entity)).success
    assert ["r1"] == tried


def test_kube_scheduler_tries_each_domain_as_an_attempt_can_end_with_an_error():
    objects = [node("n0", rack="r0"), device_slice("n0", "a"), device_class(), PAIR, leaf("g", 8, "rack")]
    objects += [wanting(f"g-{number}", group="g") for number in range(8)]
    here = state(objects)
    assert [False] == without_devices(here, Greedy(here).request(entities(objects)["g"]))
