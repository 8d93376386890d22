"""Trees of groups on a cluster: what is below them, how much of it is bound, and why the rest is not."""

from __future__ import annotations

from typing import Any

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.status import Status
from tests.scheduler_core.sidecar.histories import Json, group_of

REASONS = {
    Status.WAIT: "Waiting",
    Status.UNSCHEDULABLE: "Unschedulable",
    Status.UNRESOLVABLE: "Unschedulable",
    Status.ERROR: "SchedulerError",
    Status.SUCCESS: "none: it must be placed",
}
"""Reason of the condition of a pending root by the status of a decision on it."""


def tree_of(objects: dict[Any, Json], group: Json) -> Json:
    """The root of the tree that *group* is in."""
    parent = group["spec"].get("parentCompositePodGroupName")
    above = objects.get(("CompositePodGroup", group["metadata"]["namespace"], parent)) if parent else None
    return group if above is None else tree_of(objects, above)


def minimum(group: Json) -> int:
    gang = group["spec"]["schedulingPolicy"].get("gang")
    return gang.get("minCount") or gang.get("minGroupCount") or 1 if gang else 1


def children(objects: dict[Any, Json], group: Json) -> list[Json]:
    name, space = group["metadata"]["name"], group["metadata"]["namespace"]
    return [
        each
        for key, each in objects.items()
        if key[0] in ("PodGroup", "CompositePodGroup")
        and key[1] == space
        and each["spec"].get("parentCompositePodGroupName") == name
        and group["kind"] == "CompositePodGroup"
    ]


def members(objects: dict[Any, Json], group: Json) -> list[Json]:
    name, space = group["metadata"]["name"], group["metadata"]["namespace"]
    return [each for key, each in objects.items() if key[0] == "Pod" and key[1] == space and group_of(each) == name]


def leaves(objects: dict[Any, Json], group: Json) -> list[Json]:
    if group["kind"] == "PodGroup":
        return [group]
    return [leaf for child in children(objects, group) for leaf in leaves(objects, child)]


def is_bound(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName"))


def is_complete(objects: dict[Any, Json], group: Json) -> bool:
    if group["kind"] == "PodGroup":
        return sum(map(is_bound, members(objects, group))) >= minimum(group)
    return sum(is_complete(objects, child) for child in children(objects, group)) >= minimum(group)


def is_settled(objects: dict[Any, Json], group: Json) -> bool:
    conditions = (group.get("status") or {}).get("conditions") or []
    here = any(each["type"].endswith("InitiallyScheduled") and each["status"] == "True" for each in conditions)
    return here or any(is_settled(objects, child) for child in children(objects, group))


def partial(objects: dict[Any, Json]) -> list[str]:
    """The names of gangs that are bound in part, and of which nothing says that they were placed once."""
    found = []
    for key, group in objects.items():
        if key[0] not in ("PodGroup", "CompositePodGroup"):
            continue
        some = any(is_bound(pod) for leaf in leaves(objects, group) for pod in members(objects, leaf))
        above = group
        over = []
        while above is not None:
            over.append(above)
            parent = above["spec"].get("parentCompositePodGroupName")
            above = objects.get(("CompositePodGroup", key[1], parent)) if parent else None
        optional = any(is_complete(objects, each) or is_settled(objects, each) for each in over[1:])
        if some and not is_complete(objects, group) and not is_settled(objects, group) and not (optional and group["kind"] != "PodGroup"):
            found.append(key[2])
    return found


def wrong_reasons(objects: dict[Any, Json], options: CycleOptions) -> list[tuple[str, str, str]]:
    """Return pending roots with the reason of their condition and the reason that is true of the objects, where these differ."""
    found = []
    for decision in run_cycle(load(objects.values()), options).decisions:
        root = objects[decision.root.kind, decision.root.namespace, decision.root.name]
        if decision.root.kind == "Pod" or decision.status is Status.INVALID or is_settled(objects, root):
            continue
        type_ = INITIALLY_SCHEDULED[root["kind"]]
        condition = next((each for each in (root.get("status") or {}).get("conditions") or [] if each["type"] == type_), {})
        want = REASONS[decision.status]
        if (condition.get("status"), condition.get("reason")) != ("False", want):
            found.append((root["metadata"]["name"], condition.get("reason", ""), want))
    return found
