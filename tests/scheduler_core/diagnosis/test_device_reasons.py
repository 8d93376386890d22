"""Messages about devices: numbers of a domain, selectors in words, taints, constraints, claims that are allocated elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduler_core.builders import decided, message_of, node
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    resource_claim,
    template,
    wanting,
    wanting_gang,
)

RACKS = [node(name, rack=rack) for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2"))]


def selector(*expressions: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": each}} for each in expressions]


def message(*objects: dict[str, Any], strategy: str = "greedy") -> str:
    return message_of(decided([device_class(), *objects], strategy=strategy))


def test_a_domain_has_too_few_devices() -> None:
    slices = [device_slice("a", "x", "y"), device_slice("b", "z"), device_slice("c", "x")]
    found = message(*RACKS, *slices, template(), *wanting_gang(4))

    assert "rack r1 can hold 3 (3 free devices of class gpu for claim g, 4 needed)" in found
    assert "rack r2 can hold 1 (1 free device of class gpu for claim g, 4 needed)" in found


def test_devices_in_use_do_not_count() -> None:
    used = resource_claim("u", devices=["gpu=a/x"], users=["other"])
    found = message(node("a"), device_slice("a", "x", "y"), used, template(), *wanting_gang(2, key=""))

    assert "1 free device of class gpu for claim g, 2 needed" in found


def test_a_domain_with_enough_devices_on_the_wrong_nodes() -> None:
    slices = [device_slice(name, "x", "y", "z") for name in "ab"]
    found = message(*RACKS[:2], *slices, template("one", request(count=2)), *wanting_gang(3))

    assert "both nodes have at most 1 free device of class gpu for claim g, 2 needed" in found


def test_a_claim_that_pods_share_is_counted_once() -> None:
    shared = resource_claim("s", request(count=3))
    found = message(*RACKS[:1], device_slice("a", "x", "y"), shared, *wanting_gang(2, "s=s"))

    assert "its only node has at most 2 free devices of class gpu for claim s, 3 needed" in found


MEMORY, MODEL = f"device.capacity['{DRIVER}'].memory", f'device.attributes["{DRIVER}"].model'


@pytest.mark.parametrize(
    ("expressions", "words"),
    [
        ([f'{MEMORY}.compareTo(quantity("80Gi")) >= 0'], "with memory >= 80Gi"),
        ([f"{MODEL} == 'a100'"], "with model == a100"),
        ([f"{MODEL} == 'a100' && {MEMORY}.compareTo(quantity('1Gi')) > 0"], "with model == a100 and memory > 1Gi"),
        ([f"{MODEL} != 'a100'", f"device.attributes['{DRIVER}'].index < 4"], "with model != a100 and index < 4"),
        ([f"!device.attributes['{DRIVER}'].index && {MEMORY}.isGreaterThan(quantity('1Gi'))"], "with no index and memory > 1Gi"),
        ([f"device.attributes['{DRIVER}'].rdma"], "with rdma"),
        ([f"{MODEL} == 'H100 && PCIe; rev: C.'"], 'with model == "H100 && PCIe; rev: C."'),
        ([f"{MODEL} == 'h100' || true", f"{MODEL} == 'h100'"], "matching the selectors of request gpu"),
        ([f"{MODEL} == 'h100' && device.attributes['b'].model != 'x'"], f"with {DRIVER}/model == h100 and b/model != x"),
        ([f"device.attributes['{DRIVER}'].?model.orValue('') == 'a100'"], "matching the selectors of request gpu"),
        ([f"{MODEL} == 'a100' || {MODEL} == 'h100'"], "matching the selectors of request gpu"),
    ],
)
def test_selectors_in_words(expressions: list[str], words: str) -> None:
    other = device(
        "x", {"model": "a100" if "!=" in expressions[0] else "b", "index": 9, "rdma": False}, capacity={"memory": {"value": "1Gi"}}
    )
    found = message(node("a"), device_slice("a", other), template("one", request(selectors=selector(*expressions))), wanting())

    assert f"its only node has no free device of class gpu {words} for claim g" in found


def test_taints_of_devices_are_named() -> None:
    taints = [{"key": "broken", "value": "yes", "effect": "NoSchedule"}]
    found = message(node("a"), device_slice("a", device("x", taints=taints)), template(), wanting())

    assert "no free device of class gpu without the taint broken=yes:NoSchedule for claim g" in found


@pytest.mark.parametrize(("kind", "words"), [("matchAttribute", "one value"), ("distinctAttribute", "different values")])
def test_constraints_are_named(kind: str, words: str) -> None:
    values = (0, 1) if kind == "matchAttribute" else (1, 1)
    devices = [device(f"d{number}", {"numa": value}) for number, value in enumerate(values)]
    pair = template("one", request(count=2), constraints=[{kind: f"{DRIVER}/numa"}])

    assert f"the free devices of its only node do not have {words} of {DRIVER}/numa for claim g" in message(
        node("a"), device_slice("a", *devices), pair, wanting()
    )


def test_reasons_differ_by_node() -> None:
    nic = request("nic", selectors=selector(f"device.attributes['{DRIVER}'].kind == 'nic'"))
    gpu = request("gpu", selectors=selector(f"device.attributes['{DRIVER}'].kind == 'gpu'"))
    pair = template("one", gpu, nic, constraints=[{"matchAttribute": f"{DRIVER}/root"}])
    found = message(
        *RACKS,
        device_slice("a", device("g", {"kind": "gpu", "root": 1})),
        device_slice("b", device("g", {"kind": "gpu", "root": 1}), device("n", {"kind": "nic", "root": 2})),
        device_slice("c", device("g", {"kind": "gpu", "root": 1})),
        pair,
        wanting(),
        strategy="complete",
    )

    assert (
        "2 of 3 nodes have no free device of class gpu with kind == nic for claim g; "
        f"the free devices of 1 of 3 nodes do not have one value of {DRIVER}/root for claim g"
    ) in found


def test_equal_requests_are_counted_together() -> None:
    found = message(node("a"), device_slice("a", "x"), template("one", request("left"), request("right")), wanting())

    assert "its only node has at most 1 free device of class gpu for claim g, 2 needed" in found


SEARCHED = pytest.mark.parametrize(
    "constraints", [[], [{"matchAttribute": f"{DRIVER}/root", "requests": ["nic"]}]], ids=["counted", "searched"]
)


@SEARCHED
def test_a_request_after_equal_ones_is_named_too(constraints: list[dict[str, Any]]) -> None:
    nic = device_class("nic", selectors=selector("device.driver == 'nic.example'"))
    requests = request("left"), request("right"), request("nic", "nic")
    found = message(nic, node("a"), device_slice("a", "x", "y"), template("one", *requests, constraints=constraints), wanting())

    assert "its only node has no free device of class nic for claim g" in found


@SEARCHED
def test_equal_requests_are_counted_together_beside_a_constraint(constraints: list[dict[str, Any]]) -> None:
    requests = request("left"), request("right")
    found = message(node("a"), device_slice("a", "x"), template("one", *requests, constraints=constraints), wanting())

    assert "its only node has at most 1 free device of class gpu for claim g, 2 needed" in found


def test_a_request_for_all_devices_needs_those_in_use() -> None:
    used = resource_claim("u", devices=["gpu=a/x"], users=["other"])
    found = message(node("a"), device_slice("a", "x", "y"), used, template("one", request(allocationMode="All")), wanting())

    assert "its only node has at most 1 free device of class gpu for claim g, all needed" in found


def partition(name: str, amount: str) -> dict[str, Any]:
    return device(name, consumesCounters=[{"counterSet": "chip", "counters": {"slices": {"value": amount}}}])


def test_used_up_counters_are_named() -> None:
    counters = device_slice(
        "a", pool="a", name="counters", count=2, sharedCounters=[{"name": "chip", "counters": {"slices": {"value": "4"}}}]
    )
    del counters["spec"]["devices"]
    partitions = device_slice("a", partition("whole", "4"), partition("half", "2"), count=2)
    used = resource_claim("u", devices=["gpu=a/half"], users=["other"])
    found = message(node("a"), counters, partitions, used, template(), wanting())

    assert "its only node has no free device of class gpu with enough shared counters left for claim g" in found


@pytest.mark.parametrize("pods", [2, 1])
def test_requested_capacity_is_named(pods: int) -> None:
    shared = device("nic", capacity={"bandwidth": {"value": "100G"}}, allowMultipleAllocations=True)
    wanted = template("one", request(capacity={"requests": {"bandwidth": "60G" if pods == 2 else "120G"}}))
    found = message(node("a"), device_slice("a", shared), wanted, *wanting_gang(pods, key=""))

    left = "60G" if pods == 2 else "120G"
    assert f"its only node has no free device of class gpu with {left} of bandwidth left for claim g" in found


def test_the_last_alternative_is_named() -> None:
    first = {"name": "all", "deviceClassName": "gpu", "count": 3}
    both = {"name": "gpu", "firstAvailable": [first, {"name": "pair", "deviceClassName": "gpu", "count": 2}]}
    found = message(node("a"), device_slice("a", "x", "y", "z"), template("one", both), *wanting_gang(2, key=""))

    assert "its only node has no free device of class gpu for the last alternative of claim g, 2 needed" in found


def test_nodes_that_another_claim_excludes_have_no_devices_that_count() -> None:
    fabric = resource_claim("f", request("channel", selectors=selector(f"device.attributes['{DRIVER}'].kind == 'channel'")))
    gpu = template("one", request(selectors=selector(f"device.attributes['{DRIVER}'].kind == 'gpu'")))
    slices = [device_slice(name, device("x", {"kind": "gpu"}), device("y", {"kind": "gpu"})) for name in "abc"]
    channel = device_slice(None, device("0", {"kind": "channel"}), pool="fabric", nodeSelector=RACK_2)
    found = message(*RACKS, *slices, channel, gpu, fabric, *wanting_gang(3, "f=f", "g:one", key=""), strategy="complete")

    assert (
        "can hold 2 (1 of 3 nodes has 2 free devices of class gpu with kind == gpu for claim g, 3 needed; "
        "2 of 3 nodes have no free device of class gpu with kind == channel for claim f)"
    ) in found


def test_devices_that_other_pods_of_the_group_take() -> None:
    fabric = resource_claim("f", request("channel", selectors=selector(f"device.attributes['{DRIVER}'].kind == 'channel'")))
    channels = [
        device_slice(None, device("0", {"kind": "channel"}), pool=f"fabric-{number}", nodeSelector=only_on(name))
        for number, name in enumerate("ab")
    ]
    small = [node(name, rack="r1", cpu="1") for name in "ab"]
    found = message(*small, *channels, fabric, *wanting_gang(2, "f=f", key="", cpu="1"), strategy="complete")

    assert "1 of 2 nodes cannot use the devices of claim f, which other pods take on node a" in found


RACK_2 = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r2"]}]}]}
TWO_TERMS = {"nodeSelectorTerms": [*RACK_2["nodeSelectorTerms"], *only_on("c")["nodeSelectorTerms"]]}


@pytest.mark.parametrize(
    ("nodes", "words"),
    [(only_on("c"), "on node c"), (RACK_2, "in rack r2"), (TWO_TERMS, "for other nodes")],
    ids=["node", "rack", "two terms"],
)
def test_claims_that_are_allocated_elsewhere(nodes: dict[str, Any], words: str) -> None:
    claim = resource_claim("c", devices=["gpu=fabric/x"], nodes=nodes)
    found = message(*RACKS[:2], claim, wanting("p", "x=c"))

    assert f"both nodes cannot use the devices of claim c, which is allocated {words}" in found
