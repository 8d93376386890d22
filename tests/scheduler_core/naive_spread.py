"""Score of PodTopologySpread, computed from manifests: one pod, one node and one constraint at a time."""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

from tests.scheduler_core.spread_clusters import HOSTNAME, ZONE

Json = dict[str, Any]
SYSTEM = [
    {"maxSkew": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
]


def scores(pod: Json, nodes: Sequence[Json], feasible: Sequence[str], where: Mapping[str, str], objects: Sequence[Json]) -> dict[str, int]:
    """Return the normalised score of each feasible node.

    Args:
        pod: the incoming pod.
        nodes: all nodes.
        feasible: names of the feasible nodes.
        where: node of each assigned pod, by name.
        objects: all objects.

    """
    own = pod["spec"].get("topologySpreadConstraints")
    constraints = [each for each in own or SYSTEM if each["whenUnsatisfiable"] == "ScheduleAnyway"]
    selectors = [_own_selector(pod, each) for each in constraints] if own else [_default_selector(pod, objects)] * len(constraints)
    if not constraints or (not own and not selectors[0]):
        return dict.fromkeys(feasible, 0)
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in nodes}
    keys = [each["topologyKey"] for each in constraints]
    scored = [name for name in feasible if not own or all(key in labels[name] for key in keys)]
    raw = {}
    for name in scored:
        total = 0.0
        for each, selector in zip(constraints, selectors, strict=True):
            key = each["topologyKey"]
            if key not in labels[name]:
                continue
            if key == HOSTNAME:
                size, count = len(scored), _matching(pod, selector, {name}, where, objects)
            else:
                size = len({labels[other].get(key, "") for other in scored})
                counted = {
                    node["metadata"]["name"]
                    for node in nodes
                    if node["metadata"]["labels"].get(key, "") == labels[name][key]
                    and (not own or all(key in node["metadata"]["labels"] for key in keys))
                    and _admits(pod, each, node)
                }
                count = _matching(pod, selector, counted, where, objects)
            total += count * float(decimal.Decimal(size + 2).ln()) + (each["maxSkew"] - 1)
        raw[name] = int(decimal.Decimal(total).quantize(decimal.Decimal(1), decimal.ROUND_HALF_UP))
    most, least = max(raw.values(), default=0), min(raw.values(), default=0)
    return {name: 0 if name not in raw else 100 if not most else 100 * (most + least - raw[name]) // most for name in feasible}


def _own_selector(pod: Json, constraint: Json) -> list[Json] | None:
    """Return expressions; None matches nothing."""
    selector = constraint.get("labelSelector")
    if selector is None:
        return None
    more = {key: pod["metadata"]["labels"][key] for key in constraint.get("matchLabelKeys", ()) if key in pod["metadata"]["labels"]}
    return [*_equal({**(selector.get("matchLabels") or {})}), *_equal(more), *selector.get("matchExpressions", ())]


def _default_selector(pod: Json, objects: Sequence[Json]) -> list[Json]:
    labels: Json = {}
    for each in objects:
        if each["kind"] == "Service" and each["metadata"]["namespace"] == pod["metadata"]["namespace"]:
            selector = each["spec"].get("selector") or {}
            if selector.items() <= pod["metadata"]["labels"].items():
                labels |= selector
    more: list[Json] = []
    for owner in pod["metadata"].get("ownerReferences", ()):
        for each in objects:
            if (each["apiVersion"], each["kind"], each["metadata"]["name"]) == (owner["apiVersion"], owner["kind"], owner["name"]):
                if each["kind"] == "ReplicationController":
                    labels |= each["spec"]["selector"]
                else:
                    more = each["spec"]["selector"]["matchExpressions"]
    return [*_equal(labels), *more]


def _equal(labels: Json) -> list[Json]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def _matching(pod: Json, selector: list[Json] | None, names: set[str], where: Mapping[str, str], objects: Sequence[Json]) -> int:
    if not selector:
        return 0
    return sum(
        1
        for each in objects
        if each["kind"] == "Pod"
        and where.get(each["metadata"]["name"]) in names
        and each["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and "deletionTimestamp" not in each["metadata"]
        and all(_matches(expression, each["metadata"]["labels"]) for expression in selector)
    )


def _matches(expression: Json, labels: Mapping[str, str]) -> bool:
    if expression["operator"] == "Exists":
        return expression["key"] in labels
    return labels.get(expression["key"]) in expression["values"]


def _admits(pod: Json, constraint: Json, node: Json) -> bool:
    spec, labels = pod["spec"], node["metadata"]["labels"]
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    hard = any(taint["effect"] == "NoSchedule" for taint in node["spec"]["taints"])
    return constraint.get("nodeTaintsPolicy") != "Honor" or not hard or bool(spec.get("tolerations"))
