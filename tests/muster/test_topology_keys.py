"""Topology keys on the command line: short names, and a key that no node has is a mistake of the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_fit import saved
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_slice

pytestmark = pytest.mark.usefixtures("folder")

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"


def labelled(name: str, **labels: str) -> dict[str, Any]:
    made = node(name)
    return {**made, "metadata": {**made["metadata"], "labels": {ZONE: "a", RACK: name, **labels}}}


NODES = [labelled("n1"), labelled("n2")]


def fit(key: str, nodes: list[dict[str, Any]], *options: str, pods: int = 1) -> tuple[int, str, str]:
    mine, cluster = saved("mine.json", [pod(f"p{number}") for number in range(pods)]), saved("cluster.json", nodes)
    answer = CliRunner().invoke(cli.main, ["fit", mine, "--objects", cluster, "--gang", "--topology", key, *options])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, answer.stdout, answer.stderr


@pytest.mark.parametrize(("key", "place"), [("rack", "rack n1"), (RACK, "rack n1"), ("zone", "zone a"), (ZONE, "zone a")])
def test_a_short_name_is_the_only_label_with_it(key: str, place: str) -> None:
    status, text, errors = fit(key, NODES)
    assert (0, "") == (status, errors)
    assert f"1 pod in {place} on n1" in text.splitlines()[0]


def test_a_label_without_a_prefix_wins_over_one_with_a_prefix() -> None:
    nodes = [labelled("n1", rack="x"), labelled("n2", rack="x")]
    assert "2 pods in rack x on n1" in fit("rack", nodes, pods=2)[1]


MISTAKES = {
    "rak": 'no node has the label "rak"; did you mean "example.com/rack"?',
    "example.com/racks": 'no node has the label "example.com/racks"; did you mean "example.com/rack"?',
    "topology.kubernetes.io/zoen": 'no node has the label "topology.kubernetes.io/zoen"; did you mean "topology.kubernetes.io/zone"?',
    "block": 'no node has the label "block"',
}


@pytest.mark.parametrize(("key", "want"), MISTAKES.items())
def test_a_key_that_no_node_has_is_a_mistake_and_no_verdict(key: str, want: str) -> None:
    assert (2, "", f"muster fit: Invalid value for --topology: {want} (see 'muster fit --help')\n") == fit(key, NODES)
    cluster = saved("cluster.json", NODES)
    answer = CliRunner().invoke(cli.main, ["topology", key, "--objects", cluster])
    assert (2, f"muster topology: Invalid value for KEY: {want} (see 'muster topology --help')\n") == (answer.exit_code, answer.stderr)


def test_an_ambiguous_name_is_a_mistake() -> None:
    want = '"rack" can be example.com/rack or example.org/rack: give the whole key'
    assert want in fit("rack", [labelled("n1", **{"example.org/rack": "x"}), *NODES])[2]
    many = {f"{letter}.example/rack": "x" for letter in "abcd"}
    assert " or 2 more: give the whole key" in fit("rack", [labelled("n1", **many)])[2]


def test_attributes_of_devices_are_keys_where_they_are_levels() -> None:
    slices = [device_slice(name, device("d", {"clique": "c1"})) for name in ("n1", "n2")]
    key = f"{DRIVER}/clique"
    assert f"; for an attribute of devices, give --device-topology {key} too" in fit(key, [*NODES, *slices])[2]
    assert 0 == fit(key, [*NODES, *slices], "--device-topology", key)[0]


def test_without_nodes_nothing_is_judged() -> None:
    status, text, _ = fit("rack", [])
    assert (2, True) == (status, text.startswith("○ nothing to judge: there is no Node among the inputs"))


def test_the_levels_of_a_topology_have_short_names() -> None:
    arguments = ["topology", "zone", "rack", "--objects", saved("cluster.json", NODES), "--format", "json"]
    assert [ZONE, RACK] == json.loads(CliRunner().invoke(cli.main, arguments).stdout)["levels"]
