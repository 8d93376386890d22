"""Small clusters with volumes: their content, and their manifests."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
STATIC, MIXED, DYNAMIC = "static", "mixed", "dynamic"
"""Classes: volumes that exist; volumes that exist or are provisioned; volumes that are provisioned within a storage capacity."""
DRIVER = {MIXED: "csi.mixed", DYNAMIC: "csi.dynamic"}
BOUND = "csi.bound"
"""Driver of the volumes of bound claims."""
KINDS = (STATIC, STATIC, STATIC, MIXED, DYNAMIC, DYNAMIC, BOUND)
"""Classes of the claims of waiting pods, often as drawn."""
STORAGE = "storage.k8s.io/v1"


@dataclasses.dataclass
class Node:
    """Node; *limits* is the number of volumes by driver, *attached* the bound claims whose volumes have a VolumeAttachment."""

    name: str
    rack: str
    cpu: int
    limits: dict[str, int]
    attached: list[str]


@dataclasses.dataclass
class Volume:
    """Free volume that the nodes with one label reach: ``rack`` or ``host``; all nodes if *key* is empty."""

    name: str
    storage_class: str
    size: int
    gold: bool
    key: str = ""
    value: str = ""


@dataclasses.dataclass
class Claim:
    """Claim without a volume; of class *BOUND* it has a CSI volume that all nodes reach."""

    name: str
    storage_class: str
    size: int = 5
    gold: bool = False
    single: bool = False


@dataclasses.dataclass
class Pod:
    """Pod of a group, or running on *node*; *disk* is read-write or read-only."""

    name: str
    group: str
    claims: list[str]
    node: str = ""
    disk: str = ""
    priority: int = 10
    cpu: int = 1


@dataclasses.dataclass
class Cluster:
    """Cluster with one root: PodGroup ``g0``, or a composite with ``g0`` and others.

    Attributes:
        minimum: by group.
        by_rack: groups with the rack as their topology key.
        capacity: GiB that can be provisioned for class DYNAMIC, by rack; a rack without an entry has none.

    """

    nodes: list[Node]
    volumes: list[Volume]
    claims: list[Claim]
    pods: list[Pod]
    minimum: dict[str, int]
    by_rack: list[str]
    capacity: dict[str, int]

    def claim(self, name: str) -> Claim:
        """Return a claim by name."""
        return next(each for each in self.claims if each.name == name)


@st.composite
def clusters(draw: st.DrawFn, running: int = 1, priority: int = 10, groups: int = 2, kinds: tuple[str, ...] = KINDS) -> Cluster:
    """Draw a cluster; up to *running* pods without a group run, with this *priority*; *kinds* are the classes of claims that wait.

    A composite has up to *groups* groups, each with one or two pods.
    """
    nodes = [Node(f"n{number}", f"r{number % 2}", draw(st.sampled_from((1, 2, 2, 4))), {}, []) for number in range(draw(st.integers(2, 4)))]
    volumes = []
    for number in range(draw(st.integers(0, 5))):
        key = draw(st.sampled_from(("rack", "rack", "host", "host", "")))
        where = draw(st.sampled_from(nodes))
        value = {"rack": where.rack, "host": where.name, "": ""}[key]
        gold, size = draw(st.booleans()), draw(st.sampled_from((5, 10)))
        volumes.append(Volume(f"pv{number}", draw(st.sampled_from((STATIC, STATIC, MIXED))), size, gold, key, value))
    claims: list[Claim] = []
    waiting, tree = draw(st.integers(1, max(4, groups + 1))), draw(st.booleans())
    pods = [_pod(draw, f"p{number}", f"g{number % groups if tree else 0}", claims, kinds) for number in range(waiting)]
    for number in range(draw(st.integers(0, running))):
        pods.append(_pod(draw, f"q{number}", "", claims, (BOUND,)))
        pods[-1].node, pods[-1].priority = draw(st.sampled_from(nodes)).name, priority
    bound = [each.name for each in claims if each.storage_class == BOUND]
    for node in nodes:
        drivers = [*DRIVER.values(), BOUND]
        node.limits = {driver: draw(st.integers(0, 2)) for driver in drivers if draw(st.integers(0, 3)) == 0}
        node.attached = [name for name in bound if draw(st.integers(0, 5)) == 0]
    names = [f"g{number}" for number in range(groups)]
    minimum = {name: draw(st.integers(1, sum(each.group == name for each in pods))) for name in names if _has(pods, name)}
    if tree:
        minimum["root"] = draw(st.integers(1, len(minimum)))
    by_rack = [name for name in minimum if draw(st.integers(0, 2)) == 0]
    capacity = {rack: draw(st.sampled_from((5, 10, 20))) for rack in ("r0", "r1") if draw(st.booleans())}
    return Cluster(nodes, volumes, claims, pods, minimum, by_rack, capacity)


@st.composite
def attached_clusters(draw: st.DrawFn, running: int = 1, priority: int = 10) -> Cluster:
    """Draw a cluster whose pods share volumes with VolumeAttachments, so that their order decides which of them can come to a node.

    Up to *running* pods without a group run, with this *priority*.
    """
    claims = [Claim(f"c{number}", BOUND) for number in range(draw(st.integers(2, 5)))]
    names = [each.name for each in claims]
    nodes = [Node(f"n{number}", f"r{number % 2}", draw(st.sampled_from((1, 2, 4, 4))), {}, []) for number in range(draw(st.integers(1, 3)))]
    for node in nodes:
        node.attached = [name for name in names if draw(st.integers(0, 2)) == 0]
        node.limits = {BOUND: len(node.attached) + draw(st.integers(0, 3))}
    used = st.lists(st.sampled_from(names), max_size=3, unique=True)
    pods = [Pod(f"p{number}", "g0", draw(used)) for number in range(draw(st.integers(2, 4)))]
    least = draw(st.integers(len(pods) - 1, len(pods)))
    for number in range(draw(st.integers(0, running))):
        pods.append(Pod(f"q{number}", "", draw(used), draw(st.sampled_from(nodes)).name, priority=priority))
    return Cluster(nodes, [], claims, pods, {"g0": least}, [], {})


def _pod(draw: st.DrawFn, name: str, group: str, claims: list[Claim], kinds: tuple[str, ...]) -> Pod:
    mine: list[str] = []
    for number in range(draw(st.sampled_from((0, 1, 1, 2)))):
        others = [each.name for each in claims if each.name not in mine and (each.storage_class == BOUND or kinds != (BOUND,))]
        if others and draw(st.integers(0, 3)) == 0:
            mine.append(draw(st.sampled_from(others)))
            continue
        kind = draw(st.sampled_from(kinds))
        gold = kind in (STATIC, MIXED) and draw(st.integers(0, 2)) == 0
        single = kind == BOUND and draw(st.booleans())
        claims.append(Claim(f"{name}-{number}", kind, draw(st.sampled_from((5, 10))), gold, single))
        mine.append(claims[-1].name)
    return Pod(name, group, mine, disk=draw(st.sampled_from(("", "", "", "rw", "ro"))))


def _has(pods: list[Pod], group: str) -> bool:
    return any(each.group == group for each in pods)


def manifests(cluster: Cluster) -> list[Json]:
    """Return the objects of *cluster*."""
    objects = [_named("StorageClass", STATIC, provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer")]
    for name, driver in DRIVER.items():
        objects.append(_named("StorageClass", name, provisioner=driver, volumeBindingMode="WaitForFirstConsumer"))
    objects.append(_named("CSIDriver", DRIVER[DYNAMIC], spec={"storageCapacity": True}))
    for rack, size in cluster.capacity.items():
        fields = {"storageClassName": DYNAMIC, "nodeTopology": {"matchLabels": {"rack": rack}}, "capacity": f"{size}Gi"}
        objects.append(_named("CSIStorageCapacity", rack, **fields))
    for node in cluster.nodes:
        objects += _node(node)
    objects += [_volume(each) for each in cluster.volumes]
    for claim in cluster.claims:
        objects += _claim(claim)
    return [*objects, *map(_pod_manifest, cluster.pods), *(_group(cluster, name) for name in cluster.minimum)]


def _named(kind: str, name: str, version: str = STORAGE, **fields: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def _node(node: Node) -> list[Json]:
    labels = {"host": node.name, "rack": node.rack}
    allocatable = {"cpu": str(node.cpu), "memory": "8Gi", "pods": "9"}
    head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels}}
    drivers = [{"name": driver, "nodeID": node.name, "allocatable": {"count": count}} for driver, count in node.limits.items()]
    attachments = [
        _named(
            "VolumeAttachment",
            f"{node.name}-{name}",
            spec={"attacher": BOUND, "nodeName": node.name, "source": {"persistentVolumeName": f"v-{name}"}},
        )
        for name in node.attached
    ]
    return [{**head, "status": {"allocatable": allocatable}}, _named("CSINode", node.name, spec={"drivers": drivers}), *attachments]


def _volume(volume: Volume) -> Json:
    spec: Json = {"capacity": {"storage": f"{volume.size}Gi"}, "storageClassName": volume.storage_class, "accessModes": ["ReadWriteOnce"]}
    if volume.key:
        expression = {"key": volume.key, "operator": "In", "values": [volume.value]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    labels = {"tier": "gold"} if volume.gold else {}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume.name, "labels": labels}, "spec": spec}


def _claim(claim: Claim) -> list[Json]:
    spec: Json = {"accessModes": ["ReadWriteOncePod" if claim.single else "ReadWriteOnce"]}
    if claim.storage_class == BOUND:
        metadata = {"name": claim.name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        csi = {"driver": BOUND, "volumeHandle": claim.name}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v-{claim.name}"}, "spec": {"csi": csi}}
        whole = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {**spec, "volumeName": f"v-{claim.name}"},
        }
        return [volume, whole]
    spec |= {"storageClassName": claim.storage_class, "resources": {"requests": {"storage": f"{claim.size}Gi"}}}
    if claim.gold:
        spec["selector"] = {"matchLabels": {"tier": "gold"}}
    return [_named("PersistentVolumeClaim", claim.name, "v1", spec=spec)]


def _pod_manifest(pod: Pod) -> Json:
    spec: Json = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(pod.cpu)}}}], "priority": pod.priority}
    spec["volumes"] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in pod.claims]
    if pod.disk:
        spec["volumes"].append({"name": "disk", "iscsi": {"iqn": "d", "readOnly": pod.disk == "ro"}})
    if pod.group:
        spec["schedulingGroup"] = {"podGroupName": pod.group}
    if pod.node:
        spec["nodeName"] = pod.node
    return _named("Pod", pod.name, "v1", spec=spec, status={"phase": "Running" if pod.node else "Pending"})


def _group(cluster: Cluster, name: str) -> Json:
    composite = name == "root"
    spec: Json = {"schedulingPolicy": {"gang": {"minGroupCount" if composite else "minCount": cluster.minimum[name]}}, "priority": 10}
    if not composite and "root" in cluster.minimum:
        spec["parentCompositePodGroupName"] = "root"
    if name in cluster.by_rack:
        spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    return _named("CompositePodGroup" if composite else "PodGroup", name, "scheduling.k8s.io/v1alpha3", spec=spec)
