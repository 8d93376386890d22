"""Naive selection of victims: one pod at a time, with everything counted again at each step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.units.preemption_units import Unit, Units
from scheduler_core.preemption.units.unit_order import instant

RANK = {"Pod": 0, "PodGroup": 1, "CompositePodGroup": 2}
Proposed = Sequence[tuple[PodRecord, int]]


def candidates(units: Units, priority: int) -> list[Unit]:
    """Return the candidates by importance."""
    result = [unit for unit in (units.unit(number) for number in range(len(units))) if unit.priority < priority]
    return sorted(result, key=importance)


def importance(unit: Unit) -> tuple[int, int, int, int, str]:
    earliest = min(instant(pod.started) for pod in unit.pods)
    return (-unit.priority, -RANK[unit.type], -len(unit.pods), earliest, unit.pods[0].key)


def split(units: Iterable[Unit], budgets: Sequence[DisruptionBudget]) -> tuple[list[Unit], dict[str, int]]:
    """Return the units in the order of reprieve, and how many pods violate a budget, by key of the unit's first pod."""
    remaining = {budget.name: budget.allowed for budget in budgets}
    violating, others, counts = [], [], {}
    for unit in units:
        count = 0
        for pod in unit.pods:
            for budget in sorted(budgets, key=lambda budget: budget.name):
                labels = (budget.selector and budget.selector.match_labels) or {}
                if not labels or any(pod.labels.get(key) != value for key, value in labels.items()) or pod.name in budget.disrupted:
                    continue
                remaining[budget.name] -= 1
                if remaining[budget.name] < 0:
                    count += 1
                    break
        counts[unit.pods[0].key] = count
        (violating if count else others).append(unit)
    return [*violating, *others], counts


def fit_together(proposed: Proposed, running: Iterable[PodRecord], nodes: NodeTable) -> bool:
    """Return true if *proposed* pods fit on their nodes, added one by one to the running ones."""
    there = [(pod, pod.node) for pod in running]
    for pod, node in proposed:
        here = [each for each, where in there if where == node]
        for row, amount in pod.shape.requests:
            if amount + sum(dict(each.shape.requests).get(row, 0) for each in here) > nodes.allocatable[row, node]:
                return False
        if any(conflict(pod.shape.ports, each.shape.ports) for each in here):
            return False
        if any(each.labels.get("app") == pod.labels["apart"] for each in here if "apart" in pod.labels):
            return False
        there.append((pod, node))
    return True


def reprieve(proposed: Proposed, units: Iterable[Unit], staying: Sequence[PodRecord], nodes: NodeTable) -> list[Unit]:
    """Return the units that cannot be reprieved in addition to *staying*."""
    running, victims = list(staying), []
    for unit in units:
        if fit_together(proposed, [*running, *unit.pods], nodes):
            running += unit.pods
        else:
            victims.append(unit)
    return victims


def single(pod: PodRecord, units: Units, budgets: Sequence[DisruptionBudget], nodes: NodeTable) -> tuple[str, list[str], int]:
    """Return the node, the keys of the victims, and how many violate a budget; an empty node if no node helps."""
    results = []
    lower = candidates(units, pod.priority)
    for node in nodes.everything.tolist():
        touching = [unit for unit in lower if any(each.node == node for each in unit.pods)]
        removed = {each.key for unit in touching for each in unit.pods}
        staying = [each for each in units.pods if each.key not in removed]
        ordered, counts = split(touching, budgets)
        if not touching or not fit_together([(pod, node)], staying, nodes):
            continue
        victims = reprieve([(pod, node)], ordered, staying, nodes)
        pods = [each for unit in victims for each in unit.pods]
        if pods:
            violating = sum(counts[unit.pods[0].key] for unit in victims)
            highest = max(each.priority for each in pods)
            since = min(instant(each.started) for each in pods if each.priority == highest)
            worth = (violating, highest, sum(each.priority + 2**31 for each in pods), len(pods), -since)
            results.append((worth, nodes.names[node], sorted(each.key for each in pods), violating))
    return min(results)[1:] if results else ("", [], 0)
