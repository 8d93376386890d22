"""Devices on the page: drawn like other resources of the nodes, in the figures of roots and on the map."""

from __future__ import annotations

from typing import Any

import pytest

from muster.html.device_rows import with_device_rows
from scheduler_core.cluster.load import load
from scheduler_core.model.snapshot import ClusterSnapshot
from tests.muster.paged import read, rendered
from tests.scheduler_core.builders import leaf, node, pod
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
)

NODES = [node("a", rack="r1"), node("b", rack="r2")]
SLICES = [device_slice("a", "x", "y"), device_slice("b", "x")]


def rows(*objects: dict[str, Any]) -> dict[str, list[int]]:
    """Return the rows about devices: number of devices on each node."""
    snapshot = load([*NODES, device_class(), *objects])
    changed = with_device_rows(snapshot).nodes
    return {name: changed.allocatable[row].tolist() for name, row in changed.row.items() if name not in snapshot.nodes.row}


def amounts(snapshot: ClusterSnapshot) -> dict[str, int]:
    """Return the number of devices that each pod requests or has."""
    row = snapshot.nodes.row["gpu"]
    return {each.name: dict(each.shape.requests).get(row, 0) for each in snapshot.pods}


def test_devices_of_a_request_are_a_row() -> None:
    assert rows(*SLICES, template(), wanting()) == {"gpu": [2, 1]}


def test_requests_of_one_class_with_other_selectors_have_a_number() -> None:
    large = [{"cel": {"expression": f"device.attributes['{DRIVER}'].?large.orValue(false)"}}]
    published = device_slice("a", device("x"), {"name": "y", "attributes": {"large": {"bool": True}}})
    objects = [published, template(), template("large", request(selectors=large)), wanting("p"), wanting("q", "g:large")]

    assert rows(*objects) == {"gpu": [2, 0], "gpu (2)": [1, 0]}


def test_a_class_with_the_name_of_a_resource() -> None:
    assert rows(*SLICES, device_class("cpu"), template("one", request(device_class="cpu")), wanting()) == {"cpu (2)": [2, 1]}


def test_devices_of_running_pods_are_theirs() -> None:
    used = resource_claim("c", devices=["gpu=a/x"], users=["r"])
    gone = resource_claim("d", devices=["gpu=b/x"], users=["gone"])
    changed = with_device_rows(
        load([*NODES, device_class(), *SLICES, template(), used, gone, wanting("r", "x=c", on="a"), wanting(), pod("n")])
    )

    assert amounts(changed) == {"n": 0, "p": 1, "r": 1}
    assert changed.nodes.allocatable[changed.nodes.row["gpu"]].tolist() == [2, 0]


def test_devices_of_a_claim_with_constraints_are_rows() -> None:
    pair = template("one", request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])

    assert rows(*SLICES, pair, wanting()) == {"gpu": [2, 1]}


@pytest.mark.parametrize(
    "objects",
    [
        [*SLICES, template("one", request(allocationMode="All")), wanting()],
        [*SLICES, template("one", request(adminAccess=True)), wanting()],
        [*SLICES, template("one", {"name": "g", "firstAvailable": [{"name": n, "deviceClassName": "gpu"} for n in "ab"]}), wanting()],
        [*SLICES, resource_claim("s"), wanting("p", "x=s"), wanting("q", "x=s")],
        [device_slice(None, "x", pool="fabric", nodeSelector=only_on("a", "b")), template(), wanting()],
        [device_slice("a", device("x", allowMultipleAllocations=True)), template(), wanting()],
        [*SLICES, template("one", request(selectors=[{"cel": {"expression": "device.attributes['a'].b == 1"}}])), wanting()],
        [template(), wanting()],
        [*SLICES],
    ],
    ids=[
        "all",
        "admin",
        "alternatives",
        "shared",
        "several nodes",
        "shares",
        "a selector that fails",
        "no devices",
        "no pods",
    ],
)
def test_what_cannot_be_counted_by_node_is_no_row(objects: list[dict[str, Any]]) -> None:
    assert rows(*objects) == {}


def test_a_snapshot_without_devices_is_the_same() -> None:
    snapshot = load([*NODES, pod("p")])

    assert with_device_rows(snapshot) is snapshot


def test_the_page_has_the_devices_that_decide() -> None:
    members = [leaf("g", 3, "rack"), *(wanting(f"p{number}", group="g") for number in range(3))]
    text = read(rendered([*NODES, device_class(), *SLICES, template(), *members])).text

    assert "No rack has capacity for more than 2 of its 3 pods: 2 free devices of class gpu for claim g, 3 needed." in text
    assert "gpu free in each rack" in text
    assert "in one rack; a pod takes 1 cpu, 1 gpu" in text
    assert "device of class gpu each" not in text


def test_no_figure_shows_enough_capacity_if_devices_are_the_reason() -> None:
    shared = device("x", capacity={"bandwidth": {"value": "100G"}}, allowMultipleAllocations=True)
    wanted = template("one", request(capacity={"requests": {"bandwidth": "60G"}}))
    pods = [wanting("p0", group="g"), wanting("p1", group="g")]
    page = rendered([*NODES[:1], device_class(), device_slice("a", shared), wanted, leaf("g", 2), *pods], strategy="complete")

    assert "with 60G of bandwidth left" in page
    assert [] == read(page).all(css="gauges")


def test_nodes_that_a_claim_excludes_are_named_on_the_map() -> None:
    objects = [*NODES, device_class(), device_slice("a", "x"), template(), *(wanting(name, group="g") for name in "pq"), leaf("g", 2)]

    assert "closed to pending pods: not selected by them, or without devices for them" in rendered(objects, strategy="complete")
