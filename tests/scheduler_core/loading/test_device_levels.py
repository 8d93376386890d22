"""Topology levels by attributes of devices."""

from __future__ import annotations

from typing import Any

import pytest

import scheduler_core
from scheduler_core.cluster.load import load
from scheduler_core.model.options import is_device_attribute
from tests.scheduler_core.builders import leaf, node, pod, with_objects
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, only_on, request, template, wanting
from tests.scheduler_core.worded_problems import worded

KEY = f"{DRIVER}/clique"


def of_clique(on: str, *cliques: Any, **more: Any) -> dict[str, Any]:
    """Return the devices of a node, one for each of *cliques*."""
    devices = [device(f"d{number}", {"clique": each} if each is not None else None) for number, each in enumerate(cliques)]
    return device_slice(on, *devices, **more)


def level(*objects: dict[str, Any], key: str = KEY) -> tuple[tuple[str | None, ...], list[str]]:
    """Return the domains of the nodes, and the problems."""
    snapshot = load(objects, device_topology=[key])
    return snapshot.nodes.device_levels[key], [f"{each.object}: {each.message}" for each in worded(snapshot.problems)]


def test_a_node_is_in_the_domain_that_its_devices_name() -> None:
    slices = [of_clique("a", "c1", "c1"), of_clique("b", "c2", None), of_clique("c", 7)]

    assert level(*(node(name) for name in "abcd"), *slices) == (("c1", "c2", "7", None), [])


def test_a_node_whose_devices_have_several_values_is_in_no_domain() -> None:
    domains, problems = level(node("a"), node("b"), of_clique("a", "c1", "c2"), of_clique("b", "c1"))

    assert domains == (None, "c1")
    assert problems == [f"Node a: its devices have 2 values of {KEY} (c1, c2); the node is in no domain of this level"]


def test_long_lists_of_values_are_cut() -> None:
    _, (problem,) = level(node("a"), of_clique("a", *range(5)))

    assert "5 values" in problem
    assert "(0, 1, 2 and 2 more)" in problem


def test_devices_that_several_nodes_reach() -> None:
    near, free = only_on("a", "b"), {"allNodes": True}
    one = of_clique("", "c1", pool="fabric", name="fabric", nodeSelector=near)
    for_each = [{**device("x", {"clique": "c2"}), "nodeName": "c"}, {**device("y", {"other": "c"}), **free}]
    two = device_slice(None, *for_each, pool="more", name="more", perDeviceNodeSelection=True)

    assert level(*(node(name) for name in "abcd"), one, two) == (("c1", "c1", "c2", None), [])


def test_devices_of_incomplete_pools_and_old_generations_do_not_count() -> None:
    incomplete = of_clique("a", "c1", count=2)
    old, new = of_clique("b", "c1", name="old"), of_clique("b", "c2", name="new", generation=2)

    assert level(node("a"), node("b"), incomplete, old, new) == ((None, "c2"), [])


@pytest.mark.parametrize(
    ("value", "domain"),
    [({"string": "x"}, "x"), ({"int": 3}, "3"), ({"bool": True}, "true"), ({"bool": False}, "false"), ({"version": "1.2.3"}, "1.2.3")],
    ids=str,
)
def test_types_of_values(value: dict[str, Any], domain: str) -> None:
    published = device_slice("a", {"name": "d", "attributes": {KEY: value}})

    assert level(node("a"), published)[0] == (domain,)


def test_an_attribute_that_no_device_has() -> None:
    domains, (problem,) = level(node("a"), of_clique("a", "c1"), key=f"{DRIVER}/cliques")

    assert domains == (None,)
    assert (
        problem
        == f'attribute {DRIVER}/cliques: no device has this attribute, so no node is in a domain of this level; did you mean "{KEY}"?'
    )


def test_without_the_option_the_attribute_is_named() -> None:
    group = leaf("g", key=KEY, minimum=1)
    messages = [f"{each.object}: {each.message}" for each in worded(load([node("a"), of_clique("a", "c1"), group]).problems)]

    assert messages == [
        f'PodGroup default/g: no node has the topology key "{KEY}", but devices have this attribute: --device-topology {KEY} makes it a level'
    ]
    assert not load([node("a"), of_clique("a", "c1"), group], device_topology=[KEY]).problems
    assert not load([node("a", **{KEY: "x"}), of_clique("a", "c1"), group]).problems


@pytest.mark.parametrize(
    "name", ["clique", "/clique", "gpu.example.com/", "gpu.example.com/2x", "GPU/x", f"{'a' * 64}/x", f"a/{'x' * 33}", "a/b/c"]
)
def test_names_that_are_no_attributes(name: str) -> None:
    assert not is_device_attribute(name)
    with pytest.raises(ValueError, match="must be an attribute with its domain"):
        scheduler_core.simulate([], device_topology=[name])


def gang(size: int, **more: Any) -> list[dict[str, Any]]:
    pods = [wanting(f"p{number}", group="g", **more) for number in range(size)]
    return [leaf("g", key=KEY, minimum=size), *pods, device_class(), template()]


CLUSTER = [*(node(name) for name in "abcd"), of_clique("a", "c1"), of_clique("b", "c2", "c2"), of_clique("c", "c1"), of_clique("d", "c2")]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_gang_stays_in_one_domain(strategy: str) -> None:
    result = scheduler_core.simulate([*CLUSTER, *gang(3)], strategy=strategy, device_topology=[KEY])

    assert result.placed
    assert {*result.decisions[0].assignments.values()} == {"b", "d"}
    assert str(result.decisions[0].groups[0].domain) == f"Domain(key='{KEY}', value='c2')"


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_gang_that_is_too_large_for_a_domain_is_not_placed(strategy: str) -> None:
    result = scheduler_core.simulate([*CLUSTER, *gang(4)], strategy=strategy, device_topology=[KEY], remedies=1)

    assert not result.placed
    changes = [each.change for each in result.decisions[0].remedies]
    assert f"topology constraint {KEY} of PodGroup default/g dropped" in changes


def test_nodes_that_replace_others_have_their_devices() -> None:
    snapshot = load([*CLUSTER], device_topology=[KEY])
    changed = with_objects(snapshot, node("a", cpu="8"), node("e"))

    assert dict(zip(changed.nodes.names, changed.nodes.device_levels[KEY], strict=True)) == {
        "a": "c1",
        "b": "c2",
        "c": "c1",
        "d": "c2",
        "e": None,
    }


def test_a_level_is_no_label() -> None:
    """A node selector and a spread constraint with the same key read labels, as the kubelet and kube-scheduler do."""
    selecting = pod("p", nodeSelector={KEY: "c1"})

    assert not scheduler_core.simulate([*CLUSTER, selecting], device_topology=[KEY]).placed
    assert scheduler_core.simulate([*CLUSTER, node("e", **{KEY: "c1"}), selecting], device_topology=[KEY]).placed


def test_devices_of_the_request_need_not_have_the_attribute() -> None:
    """The level says where a pod runs; a claim for other devices of the node is allocated as usual."""
    others = [device_slice(name, "nic", pool=f"{name}-nics", name=f"{name}-nics", driver="nic.example") for name in "abcd"]
    selected = request(selectors=[{"cel": {"expression": "device.driver == 'nic.example'"}}])
    objects = [*CLUSTER, *others, leaf("g", key=KEY, minimum=2), wanting("p0", group="g"), wanting("p1", group="g")]
    result = scheduler_core.simulate([*objects, device_class(), template("one", selected)], device_topology=[KEY])

    assert result.placed
    assert {*result.decisions[0].assignments.values()} in ({"a", "c"}, {"b", "d"})
