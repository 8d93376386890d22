"""Volumes of in-tree plugins: their node affinity where the plugin is migrated, and attach limits of the CSI driver."""

from __future__ import annotations

import json

import pytest

from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from scheduler_core.model.status import Status
from scheduler_core.sidecar.writes import SelectNode
from tests.scheduler_core.builders import Json, decided, message_of, node, placed
from tests.scheduler_core.plugins.test_volumes import (
    AFFINITY,
    LATE,
    ZONE,
    claim,
    csi_driver,
    csi_node,
    on,
    refusals,
    using,
    volume,
)
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene
from tests.scheduler_core.sidecar.test_volume_cache import bound

BETA, REGION, BETA_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
)
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
SOURCES = {
    "aws-ebs": ("awsElasticBlockStore", EBS_ZONE, "ebs.csi.aws.com"),
    "gce-pd": ("gcePersistentDisk", "topology.gke.io/zone", "pd.csi.storage.gke.io"),
    "cinder": ("cinder", "topology.cinder.csi.openstack.org/zone", "cinder.csi.openstack.org"),
    "azure-disk": ("azureDisk", "", "disk.csi.azure.com"),
    "portworx-volume": ("portworxVolume", "", "pxd.portworx.com"),
}
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def migrated(name: str, *plugins: str, **limits: int) -> Json:
    content = csi_node(name, limits)
    annotation = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(f"kubernetes.io/{each}" for each in plugins)}
    return {**content, "metadata": {"name": name, "annotations": annotation}}


# The nodes old and new are in one zone; only new has the labels of the CSI driver, and only there the plugin is migrated.
NODES = [
    node("elsewhere", **{ZONE: "b", EBS_ZONE: "b"}),
    node("new", **{EBS_ZONE: "a", REGION: "e"}),
    node("old", **{ZONE: "a", BETA: "a"}),
]
CSI_NODES = [migrated("elsewhere", "aws-ebs"), migrated("new", "gce-pd", "aws-ebs"), migrated("old", "gce-pd")]
HAS_REGION = {"key": BETA_REGION, "operator": "Exists"}
AND_REGION = {"matchExpressions": [*on(BETA, "a")["matchExpressions"], *on(BETA_REGION, "e")["matchExpressions"]]}


@pytest.mark.parametrize(
    ("terms", "labels", "nodes"),
    [
        pytest.param([on(ZONE, "a")], {}, ["new", "old"], id="zone"),
        pytest.param([on(ZONE, "c"), on(ZONE, "a")], {}, ["new", "old"], id="several terms"),
        pytest.param([on(ZONE, "a", operator="NotIn")], {}, ["elsewhere"], id="another operator"),
        pytest.param([on(BETA, "a")], {}, ["new", "old"], id="beta zone"),
        pytest.param([AND_REGION], {}, ["new"], id="beta region"),
        pytest.param([{"matchExpressions": [HAS_REGION]}], {BETA: "a"}, [], id="beta region without values"),
        pytest.param([on(EBS_ZONE, "a")], {}, ["new"], id="zone of the driver"),
        pytest.param([on("disk", "ssd", operator="NotIn")], {ZONE: "a"}, ["new", "old"], id="zone in the labels"),
        pytest.param([], {ZONE: " a __c"}, ["new", "old"], id="zones in the labels alone"),
        pytest.param([], {BETA: "a"}, ["new", "old"], id="beta zone in the labels"),
        pytest.param([on(ZONE, "a")], {ZONE: "b"}, ["new", "old"], id="node affinity before labels"),
    ],
)
def test_node_affinity_where_the_plugin_is_migrated(terms, labels, nodes):
    found = refusals(using("c"), claim(volume="pv"), volume("pv", *terms, labels=labels, **EBS), *CSI_NODES, nodes=NODES)
    assert nodes == found[AFFINITY]


@pytest.mark.parametrize("plugin", SOURCES)
def test_each_plugin_that_is_migrated(plugin):
    source, label, driver = SOURCES[plugin]
    key = label or ZONE
    nodes = [node("n1", **{key: "a"}), node("n2", **{key: "b"}), node("n3")]
    pv = volume("pv", on(ZONE, "a"), **{source: {"kind": "Managed"}})
    objects = [using("c"), claim(volume="pv"), pv, *(migrated(f"n{number}", plugin) for number in (1, 2, 3))]
    assert {AFFINITY: ["n1"]} == refusals(*objects, nodes=nodes)
    full = [using("c", "d"), claim("d", "pv2"), volume("pv2", **{source: {"kind": "Managed"}})]
    limits = [migrated(f"n{number}", plugin, **{driver: 1}) for number in (1, 2, 3)]
    assert Status.SUCCESS is decided([*nodes, using("c"), claim(volume="pv"), pv, *limits], strategy="greedy").status
    assert "2 attachable volumes" in message_of(decided([*nodes, *full, claim(volume="pv"), pv, *limits], strategy="greedy"))


@pytest.mark.parametrize(
    ("provisioner", "fits"),
    [("kubernetes.io/aws-ebs", False), ("kubernetes.io/azure-file", True), ("kubernetes.io/vsphere-volume", True)],
)
def test_claims_of_a_class_with_an_in_tree_provisioner(provisioner, fits):
    limits = {"ebs.csi.aws.com": 1, "file.csi.azure.com": 1, "csi.vsphere.vmware.com": 1, "kubernetes.io/azure-file": 1}
    objects = [node("n1"), csi_node("n1", limits), {**LATE, "provisioner": provisioner}, claim("c"), claim("d")]
    assert {"default/c": {"selectedNode": "n1"}} == {
        name: {"selectedNode": each.node} for name, each in decided([*objects, using("c")]).volumes.items()
    }
    assert fits == bool(placed(decided([*objects, using("c", "d")])))


@pytest.mark.parametrize(
    ("pv", "objects", "fits"),
    [
        pytest.param(volume(azureDisk={"kind": "Dedicated"}), [], False, id="a disk that cannot migrate"),
        pytest.param(volume(azureDisk={}), [], False, id="the default kind of disk cannot migrate"),
        pytest.param(volume(azureDisk={"kind": "managed"}), [], True, id="a managed disk"),
        pytest.param(volume(**EBS), [csi_driver("ebs.csi.aws.com", required=True)], False, id="a node must have the driver"),
        pytest.param(volume(**EBS), [csi_node("old", {"x": "many"})], False, id="a CSINode cannot be read"),
        pytest.param(volume(azureFile={}), [csi_node("old", {"x": "many"})], True, id="a plugin without limits"),
    ],
)
def test_volume_that_is_not_modelled(pv, objects, fits):
    assert fits == bool(placed(decided([*NODES, using("c"), claim(volume="pv"), pv, *objects])))


def test_redacted_snapshot_decides_the_same():
    objects = [*NODES[:2], *CSI_NODES[:2], using("c"), claim(volume="pv"), volume("pv", on(ZONE, "a"), **EBS)]
    assert {"p": "new"} == placed(decided(objects))
    document = json.loads(keep_simulated_fields(objects).redacted("salt").document())["items"]
    (new,) = (each["metadata"]["name"] for each in document if REGION in each["metadata"].get("labels", {}))
    assert [new] == [*decided(document).assignments.values()]


def test_plugin_that_is_migrated_later_wakes_the_pod():
    objects = [NODES[1], migrated("new", "gce-pd"), claim(volume="pv"), volume("pv", on(ZONE, "a"), **EBS)]
    this = Scene(*objects, using("c", **MUSTER), scheduler_name="muster")
    assert {} == bound(this.writes())
    this.put(migrated("new", "gce-pd", "aws-ebs"))
    this.now += 100.0
    assert {"p": "new"} == bound(this.writes())


def test_volume_that_is_provisioned_for_the_pod_is_where_the_plugin_is_migrated():
    objects = [NODES[1], CSI_NODES[1], {**LATE, "provisioner": "kubernetes.io/aws-ebs"}, claim(), using("c", **MUSTER)]
    this = Scene(*objects, scheduler_name="muster")
    writes = [each for each in this.writes() if isinstance(each, SelectNode)]
    selected = claim(volume="pv", annotations={"volume.kubernetes.io/selected-node": "new"})
    this.put(claim(annotations={"volume.kubernetes.io/selected-node": "new"}))
    this.end(writes)
    this.put(volume("pv", on(ZONE, "a"), claimRef={"namespace": "default", "name": "c"}, **EBS), selected)
    this.now += 1.0
    assert {"p": "new"} == bound(this.writes())
