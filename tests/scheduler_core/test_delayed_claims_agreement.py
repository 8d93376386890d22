"""Claims that wait for their first consumer, compared with a plain reading of kube-scheduler and with exhaustive search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scheduler_core.oracle import algorithm, brute, cycle
from tests.scheduler_core.oracle.model import Cluster, Group, Node, Objects, Pod, read
from tests.scheduler_core.oracle.volumes import SELECTED, Found, Volumes, claims_of
from tests.scheduler_core.test_agreement import RANDOM, Json, answer

HOSTNAME = "kubernetes.io/hostname"
SIZES = (5, 10, 20)
CLASSES = ("local", "mixed", "dynamic")


class Simulation(algorithm.Simulation):
    """The oracle, with volumes."""

    def __init__(self, objects: Objects, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.volumes = Volumes(objects)
        self.again: set[str] = set()

    def place(self, group: Group, nodes: list[Node], results: algorithm.Results) -> None:
        super().place(group, nodes, results)
        self.again |= algorithm.proposed(group, results).keys() & self.where.keys()

    def found(self, pod: Pod, node: Node) -> Found | None:
        return self.volumes.on_node(pod, node, self.cluster, self.where, self.again)

    def fits(self, pod: Pod, node: Node) -> bool:
        return super().fits(pod, node) and self.found(pod, node) is not None

    def choose(self, pod: Pod, nodes: list[Node]) -> str | None:
        self.again.discard(pod.key)
        fitting = [node for node in nodes if self.fits(pod, node)]
        if not fitting:
            return None
        scores = algorithm.node_scores(pod, {node.name: (node, self.on(node)) for node in fitting})
        for node in fitting:
            found = self.found(pod, node)
            scores[node.name] += found.score if found else 0
        return min(scores, key=lambda name: (-scores[name], name))


def expected(objects: Objects) -> tuple[str, dict[str, str]]:
    """Return status and assignments of the only root."""
    cluster = read(objects)
    (root,) = cycle.roots(cluster)
    simulation = Simulation(objects, cluster)
    if root.group is None:
        node = simulation.choose(root.pods[0], list(cluster.nodes.values()))
        return ("Success", {root.pods[0].key: node}) if node else ("Unschedulable", {})
    results = simulation.root(root.group)
    return results[root.group.name].status, algorithm.proposed(root.group, results)


def possible(objects: Objects) -> bool:
    """Return whether any assignment of the root satisfies groups, requests and volumes."""
    cluster = read(objects)
    (root,) = cycle.roots(cluster)
    volumes, running = Volumes(objects), dict(cluster.where)
    pods = root.pods if root.group is None else algorithm.queued(root.group, cluster)
    for _ in brute._assigned(pods, cluster):
        new = {key: node for key, node in cluster.where.items() if key not in running}
        met = not any(brute._unmet(group, cluster) for key in new for group in brute._above(cluster.pods[key], cluster))
        if new and met and volumes.possible(cluster, new):
            return True
    return False


def broken(objects: Objects, assignments: dict[str, str], volumes: dict[str, Any]) -> list[str]:
    """Return what is wrong with a decision: constraints, and volumes that are missing, used twice or out of reach."""
    cluster: Cluster = read(objects)
    known = Volumes(objects)
    wrong = brute.violations(objects, assignments)
    given = [each["volume"] for each in volumes.values() if "volume" in each]
    wrong += [f"{each} is used twice" for each in given if given.count(each) > 1]
    for key, node in assignments.items():
        for claim in claims_of(cluster.pods[key]):
            choice = volumes[f"default/{claim}"]
            here = cluster.nodes[node]
            good = known._suits(choice["volume"], claim, here) if "volume" in choice else known._provisions(claim, here)
            wrong += [] if good and choice.get("selectedNode", node) == node else [f"{claim} of {key} has {choice} on {node}"]
    return wrong


@st.composite
def clusters(draw: st.DrawFn, *, plain: bool = False) -> list[Json]:
    """Draw nodes, volumes and one gang or pod with claims; *plain*: volumes are on one node and claims are not shared."""
    nodes = [(f"n{number}", f"r{number % 2}") for number in range(draw(st.integers(1, 4)))]
    objects: list[Json] = [_node(name, rack, draw(st.sampled_from((1, 2, 4)))) for name, rack in nodes]
    objects += [
        _class("local", "kubernetes.io/no-provisioner"),
        _class("mixed", "csi.mixed", draw(st.booleans())),
        _class("dynamic", "csi.dynamic"),
    ]
    objects += [_driver("csi.dynamic")] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 2))):
        objects.append(_capacity(f"c{number}", draw(st.sampled_from(("r0", "r1"))), draw(st.sampled_from(SIZES))))
    for number in range(draw(st.integers(0, 5))):
        affinity = draw(st.sampled_from(nodes)) if plain else draw(st.sampled_from((*nodes, None)))
        by_rack = not plain and draw(st.integers(0, 3)) == 0
        objects.append(
            _volume(f"pv{number}", draw(st.sampled_from(SIZES)), draw(st.sampled_from(CLASSES[:2])), affinity, by_rack, draw(st.booleans()))
        )
    members = draw(st.integers(0, 3))
    tree = members > 1 and draw(st.booleans())
    claims: list[str] = []
    for number in range(max(members, 1)):
        mine = []
        for which in range(draw(st.integers(0, 2))):
            if claims and not plain and draw(st.integers(0, 4)) == 0:
                mine.append(draw(st.sampled_from(claims)))
                continue
            mine.append(f"c{number}{which}")
            selected = draw(st.sampled_from([name for name, _ in nodes])) if draw(st.integers(0, 9)) == 0 else ""
            gold = not plain and draw(st.integers(0, 3)) == 0
            objects.append(_claim(mine[-1], draw(st.sampled_from(SIZES)), draw(st.sampled_from(CLASSES)), selected, gold=gold))
        claims += mine
        objects.append(_pod(f"p{number}", list(dict.fromkeys(mine)), f"g{number % 2 if tree else 0}" if members else ""))
    for number in range(1 + tree if members else 0):
        size = len(range(number, members, 2)) if tree else members
        objects.append(_gang(f"g{number}", draw(st.integers(1, size)), draw(st.booleans()), "root" if tree else ""))
    if tree:
        spec: Json = {"schedulingPolicy": {"gang": {"minGroupCount": draw(st.integers(1, 2))}}}
        spec |= {"schedulingConstraints": {"topology": [{"key": "rack"}]}} if draw(st.booleans()) else {}
        objects.append({**_gang("root", 1, by_rack=False), "kind": "CompositePodGroup", "spec": spec})
    return objects


def _node(name: str, rack: str, cpu: int) -> Json:
    allocatable = {"cpu": str(cpu), "memory": "8Gi", "pods": "10"}
    metadata = {"name": name, "labels": {HOSTNAME: name, "rack": rack}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def _class(name: str, provisioner: str, one_rack: bool = False) -> Json:
    terms = [{"matchLabelExpressions": [{"key": "rack", "values": ["r0"]}]}]
    topologies = {"allowedTopologies": terms} if one_rack else {}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **topologies}


def _driver(name: str) -> Json:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": True}}


def _capacity(name: str, rack: str, size: int) -> Json:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "storageClassName": "dynamic", "nodeTopology": {"matchLabels": {"rack": rack}}, "capacity": f"{size}Gi"}


def _volume(name: str, size: int, storage_class: str, place: tuple[str, str] | None, by_rack: bool, gold: bool) -> Json:
    spec: Json = {"capacity": {"storage": f"{size}Gi"}, "storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    if place is not None:
        expression = {"key": "rack" if by_rack else HOSTNAME, "operator": "In", "values": [place[by_rack]]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"tier": "gold"} if gold else {}},
        "spec": spec,
    }


def _claim(name: str, size: int, storage_class: str, selected: str, *, gold: bool) -> Json:
    metadata = {"name": name, "namespace": "default", "annotations": {SELECTED: selected} if selected else {}}
    spec: Json = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{size}Gi"}}}
    if gold:
        spec["selector"] = {"matchLabels": {"tier": "gold"}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _pod(name: str, claims: list[str], group: str) -> Json:
    spec: Json = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    spec["volumes"] = [{"name": f"v{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims]
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _gang(name: str, minimum: int, by_rack: bool, parent: str = "") -> Json:
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": minimum}}, **({"parentCompositePodGroupName": parent} if parent else {})}
    if by_rack:
        spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "metadata": metadata, "spec": spec}


@RANDOM
@given(clusters())
def test_greedy_takes_volumes_as_kube_scheduler(objects):
    status, assignments = expected(objects)
    (decision,) = answer(objects, strategy="greedy")["decisions"]
    assert (status, assignments) == (decision["status"], decision["assignments"])
    if "does not hold volumes" not in decision["message"]:
        assert [] == broken(objects, decision["assignments"], decision.get("volumes") or {})


@pytest.mark.parametrize("plain", [True, False], ids=["volumes of one node", "any volumes"])
def test_complete_places_what_can_be_placed(plain):
    @RANDOM
    @given(clusters(plain=plain))
    def compare(objects: list[Json]) -> None:
        (decision,) = answer(objects, strategy="complete")["decisions"]
        assert [] == broken(objects, decision["assignments"], decision.get("volumes") or {})
        can_be_placed = possible(objects)
        assert can_be_placed or decision["status"] != "Success"
        assert not can_be_placed or decision["search"]["outcome"] != "infeasible"
        assert (decision["status"] == "Success") == can_be_placed

    compare()
