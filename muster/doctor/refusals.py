"""Requests that a webhook refuses while its server is down."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from muster.doctor.components import SIDECAR, components, template_labels
from muster.doctor.control_plane import observed_api_server
from muster.doctor.entries import Entry, entries, place_of, servers_of
from muster.doctor.manifests import labels_at, mapping_at, mappings_at, texts_at
from muster.doctor.requests import (
    ANYWHERE,
    CLUSTER,
    NAMESPACE_NAME,
    NODE_LEASE,
    NODE_LEASES,
    PODS,
    START,
    SYSTEM,
    SYSTEM_START,
    Matched,
    Place,
    Request,
    cluster_requests,
    group_requests,
)
from muster.doctor.world import World


@dataclasses.dataclass(frozen=True, slots=True)
class Caught:
    """Requests that a webhook matches in one namespace, and how sure that is.

    Attributes:
        certain: requests that it matches.
        possible: requests that it matches unless its matchConditions, or labels of objects that are not known, exempt them.
        unread: True if that depends on labels of the namespace, which could not be read.

    """

    certain: tuple[Request, ...] = ()
    possible: tuple[Request, ...] = ()
    unread: bool = False


def caught(world: World, entry: Entry, place: Place, requests: Iterable[Request]) -> Caught:
    """Return which of *requests* the webhook matches.

    Objects have no labels, but for pods in the namespace of its server, which are pods of the server.
    """
    backends, all_labels = _backends(world, entry, place)
    found: dict[Matched, list[Request]] = {each: [] for each in Matched}
    for request in requests:
        labels = backends if request.has_pod and backends else [{}]
        results = {entry.matched(request, place, each, all_labels=all_labels or not request.has_pod) for each in labels}
        found[max(results, key=_SURENESS.index)].append(request)
    return Caught(tuple(found[Matched.YES]), tuple(found[Matched.CONDITIONS]), bool(found[Matched.LABELS_UNREAD]))


_SURENESS = (Matched.NO, Matched.LABELS_UNREAD, Matched.CONDITIONS, Matched.YES)


def dependencies(world: World) -> list[tuple[Place, tuple[Request, ...]]]:
    """Return the requests on which pods and groups in any namespace, the system, Muster, and nodes depend, each with its place."""
    server = observed_api_server(world)
    groups = group_requests(server.resources if server else None)
    system = {SYSTEM: SYSTEM_START, NODE_LEASES: NODE_LEASE, **dict.fromkeys(muster_namespaces(world), START)}
    return [
        (ANYWHERE, (*PODS, *groups)),
        *((place_of(world, name), requests) for name, requests in system.items()),
        (CLUSTER, cluster_requests(server.minor if server else 0)),
    ]


def muster_namespaces(world: World) -> list[str]:
    """Return the namespaces of webhook servers and sidecars."""
    called = [entry.service[0] for entry in entries(world) if entry.service]
    return list(dict.fromkeys([*called, *(each.item.namespace for each in components(world, SIDECAR))]))


def exempting_selector(entry: Entry, namespaces: list[str]) -> dict[str, object]:
    """Return the namespaceSelector of a webhook after *namespaces* are exempt."""
    selector = mapping_at(entry.content, "namespaceSelector")
    key = {"key": NAMESPACE_NAME, "operator": "NotIn"}
    others = [each for each in mappings_at(selector, "matchExpressions") if not key.items() <= each.items()]
    exempt = [each for each in mappings_at(selector, "matchExpressions") if each not in others]
    values = dict.fromkeys([*(name for each in exempt for name in texts_at(each, "values")), *namespaces])
    return {**selector, "matchExpressions": [*others, {**key, "values": [*values]}]}


def _backends(world: World, entry: Entry, place: Place) -> tuple[list[Mapping[str, str]], bool]:
    """Return the labels of the pods of the server in a namespace, and whether these are all of their labels."""
    if entry.service is None or entry.service[0] != place.namespace:
        return [], True
    if servers := servers_of(world, entry):
        return [template_labels(each) for each in servers], True
    service = world.named("Service", *entry.service)
    if service is None:
        return ([{}], False) if "services" in world.unread else ([], True)
    selector = labels_at(service.content, "spec", "selector")
    return ([selector], False) if selector else ([], True)
