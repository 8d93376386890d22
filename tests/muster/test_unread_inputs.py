"""What could not be read is named in the first lines of fit, simulate, topology and why, and the exit status is 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_fit import saved
from tests.muster.test_simulate_controllers import job
from tests.muster.test_snapshot_cluster import SCHEDULING, Api, api
from tests.scheduler_core.plugins.device_objects import device, device_slice

__all__ = ["api"]

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]


def run(*arguments: str) -> tuple[int, list[str], str]:
    """Return the exit status, the lines of standard output, and standard error."""
    answer = CliRunner().invoke(cli.main, list(arguments))
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, answer.stdout.splitlines(), answer.stderr


def changed(made: Json, path: str, value: object) -> Json:
    """Return a copy of *made* with *value* at a dotted path."""
    copy: Json = json.loads(json.dumps(made))
    *outer, last = path.split(".")
    inner = copy
    for key in outer:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    inner[last] = value
    return copy


MISSPELT = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}, "status": {"allocateable": {"cpu": "4", "pods": "110"}}}
BROKEN = {
    "a quantity of a node": (changed(node("n2"), "status.allocatable.cpu", "64GB"), '! Node n2: status.allocatable[cpu]: "64GB" is not a'),
    "a field of a node": (MISSPELT, "! Node n2: status.allocatable is missing: a node has no field status.allocateable;"),
    "a type in a node": (changed(node("n2"), "spec", {"taints": "no"}), "! Node n2: spec.taints must be a list"),
    "a slice": (
        changed(device_slice("n1", device("d", {})), "spec.pool.resourceSliceCount", "oops"),
        "! ResourceSlice ",
    ),
    "a pod": (changed(pod("q", on="n1"), "spec.containers.0.resources.requests.cpu", "x"), "! Pod default/q: spec.containers[0]."),
    "a quota": (
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}, "spec": "all"},
        "! ResourceQuota default/q: spec must be an object",
    ),
    "an object without a kind": ({"apiVersion": "v1", "metadata": {"name": "a"}}, "! Object a: kind is missing"),
}


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize(("broken", "want"), BROKEN.values(), ids=BROKEN)
def test_fit_and_simulate_name_it_first_and_judge_the_rest(broken: Json, want: str, strategy: str) -> None:
    mine, cluster = saved("mine.json", [pod("p")]), saved("cluster.json", [node("n1"), broken])
    status, lines, _ = run("fit", mine, "--objects", cluster, "--strategy", strategy)
    assert (2, "○ fits: Pod p: 1 pod on n1; 1 input of the cluster could not be read") == (status, lines[0])
    assert lines[1].startswith(want)

    together = saved("job.json", [job(1)]) if broken.get("kind") == "ResourceQuota" else mine  # Only new pods are admitted by it.
    for arguments in ((mine, "--objects", cluster), (together, cluster)):
        status, lines, _ = run("simulate", *arguments, "--strategy", strategy)
        assert (2, True, True) == (status, lines[0].startswith(want), any(each.startswith("✓") and each.endswith(" n1") for each in lines))
        assert "Problems in the input:" not in lines


@pytest.mark.parametrize("name", ["a quantity of a node", "a field of a node", "a slice", "a pod", "an object without a kind"])
def test_topology_names_it_and_shows_the_rest(name: str) -> None:
    broken, want = BROKEN[name]
    status, lines, errors = run("topology", "--objects", saved("cluster.json", [node("n1"), broken]))
    assert (2, True, True) == (status, errors.startswith(f"muster topology: {want.removeprefix('! ')}"), lines[-1].startswith("█ used"))


@pytest.mark.parametrize(("number", "want"), [(1, "Node n0, the only one, could not be read"), (3, "none of the 3 Nodes could be read")])
def test_nodes_that_could_not_be_read_are_not_missing(number: int, want: str) -> None:
    nodes = [changed(node(f"n{each}"), "status.allocatable.cpu", "4G B") for each in range(number)]
    mine, cluster = saved("mine.json", [pod("p")]), saved("cluster.json", nodes)
    for arguments in ((mine, "--objects", cluster), (saved("all.json", [pod("p"), *nodes]),)):
        status, lines, _ = run("fit", *arguments)
        assert (2, f"○ nothing to judge: {want}") == (status, lines[0])
        assert lines[1].startswith("! Node n0")
    assert run("simulate", mine, cluster)[2] == f"muster simulate: {want}\n"
    assert "there is no Node in cluster.json that could be read" in run("topology", "--objects", cluster)[2]


def test_nodes_come_first_and_the_rest_is_counted_and_listed() -> None:
    pods = [changed(pod(f"q{each}", on="n1"), "spec.containers.0.resources.requests.cpu", f"x{each}") for each in range(5)]
    broken = changed(node("z"), "status.allocatable.cpu", "x")
    arguments = ("simulate", saved("mine.json", [pod("p")]), saved("cluster.json", [node("n1"), *pods, broken]))
    status, lines, _ = run(*arguments)
    text = "\n".join(lines)
    assert (2, True) == (status, lines[0].startswith("! Node z: "))
    assert "! and 3 more inputs that could not be read, listed below" in lines
    assert [1] * 6 == [text.count(each) for each in ("Node z:", *(f"Pod default/q{number}:" for number in range(5)))]
    _, lines, _ = run(*arguments, "--verbose")
    assert 6 == sum(each.startswith("! ") for each in lines)


def test_everything_that_was_read_is_a_clean_answer() -> None:
    mine, cluster = saved("mine.json", [pod("p")]), saved("cluster.json", [node("n1")])
    for arguments in (("fit", mine, "--objects", cluster), ("simulate", mine, cluster), ("topology", "--objects", cluster)):
        status, lines, errors = run(*arguments)
        assert (0, "", []) == (status, errors, [each for each in lines if each.startswith("!")])


LIVE = ("--cluster", "--kubeconfig", "config")


def live(command: str, tmp_path: Path) -> tuple[int, list[str], str]:
    (tmp_path / "mine.json").write_text(json.dumps(pod("mine")), encoding="utf-8")
    return run(command, *(["mine.json"] if command == "fit" else []), *LIVE)


@pytest.fixture
def forbidden(api: Api) -> str:
    api.broken[f"{SCHEDULING}/v1/priorityclasses"] = 403, {"message": "priorityclasses is forbidden"}
    return "priorityclasses: cannot be listed: HTTP 403: priorityclasses is forbidden"


def test_a_kind_of_a_live_cluster_that_must_not_be_listed_was_not_read(forbidden: str, tmp_path: Path) -> None:
    status, lines, _ = live("fit", tmp_path)
    assert (2, f"! {forbidden}") == (status, lines[1])
    status, _, errors = live("topology", tmp_path)
    assert (2, f"muster topology: {forbidden}\n") == (status, errors)


def test_a_live_cluster_whose_nodes_could_not_be_read_is_not_judged(api: Api, tmp_path: Path) -> None:
    nodes = api.lists["/api/v1/nodes"][2]
    for each in nodes:
        each["status"] = {}
    status, lines, _ = live("fit", tmp_path)
    assert (2, "○ nothing to judge: none of the 3 Nodes could be read") == (status, lines[0])
    del nodes[:]
    assert 1 == live("fit", tmp_path)[0]
