"""NodeVolumeLimits: attach limits of CSI drivers, volumes that pods share, and drivers that a node must have."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.status import Status
from scheduler_core.wording.changes import remedy_text
from tests.scheduler_core.builders import Json, decided, leaf, message_of, node, placed, pod, reasons_of
from tests.scheduler_core.plugins.test_volumes import claim, csi_driver, csi_node, using, volume
from tests.scheduler_core.whatif.cluster import remedies

DRIVER = "csi.example"
COMPLETE = CycleOptions(strategy="complete")
MAX = "node(s) exceed max volume count"


def csi(*names: str, driver: str = DRIVER) -> list[Json]:
    """Return a claim with a volume for each name."""
    pairs = ((claim(name, f"pv-{name}"), volume(f"pv-{name}", csi={"driver": driver, "volumeHandle": name})) for name in names)
    return [each for pair in pairs for each in pair]


def attached(node_name: str, name: str, driver: str = DRIVER) -> Json:
    spec = {"attacher": driver, "nodeName": node_name, "source": {"persistentVolumeName": f"pv-{name}"}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": f"{node_name}-{name}"}, "spec": spec}


def running(name: str, *claims: str, on: str = "n1", **more: Any) -> Json:
    return using(*claims, name=name, nodeName=on, **more)


ONE = [node("n1"), csi_node("n1", {DRIVER: 1})]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        pytest.param([using("c")], True, id="one volume"),
        pytest.param([using("c", "d")], False, id="two volumes"),
        pytest.param([running("q", "d"), using("c")], False, id="another pod has a volume there"),
        pytest.param([running("q", "c"), using("c")], True, id="a pod there has the same volume"),
        pytest.param([running("q", "gone"), using("c")], True, id="the claim of a running pod does not exist"),
        pytest.param([running("q", "other"), using("c")], True, id="a volume of another driver"),
        pytest.param([attached("n1", "d"), using("c")], False, id="a volume is attached for no pod"),
        pytest.param([attached("n2", "d"), using("c")], True, id="a volume is attached elsewhere"),
        pytest.param([attached("n1", "gone"), using("c")], True, id="the attached volume does not exist"),
        pytest.param([attached("n1", "c"), using("c")], False, id="its volume is attached, which counts twice"),
        pytest.param([attached("n1", "c"), running("q", "c"), using("c")], True, id="its volume is attached for a pod there"),
        pytest.param([attached("n1", "d"), running("q", "d"), pod("p")], True, id="a pod without volumes"),
    ],
)
def test_volumes_of_a_node(objects, fits, strategy):
    decision = decided([*ONE, *csi("c", "d"), *csi("other", driver="other.example"), *objects], strategy=strategy)
    assert fits == (decision.status is Status.SUCCESS)
    if not fits:
        assert {"default/p": f"0/1 nodes are available: 1 {MAX}."} == reasons_of(decision)


@pytest.mark.parametrize("limits", [[], [csi_node("n1", {DRIVER: None})], [csi_node("n1", {"other.example": 0})]])
def test_a_node_without_a_limit(limits):
    assert {"p"} == {*placed(decided([node("n1"), csi_node("n9", {DRIVER: 1}), *limits, *csi("c", "d"), using("c", "d")]))}


def test_equal_pods_with_volumes_of_their_own_share_a_shape():
    snapshot = load([*ONE, *csi("c", "d"), using("c", name="p"), using("d", name="q")])
    assert 1 == len({each.shape for each in snapshot.pods})


def test_a_driver_must_be_on_the_node():
    nodes = [node("n1"), node("n2"), node("n3"), csi_node("n1", {"other.example": None}), csi_node("n2", {DRIVER: None})]
    objects = [*nodes, *csi("c"), csi_driver(DRIVER, required=True)]
    assert {"p": "n2"} == placed(decided([*objects, using("c")]))
    decision = decided([*objects, using("c", containers=[{"name": "c", "resources": {"requests": {"cpu": "99"}}}])], strategy="greedy")
    assert {"default/p": "0/3 nodes are available: 3 Insufficient cpu."} == reasons_of(decision)
    cordoned = [{**each, "spec": {"unschedulable": True}} if each["metadata"]["name"] == "n2" else each for each in objects]
    reasons = f"2 {DRIVER} CSI driver is not installed on the node, 1 node(s) were unschedulable"
    assert {"default/p": f"0/3 nodes are available: {reasons}."} == reasons_of(decided([*cordoned, using("c")], strategy="greedy"))


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize("gang", [True, False])
@pytest.mark.parametrize(("attachments", "helps"), [([], True), ([attached("n1", "d")], False)])
def test_eviction_frees_a_volume_that_is_not_attached(gang, attachments, helps, strategy):
    preemptor = using("c", priority=10, **({"schedulingGroup": {"podGroupName": "g"}} if gang else {}))
    groups = [leaf("g", 1, priority=10)] if gang else []
    objects = [*ONE, *csi("c", "d"), running("q", "d", priority=0), running("r", priority=0), preemptor, *groups, *attachments]
    decision = decided(objects, strategy=strategy)
    assert (("default/q",) if helps else ()) == decision.victims


def test_pods_that_share_a_volume_leave_together():
    objects = [*ONE, *csi("c", "d"), running("q", "d", priority=0), running("r", "d", priority=0), using("c", priority=10)]
    assert ("default/q", "default/r") == decided(objects, strategy="greedy").victims


def test_a_gang_that_shares_a_volume_uses_one_unit():
    members = [using("c", name=f"p{number}", schedulingGroup={"podGroupName": "g"}) for number in range(3)]
    assert 3 == len(placed(decided([*ONE, *csi("c"), leaf("g", 3), *members])))


def test_the_missing_volumes_are_counted():
    members = [using(f"c{number}", name=f"p{number}", schedulingGroup={"podGroupName": "g"}) for number in range(3)]
    decision = decided([*ONE, *csi("c0", "c1", "c2"), leaf("g", 3), *members])
    assert f"short of 2 attachable volumes of CSI driver {DRIVER}: 1 free, 3 needed" in message_of(decision)


def test_the_plugin_of_the_limit_refuses_a_node():
    (error,) = decided([*ONE, *csi("c", "d"), using("c", "d")]).pending["default/p"]
    assert [("NodeVolumeLimits", "node(s) exceed max volume count", 1)] == [
        (each.plugin, each.message, each.nodes) for each in error.reasons
    ]


def test_a_node_that_is_added_has_the_limits_of_the_original():
    claims = [f"c{number}" for number in range(4)]
    members = [using(name, name=f"p{name}", schedulingGroup={"podGroupName": "g"}) for name in claims]
    objects = [*ONE, *csi(*claims), leaf("g", 4), *members]
    (change,) = [each for each in remedies(objects, load(objects), decided(objects), COMPLETE) if "more node" in remedy_text(each)]
    copies = [each.apply for each in change.steps if each.apply is not None and each.apply["kind"] == "CSINode"]
    assert "3 more nodes like n1" == remedy_text(change)
    assert ["n1-added-1", "n1-added-2", "n1-added-3"] == [each["metadata"]["name"] for each in copies]
    assert {1} == {each["spec"]["drivers"][0]["allocatable"]["count"] for each in copies}
