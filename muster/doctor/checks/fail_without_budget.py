"""A PodDisruptionBudget keeps one replica of a server whose webhooks fail closed."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.budgets import allowed_disruptions, budgets_of
from muster.doctor.components import replicas_of, template_labels
from muster.doctor.entries import by_server
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import Item, World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each server that can be evicted as a whole."""
    for server, failing in by_server(world):
        wanted = replicas_of(server)
        if not failing or wanted < 2:
            continue
        budgets = budgets_of(world, server)
        if not budgets and "poddisruptionbudgets" in world.unread:
            yield Unseen(f"the PodDisruptionBudgets of {server.namespace} cannot be read")
        elif not budgets:
            yield warning(
                server, "", "no PodDisruptionBudget selects its pods, and the failurePolicy of its webhooks is Fail", _create(server)
            )
        elif min(allowed_disruptions(each, wanted) for each in budgets) >= wanted:
            budget = budgets[0]
            operation = '{"spec": {"minAvailable": null, "maxUnavailable": 1}}'
            command = kubectl(budget.namespace, "patch", "poddisruptionbudget", budget.name, "--type=merge", f"--patch={operation}")
            yield warning(budget, "spec", f"allows the eviction of all {wanted} replicas of {server.label} at once", command)


def _create(server: Item) -> str:
    selector = ",".join(f"{key}={value}" for key, value in sorted(template_labels(server).items()))
    return kubectl(server.namespace, "create", "poddisruptionbudget", server.name, f"--selector={selector}", "--max-unavailable=1")


CHECK = Check(
    id="fail-without-budget",
    why="A drain of several nodes can evict all replicas at once; until new ones are ready, every matching request is refused.",
    examine=check,
)
