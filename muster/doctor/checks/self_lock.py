"""The server's start needs no request that its own webhooks refuse while it is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.control_plane import observed_api_server
from muster.doctor.entries import Entry, entries, place_of
from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.refusals import Caught, caught, exempting_selector
from muster.doctor.requests import CLUSTER, START, SYSTEM, SYSTEM_START, cluster_requests, group_requests, listed
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each webhook that fails closed and matches such a request."""
    server = observed_api_server(world)
    of_cluster = cluster_requests(server.minor if server else 0)
    groups = tuple(each for each in group_requests(server.resources if server else None) if each.operation == "CREATE")
    for entry in entries(world):
        if not entry.fails:
            continue
        own = entry.service[0] if entry.service else ""
        for namespace in dict.fromkeys(each for each in (own, SYSTEM) if each):
            place = place_of(world, namespace)
            found = caught(world, entry, place, START if namespace == own else SYSTEM_START)
            if found.certain or found.possible:
                yield _result(entry, namespace, found)
            elif namespace == own and caught(world, entry, place, groups).certain:
                message = f"{entry.name} also reviews groups in {own}, its own namespace, and refuses them while the server is down"
                yield warning(entry.item, entry.field("namespaceSelector"), message, _exempt(entry, own))
            elif found.unread:
                yield Unseen(f"the labels of namespace {namespace}, which {entry.name} selects by, cannot be read")
        if refused := caught(world, entry, CLUSTER, of_cluster).certain:
            message = f"{entry.name} refuses {listed(refused)} of the whole cluster while the server is down"
            yield error(entry.item, entry.field("failurePolicy"), message, entry.set_command({"failurePolicy": "Ignore"}))


def _result(entry: Entry, namespace: str, found: Caught) -> Result:
    whose = "its own namespace" if entry.service and namespace == entry.service[0] else "where network, DNS and scheduler run"
    message = f"{entry.name} refuses {listed(found.certain or found.possible)} in {namespace}, {whose}, while the server is down"
    if not found.certain:
        message += ", unless its matchConditions exempt them, which depend on fields that are not known"
    return (error if found.certain else warning)(entry.item, entry.field("namespaceSelector"), message, _exempt(entry, namespace))


def _exempt(entry: Entry, namespace: str) -> str:
    """Return the command that exempts a namespace."""
    return entry.set_command({"namespaceSelector": exempting_selector(entry, [namespace])})


CHECK = Check(
    id="self-lock",
    why="Once all replicas are down, the webhook refuses the requests that would start them again: only deleting the configuration helps.",
    examine=check,
)
