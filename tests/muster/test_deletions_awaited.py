"""Evictions after the end of deletions that are under way: the sequence is that of kube-scheduler, and the verdict says what is awaited."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muster.simulated import RACK, node, pod
from tests.muster.test_own_groups import fit
from tests.muster.test_simulate_controllers import manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def job(pods: int, cpu: str = "4", **spec: Any) -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "priorityClassName": "high", "containers": [container]}}
    return manifest("Job", "batch/v1", "train", parallelism=pods, completions=pods, completionMode="Indexed", template=template, **spec)


def gang(pods: int, cpu: str = "4", topology: str = "") -> Json:
    constraint = {"schedulingConstraints": {"topology": [{"key": topology}]}} if topology else {}
    return job(pods, cpu, scheduling={"schedulingPolicy": {"gang": {}}, **constraint})


def nodes(count: int) -> list[Json]:
    return [node(f"n{number}", cpu="4", **{RACK: f"r{(number - 1) // 2}"}) for number in range(1, count + 1)]


def low(name: str, on: str, cpu: str = "4") -> Json:
    return pod(name, cpu=cpu, on=on, priority=0)


def gone(name: str, on: str, cpu: str = "4", priority: int = 0) -> Json:
    content = pod(name, cpu=cpu, on=on, priority=priority)
    return {**content, "metadata": {**content["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


ONE, TWO = "1 pod that is being deleted: Pod default/g", "2 pods that are being deleted: Pod default/g and Pod default/h"
AWAITED = {
    "pods without a gang, one of each": (job(2), [*nodes(2), gone("g", "n1"), low("l", "n2")], 1, ONE),
    "a gang, one of each": (gang(2), [*nodes(2), gone("g", "n1"), low("l", "n2")], 1, ONE),
    "one that has a higher priority": (gang(2), [*nodes(2), gone("g", "n1", priority=5000), low("l", "n2")], 1, ONE),
    "both on one node": (job(1), [*nodes(1), gone("g", "n1", "2", 5000), low("l", "n1", "2")], 1, ONE),
    "fewer evictions than without it": (job(2), [*nodes(3), gone("g", "n1"), low("l", "n2"), low("m", "n3")], 1, ONE),
    "two that are being deleted": (job(3), [*nodes(3), gone("g", "n1"), gone("h", "n2", priority=5000), low("l", "n3")], 1, TWO),
    "one that nobody waits for": (
        gang(2),
        [*nodes(2), node("n3", cpu="1"), gone("g", "n1", priority=5000), low("l", "n2"), gone("other", "n3", "1")],
        1,
        ONE,
    ),
    "a gang in one rack": (gang(2, topology=RACK), [*nodes(4), gone("g", "n1"), low("l", "n2"), gone("k", "n3", "1", 5000), *(
        pod(name, cpu=cpu, on=on, priority=5000) for name, cpu, on in (("x", "3", "n3"), ("y", "4", "n4")))], 1, ONE),
}  # fmt: skip


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize(("mine", "cluster", "evicted", "awaited"), AWAITED.values(), ids=AWAITED)
def test_evictions_after_deletions_have_both_in_the_verdict(mine, cluster, evicted, awaited, strategy):
    status, answer = fit([mine], [HIGH, *cluster], "--strategy", strategy)

    assert (1, "fits-after-eviction") == (status, answer["verdict"])
    assert answer["message"].startswith(f"fits after evicting {evicted} pod")
    assert answer["message"].endswith(f"; first, wait for {awaited}")
    victims = {each for decision in answer["decisions"] for each in decision["victims"]}
    assert evicted == len(victims)
    assert all(each.rpartition("/")[2] in {"l", "m"} for each in victims)
    placed = {pod for decision in answer["decisions"] for pod in decision["assignments"]}
    assert mine["spec"]["parallelism"] == len(placed)


WITHOUT = {
    "evictions alone are enough": (
        gang(2),
        [*nodes(3), gone("g", "n1", priority=5000), low("l", "n2"), low("m", "n3")],
        "fits-after-eviction",
    ),
    "free nodes are enough": (job(1), [*nodes(2), gone("g", "n1")], "fits"),
    "nothing is to be evicted": (job(2), [*nodes(2), gone("g", "n1")], "does-not-fit"),
    "no node is large enough": (job(1, "8"), [*nodes(2), gone("g", "n1"), low("l", "n2")], "does-not-fit"),
}


@pytest.mark.parametrize(("mine", "cluster", "want"), WITHOUT.values(), ids=WITHOUT)
def test_otherwise_the_verdict_is_about_the_present(mine, cluster, want):
    _, answer = fit([mine], [HIGH, *cluster])

    assert want == answer["verdict"]
    assert "; first, wait for" not in answer["message"]


def test_what_only_waits_is_told_to_wait():
    for cluster in ([*nodes(1), gone("g", "n1")], [*nodes(2), gone("g", "n1"), gone("h", "n2", priority=5000)]):
        mine = job(len(cluster) // 2)
        assert "the smallest change that helps: wait for" in fit([mine], [HIGH, *cluster])[1]["message"]
