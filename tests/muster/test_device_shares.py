"""Shares of devices outside DRA: pods with them are not judged, and whole devices beside them are not certain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_own_groups import KINDS, fit, named
from tests.muster.test_simulate_controllers import simulated

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
FRACTION = {"gpu-fraction": "0.5"}
GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
HAMI = "hami.io/node-nvidia-register"


def with_devices(name: str = "n1", annotations: Json | None = None, **more: str) -> Json:
    """A node with 8 CPUs and the resources *more*."""
    machine = node(name, "8")
    machine["metadata"]["annotations"] = annotations or {}
    machine["status"]["allocatable"] |= {GPU: "2", **more}
    return machine


def wanting(limits: Json, name: str = "p", **metadata: Any) -> Json:
    item = pod(name)
    item["metadata"] |= metadata
    item["spec"]["containers"][0]["resources"] = {"requests": limits, "limits": limits}
    return item


SHARES = {
    "fraction": ({"annotations": FRACTION}, {}, "the annotation gpu-fraction requests a share of a device of KAI Scheduler"),
    "memory": ({"annotations": {"gpu-memory": "2000"}}, {}, "the annotation gpu-memory requests"),
    "HAMi": ({}, {GPU: "1", "nvidia.com/gpumem": "3000"}, "the resource nvidia.com/gpumem requests a share of a device of HAMi"),
    "Volcano": ({}, {"volcano.sh/vgpu-number": "1"}, "the resource volcano.sh/vgpu-number requests a share of a device of Volcano"),
}


@pytest.mark.parametrize(("metadata", "limits", "want"), SHARES.values(), ids=SHARES)
def test_a_pod_with_a_share_is_not_judged(metadata: Json, limits: Json, want: str) -> None:
    """Not even if the nodes have the resource: a part of one device says nothing about their sum."""
    cluster = [with_devices(**{"volcano.sh/vgpu-number": "8"})]
    status, answer = fit([wanting(limits, **metadata)], cluster)
    assert (2, "nothing-to-judge") == (status, answer["verdict"])
    assert want in answer["message"]

    status, answer = simulated([wanting(limits, **metadata), pod("q")], cluster)
    assert ["default/q"] == [each for decision in answer["decisions"] for each in decision["assignments"]]
    assert 2 == status
    assert any(want in json.dumps(each) for each in answer["problems"])


@pytest.mark.parametrize("kind", [each for each in KINDS if "own" not in each])
def test_pods_of_every_kind_with_a_share_are_not_judged(kind: str) -> None:
    status, answer = fit(named(kind, {"annotations": FRACTION}), [with_devices(), with_devices("n2")])

    assert (2, "nothing-to-judge") == (status, answer["verdict"])
    assert "gpu-fraction" in answer["skipped"][0]["reason"]


def test_a_gang_with_a_share_is_not_judged_in_part() -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    members = [wanting({}, name, annotations={"pod-group-name": "g", **more}) for name, more in (("a", FRACTION), ("b", {}))]
    status, answer = fit([group, *members], [with_devices()])

    assert (2, []) == (status, answer["decisions"])


@pytest.mark.parametrize(("cluster", "want"), [([with_devices(**{MIG: "1"})], 0), ([with_devices()], 1)])
def test_mig_devices_are_ordinary_resources(cluster: list[Json], want: int) -> None:
    status, answer = fit([wanting({MIG: "1"})], cluster)

    assert (want, []) == (status, answer["skipped"])


def running(name: str, limits: Json | None = None, namespace: str = "default", **metadata: Any) -> Json:
    item = wanting(limits or {}, name, namespace=namespace, **metadata)
    item["spec"]["nodeName"] = "n1"
    return item


GROUP = {"runai-gpu-group": "g"}
FRACTIONAL = running("f", annotations=FRACTION, labels=GROUP)
BESIDE = {
    "pod with a fraction": ([with_devices(), FRACTIONAL], "KAI Scheduler divides devices of node n1, by gpu-fraction,"),
    "node of HAMi": ([with_devices(annotations={HAMI: "[]"})], f"HAMi divides devices of node n1, by {HAMI},"),
    "vGPU": ([with_devices(), running("f", {"volcano.sh/vgpu-number": "1"})], "Volcano divides devices of node n1"),
}


@pytest.mark.parametrize(("cluster", "want"), BESIDE.values(), ids=BESIDE)
def test_whole_devices_beside_shares_are_not_certain(cluster: list[Json], want: str) -> None:
    status, answer = fit([wanting({GPU: "2"})], cluster)
    assert (2, "fits") == (status, answer["verdict"])
    assert answer["message"].startswith("fits: Pod default/p: 1 pod on n1; but ")
    assert want in answer["message"]
    assert want in answer["skipped"][0]["reason"]

    # Other pods fit, and too many devices do not, whatever the shares.
    assert 0 == fit([pod("q")], cluster)[0]
    assert 1 == fit([wanting({GPU: "3"})], cluster)[0]

    _, answer = simulated([*cluster, wanting({GPU: "2"})])
    assert any(want in json.dumps(each) for each in answer["notes"])


def waiting(name: str, limits: Json | None = None, priority: int = 0, **metadata: Any) -> Json:
    item = wanting(limits or {"cpu": "1"}, name, uid=name, **metadata)
    item["spec"]["priority"] = priority
    return item


AHEAD = {
    "annotation": (waiting("f", annotations=FRACTION), "pending pods get shares of devices from KAI Scheduler, by gpu-fraction"),
    "resource": (
        waiting("f", {GPU: "1", "nvidia.com/gpumem": "3000"}),
        "pending pods get shares of devices from HAMi, by nvidia.com/gpumem",
    ),
}


@pytest.mark.parametrize(("ahead", "want"), AHEAD.values(), ids=AHEAD)
def test_what_pending_pods_with_shares_take_before_is_not_known(ahead: Json, want: str) -> None:
    cluster = [with_devices(), ahead]
    status, answer = fit([wanting({GPU: "1"})], cluster)
    assert (2, "fits") == (status, answer["verdict"])
    assert f"; but {want}: what they take before is not known" in answer["message"]
    assert ["Pod default/f"] == [each["object"] for each in answer["skipped"]]

    # They are never placed as ordinary pods, nor taken for the reason why others do not fit.
    status, answer = simulated([wanting({GPU: "1"})], cluster)
    assert ["default/p"] == [pod for each in answer["decisions"] for pod in each["assignments"]]
    assert any(want in json.dumps(each) for each in answer["notes"])
    assert 1 == fit([wanting({GPU: "3"})], cluster)[0]


def test_pods_with_shares_that_come_later_or_use_other_nodes_change_nothing() -> None:
    later = waiting("f", priority=-1, annotations=FRACTION)
    assert 0 == fit([wanting({GPU: "1"})], [with_devices(), later])[0]
    ahead = waiting("f", annotations=FRACTION)
    assert 0 == fit([pod("q")], [node("n0", "8"), ahead])[0]
    # A node without devices is none of theirs.
    bare = node("n0", "8")
    assert (
        0 == fit([{**pod("q"), "spec": {**pod("q")["spec"], "nodeSelector": bare["metadata"]["labels"]}}], [bare, with_devices(), ahead])[0]
    )


@pytest.mark.parametrize("key", [MIG, "nvidia.com/gpu.shared"])
def test_ordinary_extended_resources_of_pending_pods_are_placed(key: str) -> None:
    status, answer = simulated([wanting({key: "1"})], [with_devices(**{key: "2"}), waiting("f", {key: "1"})])
    assert (0, {"default/f", "default/p"}) == (status, {pod for each in answer["decisions"] for pod in each["assignments"]})


def test_a_pod_with_a_share_that_is_drained_is_not_placed_elsewhere() -> None:
    status, answer = simulated(
        [with_devices(), with_devices("n2"), running("f", {"cpu": "1"}, annotations=FRACTION)], None, "--drain", "n1"
    )
    assert (1, [{}]) == (status, [each["assignments"] for each in answer["decisions"]])
    assert "the annotation gpu-fraction requests a share of a device of KAI Scheduler" in json.dumps(answer["pending"])


def test_devices_that_kai_has_reserved_are_counted() -> None:
    reservation = running("r", {GPU: "1"}, "kai-resource-reservation", labels=GROUP)
    cluster = [with_devices(), FRACTIONAL, reservation]

    assert 0 == fit([wanting({GPU: "1"})], cluster)[0]
    assert 1 == fit([wanting({GPU: "2"})], cluster)[0]


@pytest.mark.parametrize(("cluster", "want"), BESIDE.values(), ids=BESIDE)
def test_a_snapshot_has_what_tells_the_shares(cluster: list[Json], want: str) -> None:
    Path("whole.json").write_text("\n".join(map(json.dumps, cluster)), encoding="utf-8")
    for options in ((), ("--redact", "--salt", "s")):
        document = CliRunner().invoke(cli.main, ["snapshot", "whole.json", *options]).stdout
        status, answer = fit([wanting({GPU: "2"})], json.loads(document)["items"])

        assert 2 == status
        assert want.partition(" of node")[0] in answer["message"]
