"""The short text of fit: at most ten lines about one object, one line each about several, in the words of the person who wrote them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from muster import cli, standard_output
from tests.muster.simulated import node, pod
from tests.muster.test_fit import fit, ranked
from tests.muster.test_fit_quotas import quota
from tests.muster.test_simulate_controllers import deployment, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

FOLDER = Path(__file__).parents[1] / "cases" / "fit"
NODES = [node("n1", cpu="4", rack="a"), node("n2", cpu="4", rack="b")]
INTERNAL = re.compile(r"-root|in the order of the queue|UnschedulableAndUnresolvable|Group default/")
"""Words that a person did not write."""
RAY = yaml.safe_load((FOLDER / "raycluster.yaml").read_text(encoding="utf-8"))


def text(mine: list[Any], cluster: list[Any], *options: str) -> list[str]:
    return fit(mine, cluster, *options)[1].splitlines()


def named(name: str, pods: int) -> dict[str, Any]:
    made = job(pods)
    return {**made, "metadata": {**made["metadata"], "name": name}}


SHORT = {
    "fits": ([job(2)], ["✓ fits: Job train: 2 pods on n1, n2"]),
    "a gang": (
        [ranked("Job", 3)],
        [
            "✗ does not fit: Job train",
            "  it does not fit in any rack (3 pods with 2 cpu each): racks a and b can hold 2 each (short of 2",
            "    cpu: 4 free, 6 needed)",
            "  the smallest change that helps: topology constraint rack of Job train dropped",
            "  or: minCount of Job train lowered from 3 to 2",
            "  or: 1 more node in rack a like n1",
            "  -v lists groups, nodes and reasons",
        ],
    ),
    "pods one by one": (
        [deployment(5)],
        [
            "✗ does not fit: Deployment web: 1 of 5 pods has no node",
            "  pod web-3c4bc039f8-4 (2 cpu) does not fit on any node in the cluster: short of 2 cpu: 0 free, 2",
            "    needed",
            "  the smallest change that helps: 1 more node like n1",
            "  -v lists groups, nodes and reasons",
        ],
    ),
    "several": (
        [named("a", 1), deployment(9), named("b", 2)],
        [
            "✗ does not fit: 1 of 3 objects",
            "  the smallest change with which all fit: 4 more nodes like n1",
            "  ✗ Deployment web: pod web-3c4bc039f8-1 (2 cpu) does not fit on any node in the cluster: short of 2",
            "    cpu: 0 free, 2 needed (8 of 9 pods have no node)",
            "  ✓ Job a: 1 pod on n1",
            "  ✓ Job b: 2 pods on n1, n2",
            "  -v lists groups, nodes and reasons",
        ],
    ),
    "several that fit": (
        [named("a", 1), named("b", 2)],
        ["✓ fits: 2 objects, 3 pods", "  ✓ Job a: 1 pod on n1", "  ✓ Job b: 2 pods on n1, n2"],
    ),
    "a part is not judged": (
        [job(2), manifest("Sandbox", "a.example/v1", template={"spec": {"containers": [{"name": "c"}]}})],
        [
            "○ fits: Job train: 2 pods on n1, n2; 1 object at PATH was skipped and not judged",
            "! Sandbox default/web: Sandbox (a.example) is not supported; its pods are not simulated; to judge it",
            "  anyway: --pod-template 'Sandbox.a.example=spec.template'",
        ],
    ),
}


@pytest.mark.parametrize(("mine", "want"), SHORT.values(), ids=SHORT)
def test_text(mine, want):
    assert want == text(mine, NODES)


def important(name: str, on: str, cpu: str) -> dict[str, Any]:
    made = pod(name, cpu=cpu, on=on)
    return {**made, "spec": {**made["spec"], "priority": 10}}


def apart(replicas: int) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    made = copy.deepcopy(deployment(replicas))
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made["spec"]["template"]["spec"]["affinity"] = affinity
    return made


BEYOND_SUMS = {
    "a node holds less than it has": (
        [job(5)],
        [node("n1", cpu="3")],
        [],
        "4 more nodes like n1, not 3 as by the sum of requests: each holds only 1 pod",
    ),
    "what is free is in pieces": (
        [job(4)],
        [*(node(f"n{number}", cpu="3") for number in range(3)), important("p", "n0", "1")],
        [],
        "1 more node like n0",
    ),
    "pods of two sizes, one by one": (
        [pod("a", cpu="1"), pod("b", cpu="1"), pod("y", cpu="4"), pod("z", cpu="4")],
        NODES,
        [],
        "2 more nodes like n1, not 1 as by the sum of requests: the pods get their nodes one by one, spread and not packed",
    ),
    "a rule about other pods": (
        [apart(4)],
        NODES,
        ["--gang"],
        "2 more nodes like n1, though the sum of what is free is enough: because of the pod anti-affinity of the pods",
    ),
    "no more than the sums": ([job(4)], [node("n1", cpu="4")], [], "1 more node like n1"),
    "other pods can take some": ([job(5)], [node("n1", cpu="3"), pod("other", cpu="2")], [], "5 more nodes like n1"),
}


@pytest.mark.parametrize(("mine", "cluster", "more", "want"), BEYOND_SUMS.values(), ids=BEYOND_SUMS)
def test_more_nodes_than_the_sum_of_requests_are_explained(mine, cluster, more, want, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = text(mine, cluster, *more)
    assert any(each.endswith(f": {want}") for each in lines), lines


def test_what_the_api_server_refuses():
    lines = text([job(4)], [*NODES, quota(pods="3")])
    assert lines[0] == "✗ does not fit: Job train"
    assert lines[1].startswith("  quota default/team-a leaves 3 pods, 4 needed")
    assert lines[-1] == "  -v lists groups, nodes and reasons"


def test_evictions_say_where_the_pods_are_then():
    low = {**pod("low", cpu="4", on="n1"), "spec": {**pod("low", cpu="4", on="n1")["spec"], "priority": -5}}
    assert ["→ fits after evicting 1 pod: Pod low", "  Job train: 4 pods on n1 \u00d72, n2 \u00d72"] == text([job(4)], [*NODES, low])[:2]


def test_at_most_twenty_objects():
    lines = text([named(f"j{number}", 1 if number % 2 else 40) for number in range(30)], NODES)
    marks = [each.strip()[0] for each in lines if each.startswith(("  ✗", "  ✓"))]
    assert ["✗"] * 20 == marks
    assert "  … and 10 more objects, 10 of which do not fit" in lines


@pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.glob("*.yaml") if each.stem != "cluster"))
@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("gang", [(), ("--gang",)], ids=["as it is", "gang"])
def test_every_kind_in_ten_lines_without_words_of_the_scheduler(name, columns, gang, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    arguments = ["fit", str(FOLDER / f"{name}.yaml"), "--objects", str(FOLDER / "cluster.yaml"), *gang]
    lines = CliRunner().invoke(cli.main, arguments).stdout.splitlines()
    assert 1 <= len(lines) <= 10
    assert not INTERNAL.search(" ".join(each for each in lines if "note:" not in each))
    assert [] == [each for each in lines if len(each) > columns and " " in each.strip()[: columns - 6]]


def test_details_are_requested_once_for_groups_and_twice_for_pods():
    short, groups, pods = (text([job(3)], NODES, *options) for options in ((), ("-v",), ("-vv",)))
    assert len(short) < len(groups) < len(pods)
    assert any(each.startswith("✓ PodGroup default/train-job-root") for each in groups)
    assert {"train-0 → ", "train-1 → ", "train-2 → "} <= {each.strip()[:10] for each in pods}


@pytest.mark.parametrize(("value", "want"), [("72", 72), ("40", 60), ("999", 200), ("0", 100), ("", 100), ("wide", 100), ("\uff190", 100)])
def test_columns(value, want, monkeypatch):
    monkeypatch.setenv("COLUMNS", value)
    assert want == standard_output.columns()


def test_a_file_has_the_same_text_whatever_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert text([ranked("Job", 3)], NODES, "-o", "text=file.txt") != SHORT["a gang"][1]
    assert SHORT["a gang"][1] == Path("file.txt").read_text(encoding="utf-8").splitlines()
