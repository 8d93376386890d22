"""Attach limits of a live cluster: CSINodes, CSIDrivers, VolumeAttachments, and the pods that use volumes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from tests.scheduler_core.builders import Json, node, pod
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.plugins.test_node_volume_limits import DRIVER, attached, csi
from tests.scheduler_core.plugins.test_volumes import claim, csi_driver, csi_node, using, volume
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import told
from tests.scheduler_core.sidecar.test_scheduler import Scene
from tests.scheduler_core.sidecar.test_volume_cache import MANY, bound
from tests.scheduler_core.test_attach_limits_agreement import with_limits

MUSTER = {"schedulerName": "muster"}
ABOUT_VOLUMES = {"PersistentVolume", "PersistentVolumeClaim", "CSINode", "VolumeAttachment"}


def limits(snapshot: ClusterSnapshot, rows: tuple[str, ...]) -> list[list[int]]:
    nodes = snapshot.nodes
    return [nodes.allocatable[nodes.row[name]].tolist() for name in rows]


@MANY
@given(st.data())
def test_cache_is_what_load_makes_of_the_same_objects(data):
    objects = data.draw(with_limits(clusters(TINY), shared=data.draw(st.booleans())))
    kept = [each for each in objects if each["kind"] not in ABOUT_VOLUMES or data.draw(st.integers(0, 3))]
    server = data.draw(histories.histories(kept, objects))
    store = histories.Cache()
    histories.Server().fill(store)
    for event in data.draw(histories.deliveries(server.events)):
        histories.feed(store, [event])
        if data.draw(st.integers(0, 7)) == 0:
            store.snapshot()
    want, result = load([histories.raw(each) for each in server.objects.values()]), store.snapshot()
    assert told(want) == told(result)
    rows = tuple(want.nodes.resources[row] for row in want.nodes.limit_rows)
    assert limits(want, rows) == limits(result, rows)


def scene(*objects: Json) -> Scene:
    full = [using("d", name="q", nodeName="n1"), *csi("c", "d"), csi_node("n1", {DRIVER: 1})]
    return Scene(node("n1"), using("c", **MUSTER), *full, *objects, scheduler_name="muster")


@pytest.mark.parametrize(
    ("before", "change"),
    [
        pytest.param([], lambda this: this.put(csi_node("n1", {DRIVER: 2})), id="the limit is raised"),
        pytest.param([], lambda this: this.put(csi_node("n1", {DRIVER: None})), id="there is no limit any more"),
        pytest.param([], lambda this: this.server.delete(("CSINode", "", "n1")), id="the CSINode is deleted"),
        pytest.param([], lambda this: this.delete("Pod", "q"), id="the other pod is deleted"),
        pytest.param([], lambda this: this.put(claim("c", "pv-d")), id="the claim is bound to the volume of the other pod"),
        pytest.param([], lambda this: this.delete("PersistentVolumeClaim", "d"), id="the claim of the other pod is deleted"),
    ],
)
def test_change_wakes_a_pod_that_it_helps(before, change):
    this = scene(*before)
    assert {} == bound(this.writes())
    change(this)
    this.handle_changes()
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


def test_an_attachment_counts_until_it_is_deleted():
    this = scene(attached("n1", "d"))
    assert {} == bound(this.writes())
    this.delete("Pod", "q")
    this.handle_changes()
    this.now += 100.0
    assert {} == bound(this.writes()), "the volume is still attached"
    this.server.delete(("VolumeAttachment", "", "n1-d"))
    this.handle_changes()
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


def test_a_new_attachment_of_a_running_pod_wakes_nothing():
    this = scene()
    this.writes()
    this.put(attached("n1", "d"))
    changes = this.store.reporter.changes
    assert (set(), set(), set()) == (changes.roots - {Name("Pod", "default", "q")}, changes.nodes, changes.freed_nodes)


def test_the_driver_arrives_on_the_node():
    this = Scene(node("n1"), using("c", **MUSTER), *csi("c"), csi_driver(DRIVER, required=True), scheduler_name="muster")
    assert {} == bound(this.writes())
    this.put(csi_node("n1", {DRIVER: 5}))
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


def test_csi_volumes_are_not_modelled_while_a_limit_cannot_be_read():
    this = Scene(node("n1"), using("c", **MUSTER), *csi("c"), csi_node("n9", {"other.example": "many"}), scheduler_name="muster")
    assert {} == bound(this.writes())
    this.put(csi_node("n9", {"other.example": 7}))
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


@pytest.mark.parametrize("user_on", ["n1", "n2"])
def test_a_pod_waits_until_its_claim_of_one_pod_is_free(user_on):
    only = [claim("c", "pv-c", modes=("ReadWriteOncePod",)), volume("pv-c")]
    user = using("c", name="q", nodeName=user_on)
    this = Scene(node("n1"), node("n2"), using("c", **MUSTER), *only, user, scheduler_name="muster")
    assert {} == bound(this.writes())
    this.delete("Pod", "q")
    this.handle_changes()
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


def test_a_claim_of_one_pod_is_given_to_one_of_two_pods():
    only = [claim("c", "pv-c", modes=("ReadWriteOncePod",)), volume("pv-c")]
    this = Scene(node("n1"), node("n2"), *(using("c", name=name, **MUSTER) for name in ("p", "q")), *only, scheduler_name="muster")
    assert ["p"] == [*bound(this.writes())]
    this.now += 100.0
    assert {} == bound(this.writes())


def test_a_pod_waits_until_its_disk_is_free():
    disk = {"volumes": [{"name": "v", "iscsi": {"iqn": "d"}}]}
    this = Scene(node("n1"), pod("p", **disk, **MUSTER), pod("q", nodeName="n1", **disk), scheduler_name="muster")
    assert {} == bound(this.writes())
    this.delete("Pod", "q")
    this.handle_changes()
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())


EBS = "ebs.csi.aws.com"


def inline(name: str, **more: object) -> Json:
    return pod(name, volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": f"vol-{name}"}}], **more)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(csi_node("n1", {EBS: 1}), id="a limit"),
        pytest.param(csi_driver(EBS, required=True), id="a driver that must be on the node"),
        pytest.param(csi_node("n9", {"other.example": "many"}), id="a limit that cannot be read"),
    ],
)
def test_inline_disks_count_as_the_drivers_that_are_known_after_their_pods(change):
    this = Scene(node("n1"), inline("q", nodeName="n1"), inline("p", **MUSTER), scheduler_name="muster")
    this.put(change)
    assert {} == bound(this.writes())
    this.server.delete(histories.name_of(change))
    this.handle_changes()
    this.now += 100.0
    assert {"p": "n1"} == bound(this.writes())
