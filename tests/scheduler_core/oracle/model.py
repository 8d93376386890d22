"""Objects of a cluster as the cycle reads them."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.scheduler_core.oracle import amounts

Objects = list[dict[str, Any]]
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclasses.dataclass(eq=False)
class Node:
    name: str
    labels: dict[str, str]
    taints: list[dict[str, str]]
    unschedulable: bool
    allocatable: dict[str, int]
    images: dict[str, int] = dataclasses.field(default_factory=dict)
    """Bytes by name."""
    volume_limits: dict[str, int] = dataclasses.field(default_factory=dict)
    """Number of volumes by CSI driver."""
    attached: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Volumes with a VolumeAttachment."""


@dataclasses.dataclass(eq=False)
class Pod:
    key: str
    namespace: str
    name: str
    labels: dict[str, str]
    spec: dict[str, Any]
    requests: dict[str, int]
    scored: dict[str, int]
    priority: int
    policy: str
    scheduler: str
    group: str
    created: str
    started: str
    terminating: bool
    preempted: bool
    """True if it is terminating because the scheduler preempts it."""
    gated: bool
    volumes: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """CSI driver and handle of the volumes of its claims."""
    claims: set[str] = dataclasses.field(default_factory=set)
    single: set[str] = dataclasses.field(default_factory=set)
    """Those of its claims that only one pod can use (ReadWriteOncePod)."""


@dataclasses.dataclass(eq=False)
class Group:
    kind: str
    namespace: str
    name: str
    gang: bool
    minimum: int
    topology: str
    priority: int
    policy: str
    all: bool
    parent: str
    created: str
    children: list[Group] = dataclasses.field(default_factory=list)
    """Children, by creation time, then name."""
    members: list[Pod] = dataclasses.field(default_factory=list)
    """All members in queue order: priority descending, creation time, name."""

    def walk(self) -> list[Group]:
        """Yield this group and all below it, parents first."""
        return [self, *(below for child in self.children for below in child.walk())]

    def leaves(self) -> list[Group]:
        return [group for group in self.walk() if group.kind == "PodGroup"]

    def pods(self) -> list[Pod]:
        """Return the members of all leaves below."""
        return [pod for leaf in self.leaves() for pod in leaf.members]

    def depth(self) -> int:
        return 1 + max((child.depth() for child in self.children), default=0)


@dataclasses.dataclass(eq=False)
class Cluster:
    nodes: dict[str, Node]
    pods: dict[str, Pod]
    groups: dict[tuple[str, str, str], Group]
    """Groups, by kind, namespace and name."""
    budgets: Objects
    where: dict[str, str]
    """Node of each bound pod, known or not; the cycle adds assumed pods."""
    nominated: dict[str, str]
    """Node of each nominated pod."""
    failed_leaves: bool = True
    """True if a preemption also frees capacity for pods of failed leaves below a root that succeeded, as in 1.37.1."""

    def group_of(self, pod: Pod) -> Group | None:
        return self.groups.get(("PodGroup", pod.namespace, pod.group))

    def parent_of(self, group: Group) -> Group | None:
        return self.groups.get(("CompositePodGroup", group.namespace, group.parent))

    def chain(self, group: Group) -> list[Group]:
        """Return the group and its existing ancestors; a cycle is followed once."""
        result = [group]
        while (above := self.parent_of(result[-1])) is not None and above not in result:
            result.append(above)
        return result

    def complete(self, group: Group) -> bool:
        """Return true if all ancestors exist, up to a root."""
        return not self.chain(group)[-1].parent

    def running(self, group: Group) -> list[Pod]:
        """Return the members of all leaves below that have a node."""
        return [pod for pod in group.pods() if pod.key in self.where]

    def on(self, node: str) -> list[Pod]:
        return [self.pods[key] for key, name in self.where.items() if name == node]


def flat(objects: Objects) -> Objects:
    """Flatten lists."""
    return [each for one in objects for each in (one["items"] if one["kind"].endswith("List") else [one])]


def read(objects: Objects) -> Cluster:
    """Return the cluster of raw objects, without pods that have ended and nodes without allocatable."""
    by_kind: dict[str, Objects] = {}
    for one in flat(objects):
        by_kind.setdefault(one["kind"], []).append(one)
    classes = by_kind.get("PriorityClass", [])
    cluster = Cluster({}, {}, {}, by_kind.get("PodDisruptionBudget", []), {}, {})
    for one in by_kind.get("Node", []):
        if (one.get("status") or {}).get("allocatable"):
            cluster.nodes[one["metadata"]["name"]] = _node(one)
    for one in by_kind.get("Pod", []):
        if (one.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}:
            _add_pod(cluster, one, classes)
    _add_volumes(cluster, by_kind)
    for kind in ("PodGroup", "CompositePodGroup"):
        for one in by_kind.get(kind, []):
            group = _group(one, classes)
            cluster.groups[kind, group.namespace, group.name] = group
    join(cluster)
    return cluster


def join(cluster: Cluster) -> None:
    """Link children and members again."""
    for group in cluster.groups.values():
        group.children = [each for each in cluster.groups.values() if each.parent and cluster.parent_of(each) is group]
        group.children.sort(key=lambda each: (each.created, each.name))
        group.members = [pod for pod in cluster.pods.values() if group.kind == "PodGroup" and cluster.group_of(pod) is group]
        group.members.sort(key=lambda pod: (-pod.priority, pod.created, pod.name))


def _node(one: dict[str, Any]) -> Node:
    metadata, spec = one["metadata"], one.get("spec") or {}
    images = {name: image["sizeBytes"] for image in one["status"].get("images") or [] for name in image["names"]}
    unschedulable = bool(spec.get("unschedulable"))
    return Node(metadata["name"], metadata.get("labels") or {}, spec.get("taints") or [], unschedulable, amounts.allocatable(one), images)


def _add_pod(cluster: Cluster, one: dict[str, Any], classes: Objects) -> None:
    metadata, spec, status = one["metadata"], one.get("spec") or {}, one.get("status") or {}
    namespace = metadata.get("namespace") or "default"
    key = f"{namespace}/{metadata['name']}"
    terminating = bool(metadata.get("deletionTimestamp"))
    cluster.pods[key] = Pod(
        key=key,
        namespace=namespace,
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        spec=spec,
        requests=amounts.requests(spec),
        scored=amounts.scored(spec),
        priority=_priority(spec, classes),
        policy=spec.get("preemptionPolicy") or _class_policy(spec, classes),
        scheduler=spec.get("schedulerName") or "default-scheduler",
        group=(spec.get("schedulingGroup") or {}).get("podGroupName") or "",
        created=metadata.get("creationTimestamp") or "",
        started=status.get("startTime") or "",
        terminating=terminating,
        preempted=terminating and any(_evicts(condition) for condition in status.get("conditions") or []),
        gated=bool(spec.get("schedulingGates")),
    )
    if spec.get("nodeName"):
        cluster.where[key] = spec["nodeName"]
    elif status.get("nominatedNodeName"):
        cluster.nominated[key] = status["nominatedNodeName"]


def _add_volumes(cluster: Cluster, by_kind: dict[str, Objects]) -> None:
    """Add limits and attachments to the nodes, and volumes to the pods."""
    handles = {each["metadata"]["name"]: each["spec"].get("csi") for each in by_kind.get("PersistentVolume", [])}
    keys = {name: (csi["driver"], csi["volumeHandle"]) for name, csi in handles.items() if csi}
    claims = {each["metadata"]["name"]: each["spec"].get("volumeName") for each in by_kind.get("PersistentVolumeClaim", [])}
    modes = {each["metadata"]["name"]: each["spec"].get("accessModes") or [] for each in by_kind.get("PersistentVolumeClaim", [])}
    one_pod = {name for name, each in modes.items() if "ReadWriteOncePod" in each}
    for one in by_kind.get("CSINode", []):
        if (node := cluster.nodes.get(one["metadata"]["name"])) is not None:
            counts = {each["name"]: (each.get("allocatable") or {}).get("count") for each in one["spec"]["drivers"]}
            node.volume_limits = {driver: count for driver, count in counts.items() if count is not None}
    for one in by_kind.get("VolumeAttachment", []):
        node, name = cluster.nodes.get(one["spec"]["nodeName"]), one["spec"]["source"]["persistentVolumeName"]
        if node is not None and name in keys:
            node.attached.add(keys[name])
    for pod in cluster.pods.values():
        names = [each["persistentVolumeClaim"]["claimName"] for each in pod.spec.get("volumes") or [] if "persistentVolumeClaim" in each]
        pod.volumes = {keys[claims[name]] for name in names if claims.get(name) in keys}
        pod.claims, pod.single = set(names), {*names} & one_pod


def _group(one: dict[str, Any], classes: Objects) -> Group:
    metadata, spec = one["metadata"], one.get("spec") or {}
    gang = (spec.get("schedulingPolicy") or {}).get("gang")
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or []
    return Group(
        kind=one["kind"],
        namespace=metadata.get("namespace") or "default",
        name=metadata["name"],
        gang=gang is not None,
        minimum=1 if gang is None else gang["minCount" if one["kind"] == "PodGroup" else "minGroupCount"],
        topology=topology[0]["key"] if topology else "",
        priority=_priority(spec, classes),
        policy=spec.get("preemptionPolicy") or "PreemptLowerPriority",
        all="all" in (spec.get("disruptionMode") or {}),
        parent=spec.get("parentCompositePodGroupName") or "",
        created=metadata.get("creationTimestamp") or "",
    )


def _class_of(spec: dict[str, Any], classes: Objects) -> dict[str, Any]:
    if name := spec.get("priorityClassName"):
        system = {"value": SYSTEM_CLASSES.get(name, 0)}
        return next((each for each in classes if each["metadata"]["name"] == name), system)
    usual = [each for each in classes if each.get("globalDefault")]
    return min(usual, key=lambda each: each["value"], default={"value": 0})


def _priority(spec: dict[str, Any], classes: Objects) -> int:
    written = spec.get("priority")
    return int(_class_of(spec, classes)["value"] if written is None else written)


def _class_policy(spec: dict[str, Any], classes: Objects) -> str:
    return str(_class_of(spec, classes).get("preemptionPolicy") or "PreemptLowerPriority")


def _evicts(condition: dict[str, Any]) -> bool:
    return (
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
    )
