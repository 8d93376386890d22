"""Shares of devices that other schedulers give to pods: who has them, and on which nodes they are not counted."""

from __future__ import annotations

from typing import Any

import pytest

import expansion
from expansion.device_shares import share_of, uncounted_shares
from expansion.notes import ShareNotJudged
from kubeapi.names import Name

Json = dict[str, Any]


def pod(name: str = "p", limits: Json | None = None, node: str = "", namespace: str = "team", **metadata: Any) -> Json:
    main = {"name": "main", "image": "i", "resources": {"limits": limits or {}}}
    on = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [main], **on},
    }


ANNOTATED = {
    "fraction": ({"gpu-fraction": "0.5"}, "KAI Scheduler", "gpu-fraction"),
    "memory": ({"gpu-memory": "2000"}, "KAI Scheduler", "gpu-memory"),
    "several fractions": ({"gpu-fraction-num-devices": "2"}, "KAI Scheduler", "gpu-fraction-num-devices"),
    "type of the GPU": ({"nvidia.com/use-gputype": "A100"}, "HAMi", "nvidia.com/use-gputype"),
}
REQUESTED = {
    "memory of HAMi": ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}, "HAMi", "nvidia.com/gpumem"),
    "percentage": ({"nvidia.com/gpumem-percentage": 50}, "HAMi", "nvidia.com/gpumem-percentage"),
    "cores": ({"nvidia.com/gpucores": "30"}, "HAMi", "nvidia.com/gpucores"),
    "chip of another vendor": ({"huawei.com/Ascend910B4-1-memory": "1"}, "HAMi", "huawei.com/Ascend910B4-1-memory"),
    "number of vGPUs": ({"volcano.sh/vgpu-number": "1"}, "Volcano", "volcano.sh/vgpu-number"),
    "memory of vGPUs": ({"volcano.sh/vgpu-memory": "3000"}, "Volcano", "volcano.sh/vgpu-memory"),
    "cloud": ({"aliyun.com/gpu-mem": "3"}, "GPU Share of Alibaba Cloud", "aliyun.com/gpu-mem"),
}


@pytest.mark.parametrize(("annotations", "scheduler", "key"), ANNOTATED.values(), ids=ANNOTATED)
def test_an_annotation_requests_a_share(annotations: Json, scheduler: str, key: str) -> None:
    assert ShareNotJudged(scheduler, key, annotation=True) == share_of(pod(annotations=annotations))


@pytest.mark.parametrize(("limits", "scheduler", "key"), REQUESTED.values(), ids=REQUESTED)
def test_a_resource_requests_a_share_in_any_container(limits: Json, scheduler: str, key: str) -> None:
    want = ShareNotJudged(scheduler, key, annotation=False)
    started = pod()
    started["spec"]["initContainers"] = [{"name": "first", "image": "i", "resources": {"requests": limits}}]

    assert want == share_of(pod(limits=limits)) == share_of(started)


WHOLE = {
    "no device": pod(),
    "GPUs": pod(limits={"nvidia.com/gpu": "2"}),
    "MIG devices": pod(limits={"nvidia.com/mig-1g.5gb": "1"}),
    "time slices": pod(limits={"nvidia.com/gpu.shared": "1"}),
    "none of a share": pod(limits={"nvidia.com/gpumem": "0"}),
    "label of that name": pod(labels={"gpu-fraction": "0.5"}),
    "odd annotations": pod(annotations=["gpu-fraction"]),
}


@pytest.mark.parametrize("item", WHOLE.values(), ids=WHOLE)
def test_other_pods_have_no_share(item: Json) -> None:
    assert share_of(item) is None


def test_the_other_members_of_a_gang_are_left_out_too() -> None:
    mark = {"pod-group-name": "g"}
    members = [pod("a", annotations={**mark, "gpu-fraction": "0.5"}), pod("b", annotations=mark)]
    others = [
        pod("c", annotations={"pod-group-name": "h"}),
        pod("d", annotations=mark, namespace="other"),
        pod("e", annotations=mark, node="n"),
    ]
    expanded = expansion.expand([*members, *others], [])

    assert {"c", "d", "e"} == {each["metadata"]["name"] for each in expanded.manifests()}
    assert [Name("Pod", "team", "a"), Name("Pod", "team", "b")] == [each.names[0] for each in expanded.skipped]


GROUP = {"labels": {"runai-gpu-group": "g"}}
RESERVATION = pod("r", {"nvidia.com/gpu": "1"}, "n1", "kai-resource-reservation", **GROUP)
FRACTION = pod("f", None, "n1", annotations={"gpu-fraction": "0.5"}, **GROUP)
HAMI = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "annotations": {"hami.io/node-nvidia-register": "[]"}}}
UNCOUNTED = {
    "fraction without its reservation": ([FRACTION], ["gpu-fraction"]),
    "fraction with the reservation of another GPU": (
        [FRACTION, {**RESERVATION, "metadata": {**RESERVATION["metadata"], "labels": {"runai-gpu-group": "h"}}}],
        ["gpu-fraction"],
    ),
    "fraction without a known GPU": ([pod("f", None, "n1", annotations={"gpu-fraction": "0.5"}), RESERVATION], ["gpu-fraction"]),
    "fraction of a reserved GPU": ([FRACTION, RESERVATION], []),
    "fractions of reserved GPUs": (
        [
            pod("f", None, "n1", annotations={"gpu-fraction": "0.5"}, labels={"runai-gpu-group/g": "g", "runai-gpu-group/h": "h"}),
            RESERVATION,
            {**RESERVATION, "metadata": {**RESERVATION["metadata"], "name": "s", "labels": {"runai-gpu-group": "h"}}},
        ],
        [],
    ),
    "fraction that has ended": ([{**FRACTION, "status": {"phase": "Succeeded"}}], []),
    "fraction on another node": ([pod("f", None, "n2", annotations={"gpu-fraction": "0.5"})], []),
    "node of HAMi": ([HAMI], ["hami.io/node-nvidia-register"]),
    "vGPU": ([pod("f", {"volcano.sh/vgpu-number": "1"}, "n1")], ["volcano.sh/vgpu-number"]),
    "whole GPU": ([pod("f", {"nvidia.com/gpu": "1"}, "n1")], []),
}


@pytest.mark.parametrize(("objects", "keys"), UNCOUNTED.values(), ids=UNCOUNTED)
def test_shares_that_are_not_counted(objects: list[Json], keys: list[str]) -> None:
    assert [("n1", key) for key in keys] == [(node, fact.key) for node, fact in uncounted_shares(objects, {"n1"})]
