"""Work of the commands grows with the size of an input, and not with its square; counted are the calls of Python functions."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from muster.cli import main
from tests.muster.simulated import node, pod

VERSION = "scheduling.k8s.io/v1alpha3"
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def chain(size):
    """Groups, each of which is the parent of the next one."""
    groups = []
    for number in range(size):
        kind, policy = ("CompositePodGroup", "minGroupCount") if number + 1 < size else ("PodGroup", "minCount")
        spec = {"schedulingPolicy": {"gang": {policy: 1}}}
        spec |= {"parentCompositePodGroupName": f"g{number - 1}"} if number else {}
        groups.append({"apiVersion": VERSION, "kind": kind, "metadata": {"name": f"g{number}"}, "spec": spec})
    member = pod("p")
    member["spec"]["schedulingGroup"] = {"podGroupName": f"g{size - 1}"}
    return [*groups, member], [node("n1")]


def tainted(size, effect, operator):
    tolerations = [{"key": f"k{number % 7}", "operator": operator, "value": f"v{3 * number}"} for number in range(size)]
    taints = [{"key": f"k{number % 7}", "value": f"v{number}", "effect": effect} for number in range(size)]
    waiting, machine = pod("p"), node("n1")
    waiting["spec"]["tolerations"], machine["spec"] = tolerations, {"taints": taints}
    return [waiting], [machine]


def numbered(size):
    waiting, machine = pod("p"), node("n1")
    waiting["spec"]["tolerations"] = [{"key": "k", "operator": "Lt", "value": str(-number)} for number in range(size)]
    machine["spec"] = {"taints": [{"key": "k", "value": str(number), "effect": "NoSchedule"} for number in range(size)]}
    return [waiting], [machine]


def selecting(size, operator):
    waiting = pod("p")
    terms = [{"matchExpressions": [{"key": "rack", "operator": operator, "values": [f"x{number}"]}]} for number in range(size)]
    waiting["spec"]["affinity"] = {"nodeAffinity": {TERMS: {"nodeSelectorTerms": terms}}}
    return [waiting], [node(f"n{number}", rack=f"r{number}") for number in range(size)]


def nameless(size):
    """Invalid objects, of which many have one name."""
    metadata = {"generateName": "a-"}
    content = [{"name": "c", "image": "x"}]
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": content, "restartPolicy": f"x{number}"}}
        for number in range(size)
    ], [node("n1")]


INPUTS = {
    "chain": (chain, 60),
    "taints": (lambda size: tainted(size, "NoSchedule", "Equal"), 150),
    "soft taints": (lambda size: tainted(size, "PreferNoSchedule", "Equal"), 150),
    "numeric taints": (numbered, 150),
    "terms": (lambda size: selecting(size, "In"), 80),
    "negative terms": (lambda size: selecting(size, "NotIn"), 80),
    "nameless": (nameless, 60),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calls(folder, command, path, cluster):
    """Return the number of calls that *command* makes."""
    (folder / "path.json").write_text("\n".join(map(json.dumps, path)))
    (folder / "cluster.json").write_text("\n".join(map(json.dumps, cluster)))
    number = 0

    def count(frame, event, argument):
        nonlocal number
        number += event in {"call", "c_call"}

    arguments = [command, "path.json", "--objects", "cluster.json"]
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        sys.setprofile(before)
    assert isinstance(result.exception, SystemExit | None)
    return number


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize("name", INPUTS)
def test_four_times_the_input_is_no_more_than_four_times_the_work(folder, command, name):
    build, size = INPUTS[name]
    calls(folder, command, *build(2))  # modules are imported
    small, large = (calls(folder, command, *build(each)) for each in (size, 4 * size))
    assert large < 5 * small
