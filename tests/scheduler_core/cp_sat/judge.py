"""Comparison of the decision on the one root of an instance with its exact feasibility: one line for each error."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import message_of
from tests.scheduler_core.cp_sat import victims
from tests.scheduler_core.cp_sat.model import Fewest, roots_to_try
from tests.scheduler_core.oracle import brute
from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.fit import host_ports
from tests.scheduler_core.oracle.model import Objects, read
from tests.scheduler_core.oracle.preempt import Unit

NOT_PLACED = {Status.UNSCHEDULABLE, Status.UNRESOLVABLE}
NOT_TRIED = {Status.INVALID, Status.WAIT, Status.ERROR}
"""Statuses that say nothing about feasibility: trees that break a rule, wait for members, or already run scattered."""


def verdict(decision: Decision, objects: Objects, *, feasible: bool) -> list[str]:
    """Return the errors of a decision of the complete search, given its exact feasibility."""
    result = decision.search
    messages = [f"the strategy is {result.strategy}"] if result.strategy != "complete" else []
    if decision.status is not Status.SUCCESS and decision.status not in NOT_PLACED:
        messages.append(f"the decision is {decision.status}: {message_of(decision)}")
    if result.outcome == "not-searched" and beyond_search(objects, decision.root.name):
        return messages + placing(decision, objects, feasible=feasible)
    if (result.outcome == "placed") != (decision.status is Status.SUCCESS) or result.outcome == "not-searched":
        messages.append(f"the search ends as {result.outcome}, the decision is {decision.status}")
    if result.outcome == "infeasible" and feasible:
        messages.append("there is a placement, and the search says that there is none")
    if decision.victims and feasible:
        messages.append(f"{len(decision.victims)} pods leave although there is a placement")
    return messages + placing(decision, objects, feasible=feasible)


def beyond_search(objects: Objects, name: str) -> bool:
    """Return true if a root may be decided without a search: its minimum runs already, or its pods use host ports."""
    cluster = read(objects)
    root = next(each for each in roots_to_try(cluster) if each.name == name)
    return brute.satisfied(root, cluster) or any(host_ports(pod) for pod in queued(root, cluster))


def placing(decision: Decision, objects: Objects, *, feasible: bool) -> list[str]:
    """Return the errors of the placement, for any strategy."""
    messages = [f"it breaks a constraint: {line}" for line in brute.violations(objects, decision.assignments)]
    if decision.status is Status.SUCCESS and not feasible:
        messages.append("it is placed, and there is no placement")
    if bool(decision.assignments) != (decision.status is Status.SUCCESS):
        messages.append(f"{len(decision.assignments)} pods are placed, the decision is {decision.status}")
    if decision.assignments and decision.victims:
        messages.append(f"{len(decision.victims)} pods leave although it is placed")
    return messages


def evicting(decision: Decision, objects: Objects, least: Fewest | None) -> list[str]:
    """Return the errors of the preemption, for any strategy: whole units of lower priority, at least the minimum, all needed."""
    units, messages = leaving(decision, objects)
    if not units:
        return messages
    figures = cost(objects, units)
    if least is None or figures < least.cost:
        return [*messages, f"it costs {figures}, and the least that helps is {least}"]
    removed = set(decision.victims)
    broken = brute.violations(without(objects, removed), decision.nominations)
    if broken and decision.search.strategy == "greedy":
        # As kube-scheduler it makes room for the pods of children that failed too, all of which need not fit together.
        return messages
    messages += [f"what is nominated breaks a constraint: {line}" for line in broken]
    for unit in units:
        if not brute.violations(without(objects, removed - {pod.key for pod in unit.pods}), decision.nominations):
            messages.append(f"{unit.name} leaves and need not")
    return messages


def leaving(decision: Decision, objects: Objects) -> tuple[list[Unit], list[str]]:
    """Return the preempted units and the errors of this set."""
    cluster = read(objects)
    (root,) = roots_to_try(cluster)
    units = [unit for unit in victims.candidates(cluster, root) if set(decision.victims) & {pod.key for pod in unit.pods}]
    odd = {pod.key for unit in units for pod in unit.pods} ^ set(decision.victims)
    return units, [f"{key} leaves without its unit, stays without it, or is of no lower priority" for key in sorted(odd)]


def cost(objects: Objects, units: list[Unit]) -> tuple[int, ...]:
    """Return the cost of preempting *units*."""
    cluster = read(objects)
    (root,) = roots_to_try(cluster)
    return victims.cost(units, victims.candidates(cluster, root), cluster.budgets)


def without(objects: Objects, pods: Collection[str]) -> Objects:
    """Return *objects* without *pods*."""
    return [each for each in objects if each["kind"] != "Pod" or f"default/{each['metadata']['name']}" not in pods]


def bound(objects: Objects, assignments: Mapping[str, str]) -> Objects:
    """Return *objects* with *assignments* bound."""
    nodes = {key.partition("/")[2]: node for key, node in assignments.items()}
    return [
        {**each, "spec": {**each["spec"], "nodeName": nodes[each["metadata"]["name"]]}}
        if each["kind"] == "Pod" and each["metadata"]["name"] in nodes
        else each
        for each in objects
    ]
