"""Nodes written by hand without ``allocatable.pods`` take 110 pods, with a note; kube-scheduler, and nodes of a cluster, take none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_fit import judged, saved

pytestmark = pytest.mark.usefixtures("folder")

NOTE = "status.allocatable.pods is missing and taken as 110: there is no metadata.uid, so it was written by hand"


def by_hand(name: str, cpu: str = "1000", field: str = "allocatable", uid: str = "", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels, **({"uid": uid} if uid else {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {field: {"cpu": cpu, "memory": "1Ti"}}}


def notes(answer: dict[str, Any]) -> list[str]:
    return [f"{each['reason']} {each['object']}: {each['message']}" for each in answer.get("notes", ())]


PODS = [pod(f"p{number}", cpu="1m") for number in range(110)]


@pytest.mark.parametrize(
    "made", [by_hand("n1"), by_hand("n1", field="capacity"), by_hand("n1", pods="x")], ids=["n", "capacity", "a label"]
)
def test_a_node_written_by_hand_takes_110_pods(made: dict[str, Any]) -> None:
    status, answer = judged(PODS, [made])
    assert (0, "fits", [f"PodSlotsAssumed Node n1: {NOTE}"]) == (status, answer["verdict"], notes(answer))
    assert (1, "does-not-fit") == (judged([*PODS, pod("more", cpu="1m")], [made])[0], judged([*PODS, pod("more")], [made])[1]["verdict"])


@pytest.mark.parametrize(
    ("made", "options"),
    [
        pytest.param(by_hand("n1"), ("--strategy", "greedy"), id="greedy"),
        pytest.param(by_hand("n1", uid="a-b"), (), id="a node of a cluster"),
    ],
)
def test_other_nodes_take_none(made: dict[str, Any], options: tuple[str, ...]) -> None:
    status, answer = judged([pod("p")], [made], *options)
    assert (1, "does-not-fit", []) == (status, answer["verdict"], notes(answer))


def test_several_nodes_are_one_note_and_a_stated_number_stays() -> None:
    stated = by_hand("n3")
    stated["status"]["allocatable"]["pods"] = "0"
    _, answer = judged([pod("p")], [by_hand("n1"), by_hand("n2"), stated, node("n4")])
    assert [f"PodSlotsAssumed Node n1, Node n2: {NOTE}"] == notes(answer)
    assert 1 == judged([pod("p")], [stated])[0]


def test_a_change_of_a_number_is_judged_alike() -> None:
    arguments = ["fit", saved("web.json", [DEPLOYMENT]), "--objects", saved("nodes.json", [by_hand("n1", cpu="4")]), "--scale"]
    answer = CliRunner().invoke(cli.main, arguments)
    assert "replicas" in answer.stdout
    assert "fits up to 4" in answer.stdout


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}


def test_simulate_its_batch_and_topology_assume_them_too() -> None:
    cluster = saved("cluster.json", [by_hand("n1"), pod("p")])
    answer = CliRunner().invoke(cli.main, ["simulate", cluster])
    assert (0, True) == (answer.exit_code, "Node n1: status.allocatable.pods is missing and taken as 110" in answer.stdout)

    line = json.dumps({"id": 1, "objects": [by_hand("n1"), pod("p")]})
    answer = CliRunner().invoke(cli.main, ["simulate", "--batch", "-"], input=line)
    assert (0, 1) == (answer.exit_code, len(notes(json.loads(answer.stdout))))
    answer = CliRunner().invoke(cli.main, ["simulate", "--batch", "-", "--strategy", "greedy"], input=line)
    assert 1 == answer.exit_code

    answer = CliRunner().invoke(cli.main, ["topology", "--objects", cluster, "--resource", "pods"])
    assert (0, f"muster topology: Node n1: {NOTE}\n") == (answer.exit_code, answer.stderr)
    assert "0 of 110" in answer.stdout
