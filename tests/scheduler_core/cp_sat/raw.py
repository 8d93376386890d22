"""Planned trees and nodes as API objects."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests import builders
from tests.scheduler_core.oracle.model import Objects

POOL = "example.com/pool"
GPU = "example.com/gpu"
SIZE = {"cpu": 8000, "memory": 32768, GPU: 4}
"""Allocatable of a node: millicores, MiB, devices."""
UNITS = {"cpu": "m", "memory": "Mi", GPU: ""}
URGENT = 100
"""Priority of the pending trees."""

Amounts = dict[str, int]


@dataclasses.dataclass(eq=False)
class Machine:
    """Node."""

    name: str
    labels: dict[str, str]
    kept: Counter[str] = dataclasses.field(default_factory=Counter)
    """Resources that stay free."""
    held: Counter[str] = dataclasses.field(default_factory=Counter)
    """Resources of running members."""

    def fits(self, amounts: Amounts) -> bool:
        return all(self.kept[name] + self.held[name] + amount <= SIZE[name] for name, amount in amounts.items())

    def rest(self, resources: Iterable[str]) -> Amounts:
        """Return the resources that fillers take."""
        return {name: SIZE[name] - self.kept[name] - self.held[name] for name in resources}


@dataclasses.dataclass(eq=False)
class Planned:
    """Group with everything below it."""

    name: str
    key: str
    second: int
    """Creation order: siblings are tried in this order."""
    minimum: int = 0
    """minCount or minGroupCount; 0 for a basic group."""
    children: list[Planned] = dataclasses.field(default_factory=list)
    pods: list[tuple[dict[str, Any], str]] = dataclasses.field(default_factory=list)
    """Pods: the spec of each, and its node if it runs."""
    room: list[int] = dataclasses.field(default_factory=list)
    """Shapes of the pods for which capacity is reserved."""

    def walk(self) -> Iterator[Planned]:
        yield self
        for child in self.children:
            yield from child.walk()


def node(machine: Machine, resources: Iterable[str]) -> dict[str, Any]:
    taints = [tainted(machine.labels[POOL])] if POOL in machine.labels else []
    amounts = _quantities({name: SIZE[name] for name in resources})
    return builders.node(machine.name, "", "", labels=machine.labels, resources=amounts, taints=taints)


def tainted(pool: str) -> dict[str, str]:
    """Return the taint of the nodes of a pool."""
    return {"key": POOL, "value": pool, "effect": "NoSchedule"}


def spec(amounts: Amounts, pool: str) -> dict[str, Any]:
    """Return a pod spec that requests *amounts*, on the nodes of *pool* unless that is empty."""
    result: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": _quantities(amounts)}}]}
    if pool:
        result |= {"nodeSelector": {POOL: pool}, "tolerations": [{**tainted(pool), "operator": "Equal"}]}
    return result


def tree(top: Planned, parent: str = "", priority: int = URGENT, mode: str = "single") -> Objects:
    """Return the groups and pods of *top*."""
    kind, status_text = ("CompositePodGroup", "minGroupCount") if top.children else ("PodGroup", "minCount")
    own = {
        "schedulingPolicy": {"gang": {status_text: top.minimum}} if top.minimum else {"basic": {}},
        "disruptionMode": {mode: {}},
        "priority": priority,
        "workloadRef": {"workloadName": "w", "templateName": top.name},
    }
    own |= {"schedulingConstraints": {"topology": [{"key": top.key}]}} if top.key else {}
    own |= {"parentCompositePodGroupName": parent} if parent else {}
    created = [{"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": _meta(top.name, top.second), "spec": own}]
    for number, (expected, on) in enumerate(top.pods):
        created.append(_pod(f"{top.name}-p{number:02d}", {**expected, "schedulingGroup": {"podGroupName": top.name}}, on, priority))
    for child in top.children:
        created += tree(child, top.name, priority, mode)
    return created


def fillers(machines: Iterable[Machine], resources: list[str], priority: int, chance: random.Random) -> Objects:
    """Return running pods that take all capacity that is not reserved.

    One for each node if they cannot be preempted; otherwise several, some in groups that are preempted together.
    """
    created: Objects = []
    pieces = [
        (each, piece) for each in machines for piece in _pieces(each.rest(resources), 1 if priority >= URGENT else chance.randint(1, 3))
    ]
    chance.shuffle(pieces)
    number = 0
    while pieces:
        together = chance.randint(2, 3) if priority < URGENT and len(pieces) > 2 and chance.random() < 0.3 else 1
        used, pieces = pieces[:together], pieces[together:]
        level = priority + chance.choice((0, 0, 10, 50)) if priority < URGENT else priority
        pods = [(spec(piece, machine.labels.get(POOL, "")), machine.name) for machine, piece in used]
        if together > 1:
            created += tree(Planned(f"old-{number}", "", chance.randrange(60), together, pods=pods), priority=level, mode="all")
        else:
            created.append(_pod(f"f{number:03d}", *pods[0], level, f"2026-07-0{chance.randint(1, 9)}T00:00:00Z"))
            created[-1]["metadata"]["labels"] = {"app": chance.choice("abc")}
        number += 1
    return created


def budget(app: str, allowed: int) -> dict[str, Any]:
    """Return a disruption budget for the fillers of *app*."""
    return builders.disruption_budget(f"budget-{app}", app, allowed) | {"metadata": _meta(f"budget-{app}", 0)}


def _pieces(rest: Amounts, count: int) -> Iterator[Amounts]:
    """Split *rest* into *count* parts, without empty resources."""
    for number in range(count):
        piece = {name: amount // count + (number < amount % count) for name, amount in rest.items()}
        if wanted_value := {name: amount for name, amount in piece.items() if amount}:
            yield wanted_value


def _quantities(amounts: Amounts) -> dict[str, str]:
    return {name: f"{amount}{UNITS[name]}" for name, amount in amounts.items()}


def _pod(name: str, own: dict[str, Any], on: str, priority: int, started: str = "2026-07-01T00:00:00Z") -> dict[str, Any]:
    status = {"phase": "Running", "startTime": started} if on else {"phase": "Pending"}
    own = {**own, "priority": priority, **({"nodeName": on} if on else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _meta(name, 0), "spec": own, "status": status}


def _meta(name: str, second: int) -> dict[str, Any]:
    return {"name": name, "namespace": "default", "uid": name, "creationTimestamp": f"2026-08-01T00:00:{second:02d}Z"}
