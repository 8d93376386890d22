"""Fragmentation: the largest gang that fits in one domain."""

from __future__ import annotations

import random

import pytest

from scheduler_core.causes.node_count import Amount
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.diagnosis.fragmentation import MOST_SHAPES, examples, fragments, levels
from scheduler_core.model.status import Status
from tests.muster.simulated import gang, node, pod

ZONE = "topology.kubernetes.io/zone"


def constrained(name, key, minimum):
    fragments_of = gang(name, minimum)
    fragments_of["spec"]["schedulingConstraints"] = {"topology": [{"key": key}]}
    return fragments_of


def fragments_of(*objects, ignore=()):
    return [(each.key, each.pod, each.largest, each.domain, each.total) for each in fragments(load(objects), ignore)]


def test_largest_gang_is_that_of_the_best_domain():
    nodes = [node("n1", cpu="4", rack="r1"), node("n2", cpu="3", rack="r2"), node("n3", cpu="3", rack="r2"), node("n4", cpu="9")]
    assert [("rack", "default/p", 2, "r1", 8)] == fragments_of(*nodes, pod("p", cpu="2"))


def test_shape_is_reported_by_its_requests():
    (fragment,) = fragments(load([node("n1", rack="r1"), pod("p", cpu="1500m")]))
    assert (Amount("cpu", 1500),) == fragment.requests


@pytest.mark.parametrize(
    ("resident", "want"),
    [
        pytest.param([], 4, id="nothing"),
        pytest.param([pod("x", cpu="3", on="n1")], 1, id="a running pod"),
        pytest.param([{**pod("x", cpu="3"), "status": {"nominatedNodeName": "n1"}}], 1, id="room kept for a nominated pod"),
    ],
)
def test_what_is_taken_does_not_count(resident, want):
    messages = [each for each in fragments_of(node("n1", cpu="4", rack="r1"), pod("a"), *resident) if each[1] == "default/a"]
    assert [("rack", "default/a", want, "r1", want)] == messages


@pytest.mark.parametrize(
    ("asking", "want"),
    [
        pytest.param(pod("p", nodeSelector={"rack": "r2"}), (2, "r2", 2), id="a selector"),
        pytest.param(pod("p", cpu="9"), (0, "", 0), id="more than any node has"),
        pytest.param(
            {**pod("p"), "spec": {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}},
            (1, "r1", 2),
            id="a port of the host",
        ),
        pytest.param(pod("p", volumes=[{"name": "v", "azureFile": {}}]), (0, "", 0), id="not modelled"),
    ],
)
def test_requests_of_a_pod_count(asking, want):
    ((_, _, *messages),) = fragments_of(node("n1", cpu="4", rack="r1"), node("n2", cpu="2", rack="r2"), asking)
    assert want == tuple(messages)


def test_port_that_is_taken_leaves_no_capacity():
    asking = {**pod("p"), "spec": {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}}
    running = {**asking, "metadata": {"name": "q"}, "spec": {**asking["spec"], "nodeName": "n1"}}
    assert [("rack", "default/p", 0, "", 0)] == fragments_of(node("n1", rack="r1"), asking, running)


def test_fields_that_are_not_modelled_can_be_passed_over():
    asking = pod("p", volumes=[{"name": "v", "azureFile": {}}])
    messages = fragments_of(node("n1", cpu="4", rack="r1"), asking, ignore={"spec.volumes.azureFile"})
    assert [("rack", "default/p", 4, "r1", 4)] == messages


def test_levels_are_those_of_groups_and_the_well_known_ones_of_nodes():
    nodes = [node(f"n{number}", **{ZONE: "z", "example/rack": f"r{number}", "block": f"b{number % 2}", "tier": "t"}) for number in range(4)]
    old = node("n4", **{"failure-domain.beta.kubernetes.io/zone": "z"})
    snapshot = load([*nodes, old, constrained("g", "block", 1), constrained("h", "nowhere", 1)])
    assert (ZONE, "block", "example/rack") == levels(snapshot)


def test_shapes_of_pending_pods_come_first_and_frequent_ones_before_others():
    running = [pod(f"r{number}", cpu="3", on="n1", group="g") for number in range(3)]
    pending = [pod("a", cpu="1"), pod("b", cpu="2"), pod("c", cpu="2"), pod("e", cpu="4", on="n1")]
    leaving = {**pod("d", cpu="5"), "metadata": {"name": "d", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    output = examples(load([node("n1", cpu="99"), gang("g", 1), *running, *pending, leaving]))
    assert ["default/b", "default/a", "default/r0"] == [each.key for each in output]


def test_no_more_than_some_shapes_are_reported():
    assert MOST_SHAPES == len(examples(load([pod(f"p{number}", cpu=str(number + 1)) for number in range(MOST_SHAPES + 1)])))


def test_without_levels_nodes_or_pods_there_is_nothing_to_report():
    assert [[], [], []] == [fragments_of(pod("p")), fragments_of(node("n1", rack="r")), fragments_of(node("n1"), pod("p"))]


@pytest.mark.parametrize("seed", range(25))
def test_a_gang_of_that_size_is_placed_and_a_larger_one_is_not(seed):
    chance = random.Random(seed)
    cpus = [str(chance.randint(1, 9)) for _ in range(9)]
    nodes = [node(f"n{number}", cpu=cpu, rack=f"r{number % 4}", **{ZONE: f"z{number % 2}"}) for number, cpu in enumerate(cpus)]
    running = [pod(f"x{number}", cpu=f"{chance.randint(1, 10)}00m", on=f"n{number}") for number in range(9)]
    asking = pod("p", cpu=chance.choice(["500m", "1", "1300m", "2"]))
    for key, _, most, domain, _ in fragments_of(*nodes, *running, asking):
        for size, status in ((most, Status.SUCCESS), (most + 1, Status.UNSCHEDULABLE)):
            members = [
                pod(f"g{number}", cpu=asking["spec"]["containers"][0]["resources"]["requests"]["cpu"], group="g") for number in range(size)
            ]
            result = run_cycle(load([*nodes, *running, constrained("g", key, size), *members]), CycleOptions())
            assert [status] == [each.status for each in result.decisions] or not size
            assert status is not Status.SUCCESS or not size or domain
