"""The PodDisruptionBudget of a server allows the eviction of one replica."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.budgets import allowed_disruptions, budgets_of
from muster.doctor.components import SERVE, SIDECAR, components
from muster.doctor.finding import Check, Result, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each budget that allows no eviction."""
    for component in (*components(world, SERVE), *components(world, SIDECAR)):
        for budget in budgets_of(world, component.item):
            if component.replicas and allowed_disruptions(budget, component.replicas) < 1:
                patch = '{"spec": {"minAvailable": null, "maxUnavailable": 1}}'
                command = kubectl(budget.namespace, "patch", "poddisruptionbudget", budget.name, "--type=merge", f"--patch={patch}")
                message = f"allows no eviction of the {component.replicas} replicas of {component.item.label}"
                yield warning(budget, "spec", message, command)


CHECK = Check(
    id="drain-blocked",
    why="Draining a node with a replica, as for an upgrade of the cluster, never ends.",
    examine=check,
)
