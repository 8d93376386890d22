"""Many pods with one claim: the change of a pod is not followed by reading all others again."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.sidecar.cache.pod_reader import PodReader
from tests.scheduler_core.builders import Json, leaf, node, pod
from tests.scheduler_core.plugins.device_objects import resource_claim, template
from tests.scheduler_core.plugins.test_volumes import claim, csi_node, using, volume
from tests.scheduler_core.sidecar.histories import Watched, raw, told

PODS, NODES = 12, ("n1", "n2", "n3")
DRIVER = "csi.example"
DATA = [
    claim("data", volume="pv"),
    volume("pv", csi={"driver": DRIVER, "volumeHandle": "h"}),
    *(csi_node(name, {DRIVER: 4}) for name in NODES),
]


def with_volume(number: int, **spec: str) -> Json:
    return using("data", name=f"p{number}", **spec)


def with_devices(number: int, **spec: str) -> Json:
    return pod(f"p{number}", resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}], **spec)


@pytest.mark.parametrize(("make", "objects"), [(with_volume, DATA), (with_devices, [resource_claim("shared")])])
def test_pods_that_share_a_claim_are_read_again_only_while_there_are_two(make, objects, monkeypatch):
    read: list[str] = []
    updated = PodReader.updated
    monkeypatch.setattr(PodReader, "updated", lambda *arguments: read.append(arguments[1].key) or updated(*arguments))
    scene = Watched(*map(node, NODES), *objects)

    def reads(*changes: Json | tuple[str, str, str]) -> list[int]:
        numbers = []
        for each in changes:
            read.clear()
            scene.happens(each)
            numbers.append(len({*read}))
            assert told(scene.store.snapshot()) == told(load([raw(one) for one in scene.server.objects.values()]))
        return numbers

    names = [("Pod", "default", f"p{number}") for number in range(PODS)]
    added = reads(*(make(number) for number in range(PODS)))
    bound = reads(*(make(number, nodeName=NODES[number % 3]) for number in range(PODS)))
    deleted = reads(*names)
    assert (added[0], max(added[2:])) == (0, 0)
    assert added[1] > 0
    assert max(bound[:-2]) == 0
    assert max(deleted) <= PODS // len(NODES)


def test_claim_that_is_created_for_a_group_is_shared_by_all_its_pods():
    entry = {"name": "gpu", "resourceClaimTemplateName": "one"}
    group = leaf("g", 3, resourceClaims=[entry])
    users = [pod(f"p{number}", schedulingGroup={"podGroupName": "g"}, resourceClaims=[entry]) for number in range(3)]
    scene = Watched(*map(node, NODES), template(), group, *users)
    owner = {"apiVersion": group["apiVersion"], "kind": "PodGroup", "name": "g", "uid": "g", "controller": True}
    named = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}
    scene.happens(resource_claim("made", ownerReferences=[owner]), {**group, "status": named})
    snapshots = scene.store.snapshot(), load([raw(one) for one in scene.server.objects.values()])
    assert [{need.shared for each in one.pods for need in each.shape.devices} for one in snapshots] == [{"default/made"}] * 2
