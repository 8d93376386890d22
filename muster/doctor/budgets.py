"""PodDisruptionBudgets of a Deployment, and the number of evictions that they allow."""

from __future__ import annotations

from muster.doctor.components import template_labels
from muster.doctor.manifests import mapping_at, scaled, selects, value_at
from muster.doctor.world import Item, World


def budgets_of(world: World, server: Item) -> list[Item]:
    """Return the budgets that select the pods of a Deployment."""
    labels = template_labels(server)
    return [
        each
        for each in world.of_kind("PodDisruptionBudget")
        if each.namespace == server.namespace
        and isinstance(value_at(each.content, "spec", "selector"), dict)
        and selects(mapping_at(each.content, "spec", "selector"), labels)
    ]


def allowed_disruptions(budget: Item, replicas: int) -> int:
    """Return how many of *replicas* ready pods can be evicted; percentages are rounded up, as by the disruption controller."""
    most = scaled(value_at(budget.content, "spec", "maxUnavailable"), replicas)
    if most is not None:
        return min(most, replicas)
    least = scaled(value_at(budget.content, "spec", "minAvailable"), replicas)
    # A budget with neither allows none.
    return 0 if least is None else replicas - least
