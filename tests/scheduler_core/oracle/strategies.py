"""Strategies of small clusters as API objects, with many ties and near fits.

A tree has one priority and one preemption policy for its groups and pods, mode All is only above All and never basic,
minimums do not exceed the members, and running pods fit on their nodes.

Omitted, because the oracle does not read it: affinity between pods,
spread, volumes; a pending pod without a group preempts nobody.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as st

from tests.scheduler_core.oracle.fit import misfits
from tests.scheduler_core.oracle.model import Objects, read

KEYS = ("zone", "rack", "kubernetes.io/hostname")
ZONES, RACKS = ("z1", "z2"), ("r1", "r2", "r3")
PRIORITIES = (0, 10, 50, 100)
TAINTS = (
    {"key": "team", "value": "a", "effect": "NoSchedule"},
    {"key": "old", "effect": "PreferNoSchedule"},
    {"key": "drain", "value": "b", "effect": "NoExecute"},
)
TOLERATIONS = (
    {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
    {"key": "old", "operator": "Exists"},
    {"operator": "Exists"},
)


@dataclasses.dataclass(frozen=True)
class Size:
    """Limits of a cluster."""

    nodes: int = 8
    trees: int = 3
    depth: int = 4
    pending: int = 3
    """Pods of one leaf."""
    running: int = 2
    lone: int = 4
    """Pods without a group, most of them running."""


TINY = Size(nodes=4, trees=1, depth=3, pending=2, running=1, lone=2)


def seldom(draw: st.DrawFn, value: Any, *, one_in: int = 8) -> Any:
    """Draw *value* (drawn if it is a strategy), mostly None; shrinks to None."""
    if draw(st.integers(0, one_in - 1)) < one_in - 1:
        return None
    return draw(value) if isinstance(value, st.SearchStrategy) else value


def present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def moment(draw: st.DrawFn, latest: int = 3) -> str:
    return f"2026-08-01T00:00:0{draw(st.integers(0, latest))}Z"


@st.composite
def nodes(draw: st.DrawFn, count: int) -> Objects:
    created = []
    for number in range(count):
        name = f"n{number}"
        labels = present(zone=draw(st.sampled_from(ZONES)), rack=draw(st.sampled_from(RACKS)), disk=seldom(draw, "ssd", one_in=3))
        labels["kubernetes.io/hostname"] = name
        if missing := seldom(draw, st.sampled_from(("zone", "rack"))):
            del labels[missing]
        capacity = {"cpu": str(draw(st.sampled_from((2, 1, 3, 4, 8)))), "pods": str(draw(st.sampled_from((110, 110, 2, 3))))}
        capacity |= present(
            memory=draw(st.sampled_from(("4Gi", "4Gi", "2Gi", "8Gi", None))), **{"example.com/gpu": seldom(draw, "2", one_in=3)}
        )
        taints = (
            draw(st.lists(st.sampled_from(TAINTS), max_size=2, unique_by=lambda taint: taint["key"])) if seldom(draw, 1, one_in=4) else []
        )
        spec = present(taints=taints, unschedulable=seldom(draw, True, one_in=12))
        created.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
                "status": {"allocatable": capacity},
            }
        )
    return created


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the parts of a pod's spec that decide where it may run."""
    amounts = present(
        cpu=draw(st.sampled_from(("1", "500m", "1500m", "2", None))),
        memory=draw(st.sampled_from((None, None, "1Gi", "2Gi"))),
        **{"example.com/gpu": seldom(draw, "1", one_in=10)},
    )
    port = seldom(
        draw, st.sampled_from(({"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}))
    )
    container = {"name": "c", "image": "i", **present(resources=present(requests=amounts), ports=port and [port])}
    starting = seldom(draw, st.sampled_from(({"cpu": "2"}, {"memory": "2Gi"})))
    init = starting and {
        "name": "i",
        "image": "i",
        "resources": {"requests": starting},
        **present(restartPolicy=seldom(draw, "Always", one_in=2)),
    }
    return {
        "containers": [container],
        **present(
            initContainers=init and [init],
            overhead=seldom(draw, {"cpu": "250m"}, one_in=10),
            nodeSelector=seldom(draw, {"disk": "ssd"}, one_in=12),
            tolerations=seldom(draw, st.lists(st.sampled_from(TOLERATIONS), min_size=1, max_size=2), one_in=3),
            affinity=present(nodeAffinity=draw(node_affinity())),
        ),
    }


@st.composite
def node_affinity(draw: st.DrawFn) -> dict[str, Any]:
    operators = {"In": ["z1"], "NotIn": ["z2"], "Exists": [], "DoesNotExist": []}
    operator = draw(st.sampled_from(tuple(operators)))
    on_label = {"matchExpressions": [{"key": "zone", "operator": operator, **present(values=operators[operator])}]}
    on_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    wished = [{"weight": draw(st.sampled_from((1, 50, 100))), "preference": term} for term in (on_label, on_name) if seldom(draw, 1)]
    demanded = seldom(draw, {"nodeSelectorTerms": [on_label, on_name][: draw(st.integers(1, 2))]}, one_in=12)
    return present(requiredDuringSchedulingIgnoredDuringExecution=demanded, preferredDuringSchedulingIgnoredDuringExecution=wished)


class Builder:
    """Builder of one cluster."""

    def __init__(self, draw: st.DrawFn, size: Size) -> None:
        self.draw = draw
        self.size = size
        self.objects: Objects = draw(nodes(draw(st.integers(2, size.nodes))))
        self.shapes = draw(st.lists(shapes(), min_size=1, max_size=3))
        self.pods = 0

    def tree(self, number: int, *, waiting: bool) -> None:
        """Add a tree; one that is not pending has running pods only."""
        policy = seldom(self.draw, "Never")
        common = {"priority": self.draw(st.sampled_from(PRIORITIES[1:] if waiting else PRIORITIES)), **present(preemptionPolicy=policy)}
        depth = self.draw(st.integers(1, self.size.depth))
        self.group(f"t{number}", "", depth, common, waiting=waiting, everything=bool(seldom(self.draw, 1, one_in=3)))

    def group(self, name: str, parent: str, depth: int, common: dict[str, Any], *, waiting: bool, everything: bool) -> None:
        draw = self.draw
        leaf = depth == 1
        gang = everything or draw(st.booleans())
        key = draw(st.sampled_from((None, *KEYS)))
        everything = everything or (leaf and gang and bool(seldom(draw, 1, one_in=4)))
        children = 0 if leaf else draw(st.integers(1, 2))
        runs = draw(st.integers(0, self.size.running))
        waits = draw(st.integers(0 if runs else 1, self.size.pending)) if waiting else 0
        minimum = draw(st.integers(1, max(1, children if not leaf else waits + runs)))
        status_text = "minCount" if leaf else "minGroupCount"
        spec = {
            "schedulingPolicy": {"gang": {status_text: minimum}} if gang else {"basic": {}},
            "disruptionMode": {"all" if everything else "single": {}},
            **common,
            **present(schedulingConstraints=key and {"topology": [{"key": key}]}, parentCompositePodGroupName=parent),
            "workloadRef": {"workloadName": "w", "templateName": "t"},
        }
        kind = "PodGroup" if leaf else "CompositePodGroup"
        metadata = {"name": name, "namespace": "default", "creationTimestamp": moment(draw)}
        self.objects.append({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": metadata, "spec": spec})
        for number in range(children):
            below = draw(st.integers(1, depth - 1))
            self.group(f"{name}-{number}", name, below, common, waiting=waiting, everything=everything)
        if leaf:
            self.members(name, common, waits, runs)

    def members(self, name: str, common: dict[str, Any], waits: int, runs: int) -> None:
        shape = self.draw(st.sampled_from(self.shapes))
        common = {**common, "schedulingGroup": {"podGroupName": name}}
        for _ in range(runs):
            self.run({**shape, **common})
        for _ in range(waits):
            gates = seldom(self.draw, [{"name": "g"}], one_in=40)
            self.pod({**self.draw(st.sampled_from((shape, *self.shapes))), **common, **present(schedulingGates=gates)})

    def pod(self, spec: dict[str, Any], **status: Any) -> None:
        name = f"p{self.pods}"
        self.pods += 1
        labels = present(app=self.draw(st.sampled_from(("a", "b", None))))
        metadata = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": moment(self.draw), **present(labels=labels)}
        self.objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **present(status=status)})

    def run(self, spec: dict[str, Any]) -> None:
        """Add a running pod on a node where it fits, mostly in the domains of its groups, if there is one."""
        loose = bool(seldom(self.draw, 1, one_in=20))
        name = f"p{self.pods}"
        cluster = read([*self.objects, {"kind": "Pod", "metadata": {"name": name}, "spec": spec}])
        pod = cluster.pods[f"default/{name}"]
        home = cluster.group_of(pod)
        fitting = []
        for node in cluster.nodes.values():
            if not misfits(pod, node, cluster.on(node.name)):
                cluster.where[pod.key] = node.name
                chain = [] if home is None or loose else cluster.chain(home)
                domains = [
                    {cluster.nodes[cluster.where[one.key]].labels.get(group.topology) for one in cluster.running(group)}
                    for group in chain
                    if group.topology
                ]
                if all(len(values) == 1 and None not in values for values in domains):
                    fitting.append(node.name)
                del cluster.where[pod.key]
        if fitting:
            started = {} if self.draw(st.booleans()) else {"startTime": moment(self.draw)}
            self.pod({**spec, "nodeName": self.draw(st.sampled_from(fitting))}, phase="Running", **started)

    def budget(self, number: int) -> None:
        selector = {"matchLabels": {"app": self.draw(st.sampled_from(("a", "b")))}}
        status = {"disruptionsAllowed": self.draw(st.integers(0, 2))}
        metadata = {"name": f"b{number}", "namespace": "default"}
        self.objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": metadata,
                "spec": {"selector": selector},
                "status": status,
            }
        )


@st.composite
def clusters(draw: st.DrawFn, size: Size = Size()) -> Objects:
    """Draw a cluster with at least one pending tree; its only namespace is ``default``."""
    created = Builder(draw, size)
    for _ in range(draw(st.integers(0, size.lone))):
        created.run({**draw(st.sampled_from(created.shapes)), "priority": draw(st.sampled_from(PRIORITIES))})
    trees = draw(st.integers(1, size.trees))
    for number in range(trees):
        created.tree(number, waiting=number == trees - 1 or draw(st.booleans()))
    if lone := seldom(draw, st.sampled_from(created.shapes), one_in=4):
        created.pod({**lone, "priority": draw(st.sampled_from(PRIORITIES)), "preemptionPolicy": "Never"})
    for number in range(draw(st.integers(0, 2))):
        created.budget(number)
    return created.objects
