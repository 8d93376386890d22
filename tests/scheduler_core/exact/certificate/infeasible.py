"""Clusters without a placement, and their certificates of infeasibility."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.proofs import certificates
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests.sampling import sampled
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node

slowly = settings(deadline=None, max_examples=sampled(80), suppress_health_check=list(HealthCheck))
COMPLETE = CycleOptions(strategy="complete")
Certificate = dict[str, Any]


def proved(objects: Objects, options: CycleOptions = COMPLETE, levels: Iterable[str] = ()) -> list[Certificate]:
    """Return the certificates of one cycle, as read from a file."""
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    snapshot = load([json.dumps(each).encode() for each in complete], device_topology=levels)
    result = certificates(snapshot, run_cycle(snapshot, options).decisions, options)
    return [json.loads(json.dumps(each)) for each in result]


def spread(*, racks: int = 3, cpu: int = 3) -> Objects:
    """Return nodes in racks, two in each."""
    return [node(f"n{rack}{number}", cpu, zone="z", rack=f"r{rack}") for rack in range(racks) for number in range(2)]


def tree(*needs: int, cpu: int = 1, minimum: int = 0) -> Objects:
    """Return a tree with a leaf for each of *needs*, each confined to one rack."""
    leaves = [leaf(f"g{number}", need, number, "rack") for number, need in enumerate(needs)]
    return [
        composite(minimum or len(needs)),
        *leaves,
        *(pod for number, need in enumerate(needs) for pod in members(f"g{number}", need, cpu)),
    ]


def running_pod(name: str, on: str, cpu: int) -> dict[str, Any]:
    """Return a running pod."""
    (pod,) = members("none", 1, cpu)
    spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGroup"}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": {**spec, "nodeName": on}}


HOPELESS = {
    "a sum": [*spread(racks=1), *tree(4, 4)],
    "more large groups than domains": [*spread(racks=2), *tree(4, 4, 4)],
    "too few slots": [*spread(racks=2), *tree(3, 1, cpu=2)],
    "pods of two shapes that cannot be packed": [
        node("n1", 5),
        node("n2", 5),
        composite(2),
        leaf("a", 2, 0),
        leaf("b", 2, 1),
        *members("a", 2, 3),
        *members("b", 2, 2)[:1],
        *members("b", 2, 3)[1:],
    ],
    "branches": [*spread(racks=3, cpu=2), *tree(3, 3, 2, 2, 2)],
    "a quorum": [*spread(racks=2, cpu=2), *tree(3, 3, 3, 5, minimum=3)],
    "room in two zones and enough in none": [
        *(node(f"{zone}{number}", 2, zone=zone, rack=f"{zone}-{number}") for zone in "ab" for number in range(2)),
        {**composite(3), "spec": {**composite(3)["spec"], "schedulingConstraints": {"topology": [{"key": "zone"}]}}},
        *tree(2, 2, 2)[1:],
    ],
    "pods that run": [*spread(racks=1), *(running_pod(f"x{number}", f"n0{number}", 2) for number in range(2)), *tree(2, 1)],
    "a label that no node has": [
        *spread(),
        *tree(1, 1)[:1],
        *(leaf(f"g{number}", 1, number, "block") for number in range(2)),
        *tree(1, 1)[3:],
    ],
}
