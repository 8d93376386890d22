"""Small clusters in which many pods are nominated, gated, or pending without a group, or many nodes are cordoned."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.scheduler_core.oracle.strategies import PRIORITIES, Size, clusters, moment
from tests.scheduler_core.whatif.cluster import Objects

_OF_A_GROUP = ("nodeName", "schedulingGroup", "schedulingGates")


@st.composite
def contested(draw: st.DrawFn, size: Size) -> Objects:
    """Draw a cluster as ``clusters`` does, with such pods."""
    objects = draw(clusters(size))
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    pods = [each for each in objects if each["kind"] == "Pod"]
    for pod in pods:
        if "nodeName" not in pod["spec"]:
            if not draw(st.integers(0, 2)):
                pod["status"] = promised(draw, names)
            if not draw(st.integers(0, 5)):
                pod["spec"]["schedulingGates"] = [{"name": "g"}]
        elif not draw(st.integers(0, 9)):
            pod["metadata"]["deletionTimestamp"] = moment(draw)
    alone = [by_itself(draw, number, draw(st.sampled_from(pods)), names) for number in range(draw(st.integers(0, 2)) if pods else 0)]
    return [*objects, *alone]


@st.composite
def cordoned(draw: st.DrawFn, size: Size) -> Objects:
    """Draw a cluster as ``clusters`` does, with cordoned nodes; the node controller has tainted some of them."""
    objects = draw(clusters(size))
    for each in objects:
        if each["kind"] == "Node" and draw(st.booleans()):
            taints = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}] if draw(st.booleans()) else []
            each["spec"] = {**each["spec"], "unschedulable": True, "taints": [*(each["spec"].get("taints") or ()), *taints]}
    return objects


def by_itself(draw: st.DrawFn, number: int, like: dict[str, Any], names: list[str]) -> dict[str, Any]:
    spec = {field: value for field, value in like["spec"].items() if field not in _OF_A_GROUP}
    spec |= {"priority": draw(st.sampled_from(PRIORITIES)), "preemptionPolicy": draw(st.sampled_from(("Never", "PreemptLowerPriority")))}
    metadata = {"name": f"q{number}", "namespace": "default", "creationTimestamp": moment(draw)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": promised(draw, names)}


def promised(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    return {"phase": "Pending", "nominatedNodeName": draw(st.sampled_from(names))}
