"""Workload-aware preemption: victims whose preemption lets a whole tree of groups be placed."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from tests.scheduler_core.oracle.algorithm import SUCCESS, UNSCHEDULABLE, Results, Simulation, proposed, queued
from tests.scheduler_core.oracle.fit import matches
from tests.scheduler_core.oracle.model import Cluster, Group, Pod

RANK = {"Pod": 0, "PodGroup": 1, "CompositePodGroup": 2}
NOW = dt.datetime.max.replace(tzinfo=dt.UTC)
"""Start time of a pod that has not started: later than every real one."""


@dataclasses.dataclass
class Unit:
    """Preemption unit: pods that are preempted together."""

    name: str
    kind: str
    priority: int
    pods: list[Pod]
    """Pods, by key."""


@dataclasses.dataclass
class Outcome:
    """Outcome; *status* Success: the victims are preempted or are terminating already."""

    status: str
    message: str
    victims: list[str] = dataclasses.field(default_factory=list)
    nominations: dict[str, str] = dataclasses.field(default_factory=dict)


def preempt(root: Group, cluster: Cluster) -> Outcome:
    """Remove all candidates, place the tree once, then reprieve each candidate that does not disturb it."""
    if root.policy == "Never":
        return Outcome(UNSCHEDULABLE, "not eligible due to preemptionPolicy=Never.")
    if ongoing(root, cluster):
        remaining = {pod.key: cluster.nominated[pod.key] for pod in queued(root, cluster) if pod.key in cluster.nominated}
        return Outcome(SUCCESS, "ongoing preemption on nominated nodes", nominations=remaining)
    candidates = sorted((unit for unit in units(cluster) if unit.priority < root.priority), key=importance)
    if not candidates:
        return Outcome(UNSCHEDULABLE, "No preemption victims found for incoming preemptor")
    simulation = Simulation(cluster)
    for unit in candidates:
        for pod in unit.pods:
            del simulation.where[pod.key]
    # What runs is what the cluster says, also for the counts of groups: no candidate is a member of this tree.
    results = simulation.root(root)
    if results[root.name].status != SUCCESS:
        return Outcome(results[root.name].status, results[root.name].message)
    return _reprieve(root, cluster, candidates, results)


def _reprieve(root: Group, cluster: Cluster, candidates: list[Unit], results: Results) -> Outcome:
    placed = [(pod, node) for leaf in root.leaves() if leaf.name in results for pod, node in results[leaf.name].pods.items()]
    if not cluster.failed_leaves:
        placed = list(proposed(root, results).items())
    simulation = Simulation(cluster)
    for unit in candidates:
        for pod in unit.pods:
            del simulation.where[pod.key]
    victims = []
    for unit in by_budgets(candidates, cluster.budgets):
        before = dict(simulation.where)
        back = {pod.key: cluster.where[pod.key] for pod in unit.pods}
        simulation.where.update(back)
        if undisturbed(simulation, placed):
            simulation.where = {**before, **back}
        else:
            simulation.where = before
            victims.append(unit)
    leaving = [pod for unit in victims for pod in unit.pods]
    # Who is on the way out already is not told again.
    messages = sorted(pod.key for pod in leaving if not pod.terminating)
    return Outcome(SUCCESS, f"found a placement for podgroup, preempting {len(leaving)} victims", messages, dict(placed))


def undisturbed(simulation: Simulation, placed: list[tuple[str, str]]) -> bool:
    """Return true if each proposed pod still fits on its node, added one by one."""
    for key, node in placed:
        if not simulation.fits(simulation.cluster.pods[key], simulation.cluster.nodes[node], overlooks=True):
            return False
        simulation.where[key] = node
    return True


def ongoing(root: Group, cluster: Cluster) -> bool:
    """Return true if a pod of lower priority is terminating on a node to which a member is nominated."""
    nodes = {cluster.nominated.get(pod.key) for pod in queued(root, cluster)}
    return any(pod.preempted and priority(pod, cluster) < root.priority for node in nodes if node for pod in cluster.on(node))


def priority(pod: Pod, cluster: Cluster) -> int:
    """Return the priority of the topmost existing group above the pod; without a group its own."""
    group = cluster.group_of(pod)
    return pod.priority if group is None else cluster.chain(group)[-1].priority


def unit_of(chain: list[Group]) -> Group | None:
    """Return the group of a chain, from the PodGroup upwards, whose pods are preempted together: the highest of mode All."""
    return next((group for group in reversed(chain) if group.all), None)


def units(cluster: Cluster) -> list[Unit]:
    """Return the units; every pod on a known node is in one unit."""
    result: dict[str, Unit] = {}
    for key, node in cluster.where.items():
        if node not in cluster.nodes:
            continue
        pod = cluster.pods[key]
        group = cluster.group_of(pod)
        owner = None if group is None else unit_of(cluster.chain(group))
        if owner is not None:
            # The running members are looked up cluster-wide; one on an unknown node could not be taken away.
            pods = [member for member in cluster.running(owner) if cluster.where[member.key] in cluster.nodes]
            pods.sort(key=lambda each: each.key)
            result[f"{owner.kind} {owner.namespace}/{owner.name}"] = Unit(
                f"{owner.namespace}/{owner.name}", owner.kind, priority(pod, cluster), pods
            )
        else:
            result[f"Pod {key}"] = Unit(key, "PodGroup" if pod.group else "Pod", priority(pod, cluster), [pod])
    return list(result.values())


def importance(unit: Unit) -> tuple[Any, ...]:
    """Return the sort key: more important units first."""
    return (-unit.priority, -RANK[unit.kind], -len(unit.pods), min(started(pod) for pod in unit.pods), unit.pods[0].key)


def started(pod: Pod) -> dt.datetime:
    return dt.datetime.fromisoformat(pod.started) if pod.started else NOW


def by_budgets(units_: list[Unit], budgets: list[dict[str, Any]]) -> list[Unit]:
    """Return the units that violate a disruption budget, then the others, each part in the given order."""
    violating = violations(units_, budgets)
    return [unit for unit in units_ if unit.name in violating] + [unit for unit in units_ if unit.name not in violating]


def violations(units_: list[Unit], budgets: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of pods that violate a budget, by name of the unit, for units that have any.

    A pod consumes one budget after the other, by name, up to the first that is exhausted.
    """
    budgets = sorted(budgets, key=lambda budget: (budget["metadata"].get("namespace") or "default", budget["metadata"]["name"]))
    leftover = [(budget.get("status") or {}).get("disruptionsAllowed", 0) for budget in budgets]
    counts: dict[str, int] = {}
    for unit in units_:
        for pod in unit.pods:
            for index, budget in enumerate(budgets):
                if protects(budget, pod):
                    leftover[index] -= 1
                    if leftover[index] < 0:
                        counts[unit.name] = counts.get(unit.name, 0) + 1
                        break
    return counts


def protects(budget: dict[str, Any], pod: Pod) -> bool:
    """Return true if the pod counts against the budget; an empty selector, or a pod without labels, matches nothing."""
    selector = (budget.get("spec") or {}).get("selector") or {}
    exact, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    if (budget["metadata"].get("namespace") or "default") != pod.namespace or not pod.labels or not (exact or expressions):
        return False
    if pod.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
        return False
    return all(pod.labels.get(key) == value for key, value in exact.items()) and all(matches(each, pod.labels) for each in expressions)
