"""Interchangeable devices counted as rows of the nodes' allocatable."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.plugins.devices import interchangeable
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, decided, leaf, node, placed, reasons_of, with_objects
from tests.scheduler_core.exact.devices.small_clusters import Cluster, clusters, manifests
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)

NODES = [node("n1"), node("n2")]
BASE = [*NODES, device_class(), template()]
DRIVERS = {"gpu": DRIVER, "other": "fabric"}
RANDOM = settings(
    max_examples=sampled(250), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def rows(*objects: Json) -> dict[str, list[int]]:
    """Return the rows that count devices."""
    table = load(objects).nodes
    return {table.resources[row]: table.allocatable[row].tolist() for row in sorted(table.counted)}


def model(name: str) -> Json:
    """Return a request for a device of one model."""
    return request(selectors=[{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{name}'"}}])


def devices(*models: str) -> list[Json]:
    return [device(f"d{number}", {"model": each, "serial": number}) for number, each in enumerate(models)]


def test_devices_are_counted_by_node():
    slices = [device_slice("n1", "a", "b"), device_slice("n2", "a"), device_slice("gone", "a")]
    assert {"device of class gpu": [2, 1]} == rows(*BASE, *slices, wanting())


def test_without_claims_to_allocate_nothing_is_counted():
    assert {} == rows(*BASE, device_slice("n1", "a"), wanting("p", "x=c"), resource_claim("c", devices=["gpu=n1/a"]))


def test_nested_sets_have_a_row_each_and_unread_attributes_do_not_matter():
    slices = [device_slice("n1", *devices("x", "y", "x")), device_slice("n2", *devices("y"))]
    snapshot = load([*BASE, *slices, template("x", model("x")), wanting("p"), wanting("q", "g:x"), wanting("r", "g:x", "h:one")])
    table = snapshot.nodes
    assert {"device of class gpu": [2, 0], "device of class gpu (2)": [3, 1]} == {
        table.resources[row]: table.allocatable[row].tolist() for row in sorted(table.counted)
    }
    requested = [{table.resources[row]: amount for row, amount in pod.shape.requests if row in table.counted} for pod in snapshot.pods]
    assert [
        {"device of class gpu (2)": 1},
        {"device of class gpu": 1, "device of class gpu (2)": 1},
        {"device of class gpu": 1, "device of class gpu (2)": 2},
    ] == requested
    # Where all devices of a node are of one kind or another matters to kube-scheduler: it takes the first that matches.
    assert all(pod.shape.picks_devices and pod.shape.counts_devices for pod in snapshot.pods)


def test_pods_are_placed_together_if_each_node_has_devices_of_one_kind():
    slices = [device_slice("n1", *devices("x", "x")), device_slice("n2", *devices("y"))]
    snapshot = load([*BASE, *slices, template("x", model("x")), wanting("p"), wanting("q", "g:x")])
    assert not any(pod.shape.picks_devices for pod in snapshot.pods)


UNCOUNTED = [
    pytest.param([device_slice(None, "a", allNodes=True)], template(), id="a device of all nodes"),
    pytest.param([device_slice(None, device("a", nodeName="n1"), perDeviceNodeSelection=True)], template(), id="a node for each device"),
    pytest.param([device_slice("n1", device("a", allowMultipleAllocations=True))], template(), id="a device for several claims"),
    pytest.param([device_slice("n1", "a", count=2), device_slice("n2", "b", pool="n1", name="t", count=2)], template(), id="two nodes"),
    pytest.param(
        [
            device_slice("n1", device("a", consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": "1"}}}]), count=2),
            device_slice("n1", name="t", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": "1"}}}]),
        ],
        template(),
        id="shared counters",
    ),
    pytest.param([device_slice("n1", "a")], template("one", request(allocationMode="All")), id="all devices"),
    pytest.param(
        [device_slice("n1", "a")],
        template("one", {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}),
        id="alternatives",
    ),
    pytest.param([device_slice("n1", "a")], template("one", constraints=[{"matchAttribute": f"{DRIVER}/numa"}]), id="a constraint"),
    pytest.param([device_slice("n1", "a")], template("one", model("x")), id="a selector that cannot be evaluated"),
    pytest.param([device_slice("n1", "a")], template("one", request(count=33)), id="more devices than a claim can have"),
]


@pytest.mark.parametrize(("slices", "of_template"), UNCOUNTED)
def test_what_numbers_do_not_say_is_not_counted(slices, of_template):
    snapshot = load([*BASE[:-1], of_template, *slices, wanting()])
    assert not snapshot.nodes.counted
    (pod,) = snapshot.pods
    assert pod.shape.picks_devices
    assert not pod.shape.counts_devices


@pytest.mark.parametrize("other", ["two:x", "g=shared"])
def test_devices_for_which_uncounted_claims_compete_are_not_counted(other):
    slices = [device_slice("n1", "a", "b"), device_slice("n2", "a", driver="other", pool="other")]
    of_driver = device_class("other", selectors=[{"cel": {"expression": "device.driver == 'other'"}}])
    more = [template("x", request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]), resource_claim("shared")]
    own = device_class(selectors=[{"cel": {"expression": f"device.driver == '{DRIVER}'"}}])
    pods = [wanting("p"), wanting("q", other), wanting("r", other), wanting("s", "g:other")]
    assert {"device of class other": [0, 1]} == rows(
        *NODES, own, template(), of_driver, template("other", request("x", "other")), *slices, *more, *pods
    )


def test_devices_of_allocated_claims_are_in_use_and_are_not_freed_by_greedy():
    held = resource_claim("c", devices=["gpu=n1/a"], users=["low"])
    low = wanting("low", "x=c", nodeName="n1", priority=0)
    objects = [node("n1"), *BASE[2:], device_slice("n1", "a"), held, low, leaf("g", 1, priority=10), wanting("p", group="g", priority=10)]
    snapshot = load(objects)
    assert {"device of class gpu": [1]} == rows(*objects)
    assert () == run_cycle(snapshot).decisions[0].victims
    assert ("default/low",) == run_cycle(snapshot, CycleOptions(strategy="complete")).decisions[0].victims


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_share_does_not_take_a_device_that_is_not_shared_any_more(strategy):
    shared = resource_claim("c", devices=["gpu=n1/a"], users=["low"], results={"shareID": "00000000-0000-4000-8000-000000000000"})
    objects = [node("n1"), *BASE[2:], device_slice("n1", "a"), shared, wanting("low", "x=c", nodeName="n1"), wanting("p")]
    assert {"default/p": "n1"} == decided(objects, strategy=strategy).assignments


def test_a_claim_of_several_pods_is_free_when_all_of_them_leave():
    held = resource_claim("c", devices=["gpu=n1/a"], users=["a", "b"])
    running = [wanting(name, "x=c", nodeName="n1", priority=priority) for name, priority in (("a", 0), ("b", 20))]
    objects = [node("n1"), *BASE[2:], device_slice("n1", "a"), held, leaf("g", 1, priority=10), wanting("p", group="g", priority=10)]
    assert () == decided([*objects, *running], strategy="complete").victims
    running[1]["spec"]["priority"] = 0
    assert ("default/a", "default/b") == decided([*objects, *running], strategy="complete").victims


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("name", ["old", "low"])
def test_a_claim_of_a_group_is_not_freed_by_evictions(name, counted):
    """A pod can have the name of the group."""
    held = resource_claim("c", devices=["gpu=n1/a"], users=["low"])
    held["status"]["reservedFor"] = [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name, "uid": "old"}]
    low = wanting("low", "x=c", nodeName="n1", priority=0)
    wanted = template("wanted", request() if counted else request(allocationMode="All"))
    pending = wanting("p", "g:wanted", group="g", priority=10)
    objects = [node("n1"), *BASE[2:], device_slice("n1", "a"), held, low, wanted, leaf("g", 1, priority=10), pending]
    decision = decided(objects, strategy="complete")
    assert (Status.UNSCHEDULABLE, ()) == (decision.status, decision.victims)


def test_extended_resources_are_counted_if_devices_provide_them_on_all_nodes():
    of_resource = device_class(extendedResourceName="example.com/gpu")
    pending = wanting("p")
    del pending["spec"]["resourceClaims"]
    pending["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "2"
    objects = [of_resource, device_slice("n1", "a", "b"), device_slice("n2", "a"), pending]
    assert {"device of class gpu": [2, 1]} == rows(*NODES, *objects)
    mixed = [node("n1"), node("n2")]
    mixed[1]["status"]["allocatable"]["example.com/gpu"] = "2"
    assert {} == rows(*mixed, *objects)
    assert "n1" == placed(decided([*NODES, *objects], strategy="complete"))["p"]


def test_counts_stay_with_their_nodes_when_nodes_are_added():
    snapshot = load([*BASE, device_slice("n1", "a"), device_slice("n0", "a", "b"), wanting()])
    changed = with_objects(snapshot, node("n0"))
    assert [2, 1, 0] == changed.nodes.allocatable[next(iter(changed.nodes.counted))].tolist()
    assert {"p": "n0"} == placed(run_cycle(changed).decisions[0])


def test_ignored_claims_request_nothing():
    objects = [*BASE, wanting()]
    assert decided(objects).status is Status.UNSCHEDULABLE
    ignored = run_cycle(load(objects), CycleOptions(ignore=frozenset({"spec.resourceClaims"}))).decisions[0]
    assert ignored.status is Status.SUCCESS


def test_search_gives_devices_of_few_claims_to_those_that_need_them():
    slices = [device_slice("n1", *devices("x", "y"))]
    objects = [
        node("n1"),
        *BASE[2:],
        *slices,
        template("x", model("x")),
        leaf("g", 2),
        wanting("a", group="g"),
        wanting("b", "g:x", group="g"),
    ]
    assert decided(objects, strategy="greedy").status is Status.UNSCHEDULABLE
    found = decided(objects, strategy="complete")
    assert {"pod/a/g": ["gpu=n1/d1"], "pod/b/g": ["gpu=n1/d0"]} == {
        claim.label: [str(each) for each in allocation.devices] for claim, allocation in found.devices.items()
    }


def as_values(decision: Decision) -> dict[str, Any]:
    written = dataclasses.asdict(dataclasses.replace(decision, devices={}))
    # Rows and single devices give other reasons.
    del written["causes"], written["groups"], written["pending"], written["post_filter"]
    return {**written, "devices": [(claim.key, str(allocation.devices)) for claim, allocation in decision.devices.items()]}


@RANDOM
@given(clusters(), clusters(counted=True, running=2))
def test_greedy_decides_the_same_with_and_without_rows(any_cluster: Cluster, counted: Cluster):
    for objects in (manifests(any_cluster), manifests(counted)):
        (with_rows,) = run_cycle(load(objects)).decisions
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interchangeable, "count_devices", lambda *_: None)
            (without,) = run_cycle(load(objects)).decisions
        assert as_values(with_rows) == as_values(without)


TWICE = [device_slice("n1", "x", pool="bad", name=f"bad-{number}", count=2) for number in range(2)]
"""A pool with two devices of one name."""
IN_ONE = [device_slice("n1", "x", "x", pool="bad", name="bad")]
UNCOUNTED = {"consumesCounters": [{"counterSet": "none", "counters": {"memory": {"value": "1"}}}]}
COUNTERLESS = [device_slice("n1", device("x", **UNCOUNTED), pool="bad", name="bad")]
NONE = request(selectors=[{"cel": {"expression": "device.driver == 'none'"}}])


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([*TWICE, device_slice("n1", "a"), wanting("o"), wanting()], id="the last device is taken"),
        pytest.param([*TWICE, device_slice("n1", "a"), template("two", request(count=2)), wanting("p", "g:two")], id="too few devices"),
        pytest.param([*TWICE, template("none", NONE), wanting("p", "g:none")], id="no device, and a device twice"),
        pytest.param([*IN_ONE, template("none", NONE), wanting("p", "g:none")], id="no device, and a device twice in a slice"),
        pytest.param([*COUNTERLESS, template("none", NONE), wanting("p", "g:none")], id="no device, and a missing counter"),
    ],
)
def test_node_with_too_few_counted_devices_and_an_invalid_pool_has_that_reason(objects):
    (why,) = (why for each in run_cycle(load([*BASE, *objects])).decisions for why in reasons_of(each).values())
    assert why == "0/2 nodes are available: 1 cannot allocate all claims, 1 invalid resource pools were encountered."


def of_nodes(decision: Decision) -> dict[str, list[str]]:
    """Return the reasons of nodes, by pod."""
    return {pod: re.findall(r"nodes are available: [^.]*", why) for pod, why in reasons_of(decision).items()}


@RANDOM
@given(clusters(counted=True, running=2), st.sampled_from((TWICE, COUNTERLESS)))
def test_greedy_gives_the_same_reasons_with_and_without_rows(cluster: Cluster, bad: list[Json]):
    objects = [*manifests(cluster), *bad]
    (with_rows,) = run_cycle(load(objects)).decisions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interchangeable, "count_devices", lambda *_: None)
        (without,) = run_cycle(load(objects)).decisions
    assert (of_nodes(with_rows), as_values(with_rows)) == (of_nodes(without), as_values(without))


@pytest.mark.parametrize(("entries", "counted"), [(("s=shared", "g:one"), False), (("g:one", "s=shared"), True)])
def test_claims_whose_devices_kube_scheduler_can_exchange_are_not_counted(entries, counted):
    fabric = device_slice(None, "f", pool="fabric", allNodes=True, driver="fabric")
    own, other = (
        device_class(name, selectors=[{"cel": {"expression": f"device.driver == '{driver}'"}}]) for name, driver in DRIVERS.items()
    )
    shared = resource_claim("shared", request("x", "other"))
    objects = [*NODES, own, other, template(), device_slice("n1", "a"), fabric, shared, *(wanting(name, *entries) for name in "pq")]
    assert counted == bool(rows(*objects))


@pytest.mark.parametrize(
    ("capacity", "searched"),
    [
        pytest.param([f"{DRIVER}/memory"], False, id="with the domain"),
        pytest.param(["memory", f"{DRIVER}/memory"], True, id="both names: which one counts is known when a device is searched"),
    ],
)
def test_a_capacity_with_two_names_is_not_counted(capacity, searched):
    offered = device("a", capacity={name: {"value": "4"} for name in capacity})
    claim = template("one", request(capacity={"requests": {f"{DRIVER}/memory": "1"}}))
    snapshot = load([node("n0"), device_class(), device_slice("n0", offered), claim, wanting("p", "x:one")])

    assert searched is StatefulPlugins(snapshot).touches(snapshot.pods[0])


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_claim_to_all_devices_takes_those_that_the_node_reaches(strategy):
    """Each device of the pool is on a node of its own."""
    devices = [device(name, nodeName=on) for name, on in (("a", "n1"), ("b", "n2"))]
    pool = device_slice(None, *devices, pool="shared", perDeviceNodeSelection=True)
    pods = [wanting(f"p{number}", "x:one", group="g") for number in range(2)]
    objects = [*NODES, device_class(), template("one", request(allocationMode="All")), pool, leaf("g", 2), *pods]
    decision = decided(objects, strategy=strategy)

    assert decision.status is Status.SUCCESS
    assert {"n1", "n2"} == {*decision.assignments.values()}
