"""Claims of pods: VolumeBinding, VolumeZone, and the claims that stay not modelled."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.status import Status
from scheduler_core.plugins.profile import Profile
from tests.scheduler_core.builders import Json, decided, leaf, message_of, node, placed, pod, pods, reasons_of

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


def claim(name: str = "c", volume: str = "", *, bound: bool = True, phase: str = "", modes: tuple[str, ...] = (), **meta: Any) -> Json:
    annotations = {BIND_COMPLETED: "yes"} if volume and bound else {}
    metadata = {"name": name, "namespace": "default", "annotations": {**annotations, **meta.pop("annotations", {})}, **meta}
    spec = {"volumeName": volume, "accessModes": list(modes), "storageClassName": "late"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def volume(name: str = "pv", *terms: Json, labels: dict[str, str] | None = None, **spec: Any) -> Json:
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}} if terms else {}
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": {**affinity, **spec}}


def storage_class(mode: str | None, name: str = "late") -> Json:
    binding = {} if mode is None else {"volumeBindingMode": mode}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **binding}


def using(*claims: str, name: str = "p", **more: Any) -> Json:
    return pod(name, volumes=[{"name": f"v{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims], **more)


def on(key: str, *values: str, operator: str = "In") -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def by_name(operator: str, name: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


def csi_node(name: str, limits: dict[str, Any]) -> Json:
    drivers = [{"name": driver, "nodeID": name, "allocatable": {"count": count}} for driver, count in limits.items()]
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def csi_driver(name: str, *, required: Any) -> Json:
    spec = {"preventPodSchedulingIfMissing": required}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


CSI_VOLUME = volume(csi={"driver": "csi.example", "volumeHandle": "x"})
NODES = [node("n1", zone="a"), node("n2", zone="b"), node("n3")]


def refusals(*objects: Json, nodes: list[Json] = NODES, ignore: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return the static filters of the only pending pod: reason -> nodes that pass."""
    snapshot = load([*nodes, *objects])
    (shape,) = {each.shape for each in snapshot.pods if each.node < 0}
    filters = Profile(snapshot.nodes, ignore).filters(shape)
    return {reason: [name for name, passes in zip(snapshot.nodes.names, mask, strict=True) if passes] for reason, mask in filters}


UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
LATER = {"deletionTimestamp": "2026-08-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("objects", "claims", "reason"),
    [
        pytest.param([], ["c"], 'persistentvolumeclaim "c" not found', id="missing"),
        pytest.param([claim(namespace="other")], ["c"], 'persistentvolumeclaim "c" not found', id="in another namespace"),
        pytest.param([claim("a", phase="Lost")], ["a", "c"], 'persistentvolumeclaim "c" not found', id="missing goes before lost"),
        pytest.param(
            [claim(volume="gone", phase="Lost", **LATER)],
            ["c"],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"',
            id="lost",
        ),
        pytest.param([claim(volume="pv", **LATER), volume()], ["c"], 'persistentvolumeclaim "c" is being deleted', id="being deleted"),
        pytest.param(
            [claim("a", **LATER), claim("b", "x", phase="Lost")], ["a", "b"], 'persistentvolumeclaim "a" is being deleted', id="first"
        ),
        pytest.param([claim("a"), claim("b", **LATER)], ["a", "b"], 'persistentvolumeclaim "b" is being deleted', id="before unbound"),
        pytest.param([claim()], ["c"], UNBOUND, id="no class"),
        pytest.param([claim(), storage_class("Immediate")], ["c"], UNBOUND, id="immediate"),
        pytest.param([claim(), storage_class(None)], ["c"], UNBOUND, id="class without a mode"),
        pytest.param([claim(volume="pv", bound=False), volume(), storage_class("WaitForFirstConsumer")], ["c"], UNBOUND, id="not complete"),
        pytest.param([claim("a", "gone"), claim("b")], ["a", "b"], UNBOUND, id="VolumeBinding goes before VolumeZone"),
        pytest.param([claim(volume="gone")], ["c"], 'persistentvolume "gone" not found', id="bound to a volume that does not exist"),
        pytest.param(
            [claim(annotations={"volume.beta.kubernetes.io/storage-class": "now"}), storage_class("WaitForFirstConsumer")],
            ["c"],
            UNBOUND,
            id="class in the annotation",
        ),
    ],
)
def test_claim_that_excludes_all_nodes(objects, claims, reason):
    cordoned = [{**each, "spec": {"unschedulable": True}} for each in NODES]
    assert {reason: []} == refusals(using(*claims), *objects)
    assert {reason: []} == refusals(using(*claims), *objects, nodes=cordoned), "no filter is reported beside it"
    decision = decided([*NODES, using(*claims), *objects], strategy="greedy")
    assert {"default/p": f"0/3 nodes are available: {reason}."} == reasons_of(decision)
    complete = decided([*NODES, using(*claims), *objects], strategy="complete")
    assert (Status.UNRESOLVABLE, "infeasible") == (complete.status, complete.search.outcome)


LATE = storage_class("WaitForFirstConsumer")
AFFINITY, NO_ZONE = "node(s) didn't match PersistentVolume's node affinity", "node(s) had no available volume zone"


@pytest.mark.parametrize(
    ("terms", "nodes"),
    [
        pytest.param([on("zone", "a")], ["n1"], id="one label"),
        pytest.param([on("zone", "a"), on("zone", "b")], ["n1", "n2"], id="one of the terms"),
        pytest.param([on("zone", "b", operator="NotIn")], ["n1", "n3"], id="not in"),
        pytest.param([by_name("In", "n1")], [], id="names of nodes match nothing"),
        pytest.param([by_name("NotIn", "n1")], ["n1", "n2", "n3"], id="no node has this name"),
        pytest.param([{**by_name("NotIn", "n1"), **on("zone", "a", "b")}], ["n1", "n2"], id="name and label"),
        pytest.param([{}], [], id="an empty term"),
    ],
)
def test_node_affinity_of_a_volume(terms, nodes):
    assert {AFFINITY: nodes} == refusals(using("c"), claim(volume="pv"), volume("pv", *terms))


def test_node_affinity_of_several_volumes():
    first, second = volume("pv1", on("zone", "a", "b")), volume("pv2", on("zone", "b", operator="NotIn"))
    assert {AFFINITY: ["n1"]} == refusals(using("c", "d"), claim("c", "pv1"), claim("d", "pv2"), first, second)


def zoned(**labels: str) -> list[Json]:
    keys = {"zone": ZONE, "beta": BETA_ZONE, "region": "topology.kubernetes.io/region"}
    return [node("bare"), node("z", **{keys[key]: value for key, value in labels.items()})]


@pytest.mark.parametrize(
    ("of_volume", "of_node", "passes"),
    [
        ({ZONE: "a"}, {"zone": "a"}, True),
        ({ZONE: "a"}, {"zone": "b"}, False),
        ({ZONE: "a__b"}, {"zone": "b"}, True),
        ({ZONE: "a__"}, {"zone": "b"}, None),
        ({ZONE: "a"}, {"region": "a"}, False),
        ({ZONE: "a"}, {"beta": "a"}, False),
        ({BETA_ZONE: "a"}, {"zone": "a"}, True),
        ({BETA_ZONE: "a"}, {"zone": "a", "beta": "b"}, False),
        ({"topology.kubernetes.io/region": "e", ZONE: "a"}, {"zone": "a", "region": "w"}, False),
        ({"zone": "a"}, {"zone": "b"}, None),
    ],
)
def test_zone_of_a_volume(of_volume, of_node, passes):
    found = refusals(using("c"), claim(volume="pv"), volume(labels=of_volume), nodes=zoned(**of_node))
    assert ({} if passes is None else {NO_ZONE: ["bare", "z"] if passes else ["bare"]}) == found


EBS_CLASS, EBS_DRIVER = {**LATE, "provisioner": "kubernetes.io/aws-ebs"}, csi_driver("ebs.csi.aws.com", required=True)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(), EBS_CLASS, EBS_DRIVER], id="a provisioner whose driver a node must have"),
        pytest.param([claim(modes=("ReadWriteOncePod",)), EBS_CLASS, EBS_DRIVER], id="the same with ReadWriteOncePod"),
        pytest.param([claim(volume="pv"), volume(azureDisk={"kind": "Dedicated"})], id="cannot migrate to its CSI driver"),
        pytest.param([claim(volume="pv"), CSI_VOLUME, csi_driver("csi.example", required="x")], id="a CSIDriver that cannot be read"),
        pytest.param([claim(volume="pv"), CSI_VOLUME, csi_node("n2", {"other.example": "many"})], id="a CSINode that cannot be read"),
    ],
)
def test_claim_that_is_not_modelled(objects):
    (reason,) = refusals(using("c"), *objects)
    assert "spec.volumes[0].persistentVolumeClaim" == reason
    assert {} == refusals(using("c"), *objects, ignore=("spec.volumes.persistentVolumeClaim",))
    assert {} == placed(decided([*NODES, using("c"), *objects]))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="no limit is known"),
        pytest.param([csi_node("n2", {"csi.example": None})], id="a driver without a limit"),
        pytest.param([csi_node("n2", {"other.example": 5}), csi_driver("other.example", required=True)], id="a limit of another driver"),
        pytest.param([csi_driver("csi.example", required=False)], id="a driver that may be missing"),
        pytest.param([csi_node("n2", {"csi.example": 5})], id="a limit that is not reached"),
    ],
)
def test_volume_of_a_driver_without_limits(objects):
    assert {"p"} == {*placed(decided([*NODES, using("c"), claim(volume="pv"), CSI_VOLUME, *objects]))}


@pytest.mark.parametrize("ignore", ["spec.volumes.persistentVolumeClaim", "spec.volumes[0].persistentVolumeClaim"])
@pytest.mark.parametrize("objects", [[], [claim(volume="pv"), volume("pv", on("zone", "x"))]], ids=["missing", "bound"])
def test_ignored_claim(objects, ignore):
    assert {} == refusals(using("c"), *objects, ignore=(ignore,))
    assert objects == [] or {AFFINITY: []} == refusals(using("c"), *objects, ignore=("spec.volumes[1].persistentVolumeClaim",))


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        pytest.param({"namespace": "default", "name": "c"}, "", id="by name"),
        pytest.param({"namespace": "default", "name": "c", "uid": "u"}, "", id="by uid"),
        pytest.param({"namespace": "default", "name": "c", "uid": "old"}, UNBOUND, id="an earlier claim"),
        pytest.param({"namespace": "default", "name": "d"}, UNBOUND, id="another claim"),
    ],
)
def test_claim_whose_volume_is_reserved_for_it_counts_as_bound(reference, reason):
    found = refusals(using("c"), claim(volume="pv", bound=False, uid="u"), volume(claimRef=reference))
    assert ([reason] if reason else []) == list(found)


def test_equal_pods_with_different_claims_share_a_shape():
    objects = [*NODES]
    for number in range(3):
        objects += [using(f"c{number}", name=f"p{number}"), claim(f"c{number}", f"pv{number}"), volume(f"pv{number}", on("zone", "a"))]
    objects += [using("free", name="p3"), claim("free", "shared"), volume("shared"), pod("p4")]
    shapes = [each.shape for each in load(objects).pods]
    assert [True, True, True, False] == [each is shapes[0] for each in shapes[:4]]
    assert shapes[3] is shapes[4], "a volume that is everywhere restricts nothing"


def test_bound_pod_needs_no_claim():
    snapshot = load([*NODES, using("c", on="n1")])
    assert ((), 0) == (snapshot.pods[0].shape.volumes, snapshot.pods[0].node)


def test_volume_narrows_the_domains_of_a_gang():
    objects = [node(f"{rack}-{number}", rack=rack) for rack in ("r1", "r2") for number in range(2)]
    objects += [leaf("g", 2, "rack"), *pods("g", 2)]
    objects[-1]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    objects += [claim(volume="pv"), volume("pv", on("rack", "r2"))]
    for strategy in ("greedy", "complete"):
        assert {"r2"} == {name[:2] for name in placed(decided(objects, strategy=strategy)).values()}


def test_no_pod_is_preempted_for_a_volume():
    low = pod("low", cpu="4", on="n1", priority=0)
    objects = [*NODES, low, using("c", cpu="4", priority=9), claim(volume="pv"), volume("pv", on("zone", "nowhere"))]
    for strategy in ("greedy", "complete"):
        decision = decided(objects, strategy=strategy)
        assert ((), {}) == (tuple(decision.victims), placed(decision))
    objects[-1] = volume("pv", on("zone", "a"))
    assert ["default/low"] == [*decided(objects, strategy="greedy").victims], "its cpu is worth it"


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found (there is no PersistentVolumeClaim default/data)', id="no claim"),
        pytest.param([claim("data", "pv-7")], 'persistentvolume "pv-7" not found (there is no PersistentVolume pv-7)', id="no volume"),
        pytest.param(
            [claim("data", "pv-7"), volume("pv-7", labels={ZONE: "z1"})],
            "both nodes are outside the zones of its volumes: claim data is bound to volume pv-7 in zone z1",
            id="zone",
        ),
        pytest.param(
            [claim("data", "pv-7"), volume("pv-7", on("kubernetes.io/hostname", "n9"))],
            "neither node matches the node affinity of its volumes: claim data is bound to volume pv-7 on node n9",
            id="node",
        ),
        pytest.param(
            [claim("data", "pv-7"), volume("pv-7", on("zone", "v", "w", "x", "y"))],
            "claim data is bound to volume pv-7 in zone v or w or x or 1 more",
            id="many zones",
        ),
        pytest.param(
            [claim("data", "pv-7"), volume("pv-7", on("x", "a"), on("y", "b"))],
            "claim data is bound to volume pv-7 with node affinity",
            id="several terms",
        ),
        pytest.param([claim("data")], UNBOUND, id="not bound"),
    ],
)
def test_diagnosis_names_claim_and_volume(objects, want):
    nodes = [node(name, **{ZONE: "z2"}) for name in ("n1", "n2")]
    assert want in message_of(decided([*nodes, using("data"), *objects], strategy="greedy"))
