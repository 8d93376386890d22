"""VolumeRestrictions: ReadWriteOncePod claims, and disks of inline volumes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, decided, leaf, message_of, node, placed, pod, reasons_of, run
from tests.scheduler_core.plugins.test_node_volume_limits import DRIVER
from tests.scheduler_core.plugins.test_volumes import claim, csi_driver, csi_node, using, volume
from tests.scheduler_core.worded_problems import worded

IN_USE = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
NO_DISK = "node(s) had no available disk"
NODES = [node("n1"), node("n2")]
ONE_POD = ("ReadWriteOncePod",)


def single(*names: str) -> list[Json]:
    """Return a ReadWriteOncePod claim with a volume for each name."""
    pairs = ((claim(name, f"pv-{name}", modes=ONE_POD), volume(f"pv-{name}")) for name in names)
    return [each for pair in pairs for each in pair]


def with_disk(kind: str, source: Json, name: str = "p", **more: Any) -> Json:
    return pod(name, volumes=[{"name": "v", kind: source}], **more)


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        pytest.param([using("c")], True, id="nobody uses it"),
        pytest.param([using("c"), using("c", name="q", nodeName="n2")], False, id="in use on another node"),
        pytest.param([using("c"), using("d", name="q", nodeName="n2")], True, id="another claim is in use"),
        pytest.param([using("c", "d"), using("d", name="q", nodeName="n2")], False, id="one of two claims is in use"),
        pytest.param([using("s"), using("s", name="q", nodeName="n2")], True, id="another access mode"),
    ],
)
def test_a_claim_of_one_pod(objects, fits, strategy):
    decision = decided([*NODES, *single("c", "d"), claim("s", "pv-s"), volume("pv-s"), *objects], strategy=strategy)
    assert fits == (decision.status is Status.SUCCESS)
    if not fits:
        assert {"default/p": f"0/2 nodes are available: 2 {IN_USE}."} == reasons_of(decision)


def test_a_claim_in_another_namespace_is_another_claim():
    other = using("c", name="q", nodeName="n2")
    other["metadata"]["namespace"] = "other"
    assert {"p"} == {*placed(decided([*NODES, *single("c"), using("c"), other]))}


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_members_that_share_a_claim(strategy):
    members = [using("c", name=f"p{number}", schedulingGroup={"podGroupName": "g"}) for number in range(2)]
    assert Status.SUCCESS is not decided([*NODES, *single("c"), leaf("g", 2), *members], strategy=strategy).status
    assert ["p0"] == [*placed(decided([*NODES, *single("c"), leaf("g", 1), *members], strategy=strategy))]


def test_equal_pods_with_claims_of_their_own_share_a_shape():
    snapshot = load([*NODES, *single("c", "d"), using("c", name="p"), using("d", name="q")])
    assert 1 == len({each.shape for each in snapshot.pods})
    assert [] == [each for each in snapshot.pods if each.named_volumes]


def test_pods_that_share_a_claim_come_one_after_the_other():
    objects = [*NODES, *single("c"), using("c", name="p", priority=5), using("c", name="q")]
    assert [["p"], []] == [[*placed(each)] for each in run(objects, strategy="greedy").decisions]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_pod_without_a_group_preempts_the_user_of_its_claim(strategy):
    low = using("c", name="q", nodeName="n2", priority=0)
    decision = decided([*NODES, *single("c"), low, using("c", priority=10)], strategy=strategy)
    assert ("default/q",) == decision.victims
    assert strategy == "complete" or decision.nominations == {"default/p": "n2"}


GCE, EBS = "gcePersistentDisk", "awsElasticBlockStore"
RBD = {"monitors": ["a", "b"], "image": "i"}


@pytest.mark.parametrize(
    ("kind", "one", "other", "conflict"),
    [
        (GCE, {"pdName": "d"}, {"pdName": "d"}, True),
        (GCE, {"pdName": "d"}, {"pdName": "e"}, False),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d"}, True),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d", "readOnly": True}, False),
        (EBS, {"volumeID": "d", "readOnly": True}, {"volumeID": "d", "readOnly": True}, True),
        (EBS, {"volumeID": "d"}, {"volumeID": "e"}, False),
        ("iscsi", {"iqn": "d", "lun": 0}, {"iqn": "d", "lun": 1}, True),
        ("iscsi", {"iqn": "d", "readOnly": True}, {"iqn": "d", "readOnly": True}, False),
        ("rbd", RBD, RBD, True),
        ("rbd", RBD, {**RBD, "pool": "rbd"}, True),
        ("rbd", RBD, {**RBD, "pool": "other"}, False),
        ("rbd", RBD, {**RBD, "monitors": ["b", "c"]}, True),
        ("rbd", RBD, {**RBD, "monitors": ["c"]}, False),
        ("rbd", {**RBD, "readOnly": True}, {**RBD, "readOnly": True}, False),
    ],
)
def test_disks_on_one_node(kind, one, other, conflict):
    objects = [with_disk(kind, one), with_disk(kind, other, "q", nodeName="n1")]
    decision = decided([NODES[0], *objects], strategy="greedy")
    assert ({"default/p": f"0/1 nodes are available: 1 {NO_DISK}."} if conflict else {}) == reasons_of(decision)
    assert {"p"} == {*placed(decided([*NODES, *objects]))}, "on the other node"


def test_members_with_one_disk_go_to_different_nodes():
    members = [with_disk(GCE, {"pdName": "d"}, f"p{number}", schedulingGroup={"podGroupName": "g"}) for number in range(2)]
    assert {"n1", "n2"} == {*placed(decided([*NODES, leaf("g", 2), *members])).values()}
    assert {} == placed(decided([NODES[0], leaf("g", 2), *members]))


@pytest.mark.parametrize("gang", [True, False])
def test_the_user_of_a_disk_is_evicted(gang):
    preemptor = with_disk("iscsi", {"iqn": "d"}, priority=10, **({"schedulingGroup": {"podGroupName": "g"}} if gang else {}))
    groups = [leaf("g", 1, priority=10)] if gang else []
    low = with_disk("iscsi", {"iqn": "d"}, "q", nodeName="n1", priority=0)
    assert ("default/q",) == decided([NODES[0], low, preemptor, *groups], strategy="greedy").victims


@pytest.mark.parametrize(
    ("kind", "source", "driver"), [(GCE, {"pdName": "d"}, "pd.csi.storage.gke.io"), (EBS, {"volumeID": "d"}, "ebs.csi.aws.com")]
)
def test_a_disk_counts_against_the_limit_of_its_csi_driver(kind, source, driver):
    full = csi_node("n1", {driver: 0})
    decision = decided([NODES[0], full, with_disk(kind, source)], strategy="greedy")
    assert {"default/p": "0/1 nodes are available: 1 node(s) exceed max volume count."} == reasons_of(decision)
    required = decided([NODES[0], csi_driver(driver, required=True), with_disk(kind, source)])
    assert f"spec.volumes[0].{kind} can exclude nodes and is not modelled" in message_of(required)
    assert {"p"} == {*placed(decided([NODES[0], csi_node("n1", {DRIVER: 0}), with_disk(kind, source)]))}


@pytest.mark.parametrize(
    "source", [{"iqn": 7}, {"iqn": "d", "readOnly": "yes"}, {"iqn": "d", "monitors": "a"}, {"iqn": "d", "monitors": [7]}]
)
def test_a_disk_that_cannot_be_read_leaves_its_pod_out(source):
    (problem,) = worded(load([NODES[0], with_disk("iscsi", source)]).problems)
    assert ("Pod default/p", True) == (problem.object, "spec.volumes[0].iscsi." in problem.message)


def test_fields_of_a_disk_can_be_null():
    snapshot = load([NODES[0], with_disk("rbd", {"image": None, "readOnly": None, "monitors": None, "pool": None})])
    assert ((), 1) == (snapshot.problems, len(snapshot.pods))
