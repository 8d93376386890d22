"""Filters of the default profile, for one pod on one node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.scheduler_core.oracle.model import Node, Pod

EVERY_ADDRESS = "0.0.0.0"


def misfits(pod: Pod, node: Node, others: list[Pod]) -> list[str]:
    """Return the reasons for which *pod* does not fit on *node* with *others*; empty if it fits."""
    checks = {
        "the node is unschedulable": cordoned(pod, node),
        "a taint is not tolerated": any(
            not tolerated(taint, pod) for taint in node.taints if taint.get("effect") in {"NoSchedule", "NoExecute"}
        ),
        "the node does not match": not node_affinity_matches(pod, node),
        "a host port is taken": any(clash(mine, theirs) for mine in host_ports(pod) for other in others for theirs in host_ports(other)),
        "too many pods": len(others) + 1 > node.allocatable.get("pods", 0),
    }
    mine = disks(pod)
    if mine and any(
        kind == other and disk == theirs and not (ro and read)
        for o in others
        for other, theirs, read in disks(o)
        for kind, disk, ro in mine
    ):
        checks["a disk is taken"] = True
    if too_many_volumes(pod, node, others):
        checks["too many volumes"] = True
    short = [name for name, amount in sorted(pod.requests.items()) if amount > 0 and amount > free(node, others, name)]
    return [reason for reason, holds in checks.items() if holds] + [f"insufficient {name}" for name in short]


def disks(pod: Pod) -> list[tuple[str, str, bool]]:
    """Return kind, name and read-only flag of the inline disks."""
    volumes = pod.spec.get("volumes") or []
    found = [(kind, each[kind]) for each in volumes for kind in ("gcePersistentDisk", "iscsi") if kind in each]
    return [(kind, source.get("pdName") or source.get("iqn") or "", bool(source.get("readOnly"))) for kind, source in found]


def claim_in_use(pod: Pod, others: Iterable[Pod]) -> bool:
    """Return true if one of *others*, on any node, uses a claim of the pod that only one pod can use."""
    return any(pod.single & other.claims for other in others if other.key != pod.key)


def too_many_volumes(pod: Pod, node: Node, others: list[Pod]) -> bool:
    """Check the limits of CSI drivers; a volume counts once, but one that is attached for no pod counts twice until its pod is there."""
    if not pod.volumes or not node.volume_limits:
        return False
    in_use = {volume for other in others for volume in other.volumes}
    new, counted = pod.volumes - in_use, in_use | node.attached
    return any(
        sum(driver == each for each, _ in counted) + (here := sum(driver == each for each, _ in new)) > limit and here
        for driver, limit in node.volume_limits.items()
    )


def free(node: Node, others: list[Pod], resource: str) -> int:
    return node.allocatable.get(resource, 0) - sum(other.requests.get(resource, 0) for other in others)


def cordoned(pod: Pod, node: Node) -> bool:
    return node.unschedulable and not tolerated({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, pod)


def tolerated(taint: dict[str, str], pod: Pod, effects: tuple[str, ...] = ()) -> bool:
    """Return true if a toleration of the pod (only those for *effects* or for all, if given) covers the taint."""
    tolerations = [each for each in pod.spec.get("tolerations") or [] if not effects or (each.get("effect") or "") in {"", *effects}]
    return any(covers(toleration, taint) for toleration in tolerations)


def covers(toleration: dict[str, str], taint: dict[str, str]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


def node_affinity_matches(pod: Pod, node: Node) -> bool:
    """Check nodeSelector and required node affinity."""
    selector = pod.spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    required = _node_affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(term_matches(term, node) for term in required.get("nodeSelectorTerms") or [])


def preferred(pod: Pod, node: Node) -> int:
    """Return the sum of the weights of the preferences that the node meets."""
    terms = _node_affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution") or []
    return sum(term["weight"] for term in terms if term_matches(term["preference"], node))


def _node_affinity(pod: Pod) -> dict[str, Any]:
    return (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}


def term_matches(term: dict[str, Any], node: Node) -> bool:
    """Return true if all expressions hold; a term without expressions matches no node."""
    on_labels = [matches(each, node.labels) for each in term.get("matchExpressions") or []]
    on_fields = [matches(each, {"metadata.name": node.name}) for each in term.get("matchFields") or []]
    return bool(on_labels or on_fields) and all(on_labels + on_fields)


def matches(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    """Check one requirement of a node selector or a label selector."""
    value = labels.get(expression["key"])
    operator = expression["operator"]
    values = expression.get("values") or []
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    try:
        number, limit = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > limit if operator == "Gt" else number < limit


def host_ports(pod: Pod) -> list[tuple[str, str, int]]:
    """Return protocol, address and number of each host port of the pod."""
    sidecars = [each for each in pod.spec.get("initContainers") or [] if each.get("restartPolicy") == "Always"]
    return [
        (port.get("protocol") or "TCP", port.get("hostIP") or EVERY_ADDRESS, port["hostPort"])
        for container in [*(pod.spec.get("containers") or []), *sidecars]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def clash(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    same_address = one[1] == other[1] or EVERY_ADDRESS in {one[1], other[1]}
    return same_address and (one[0], one[2]) == (other[0], other[2])
