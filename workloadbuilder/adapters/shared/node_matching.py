"""Nodes on which a DaemonSet runs a pod: node selector, required node affinity and taints, as its controller decides.

Source: Kubernetes 1.37.1, pkg/controller/daemon, NodeShouldRunDaemonPod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.workload_item import WHOLE

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_REPELLING = frozenset({"NoSchedule", "NoExecute"})
_NAME = "metadata.name"
_STATE = "node.kubernetes.io/"
_ALWAYS = (
    *(("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("disk-pressure", "NoSchedule"), ("memory-pressure", "NoSchedule")),
    *(("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule")),
)
DAEMON_TOLERATIONS = tuple({"key": f"{_STATE}{key}", "operator": "Exists", "effect": effect} for key, effect in _ALWAYS)
"""Tolerations that the controller adds to all pods of DaemonSets."""
HOST_NETWORK_TOLERATION = {"key": f"{_STATE}network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
"""Toleration that it adds to those with host network."""


def node_name(node: Json) -> str:
    """Return the name of a node; empty if it has none."""
    return Fields(node, WHOLE, []).mapping("metadata").text("name")


def runs_on(spec: Json, node: Json) -> bool:
    """Return whether a pod with *spec*, which has all its tolerations, belongs on *node*."""
    pod, top = Fields(spec, FieldPath("spec"), []), Fields(node, WHOLE, [])
    metadata = top.mapping("metadata")
    labels, name = metadata.annotations("labels"), metadata.text("name")
    if pod.text("nodeName", name) != name:
        return False
    if any(labels.get(key) != value for key, value in pod.annotations("nodeSelector").items()):
        return False
    required = pod.mapping("affinity").mapping("nodeAffinity").mapping(_REQUIRED)
    if required.given and not any(_matches(term, labels, name) for term in required.each_item("nodeSelectorTerms")):
        return False
    tolerations = [*pod.each_item("tolerations")]
    return all(_tolerated(taint, tolerations) for taint in top.mapping("spec").each_item("taints") if taint.text("effect") in _REPELLING)


def _matches(term: Fields, labels: Mapping[str, str], name: str) -> bool:
    expressions, names = [*term.each_item("matchExpressions")], [*term.each_item("matchFields")]
    if not expressions and not names:
        return False
    return all(_holds(each, labels) for each in expressions) and all(_holds(each, {_NAME: name}) for each in names)


def _holds(expression: Fields, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression.text("key")), expression.texts("values")
    match expression.text("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            have, bound = _number(value), _number(values[0] if len(values) == 1 else None)
            return have is not None and bound is not None and (have > bound if operator == "Gt" else have < bound)
    return False


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _tolerated(taint: Fields, tolerations: Iterable[Fields]) -> bool:
    key, value, effect = taint.text("key"), taint.text("value"), taint.text("effect")
    for each in tolerations:
        exists = each.text("operator", "Equal") == "Exists"
        keyed = each.text("key") == key or (exists and not each.text("key"))
        if keyed and each.text("effect", effect) in {effect, ""} and (exists or each.text("value") == value):
            return True
    return False
