"""The installation on a live cluster.  Nothing is written to it: POST requests are reviews of permissions and, if requested, dry runs."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from apiserver.api import TRANSPORT, Api, ReplyError, reply_error
from apiserver.discovery import minor_version, served
from apiserver.feature_gates import feature_gates
from apiserver.port_forward import read_of_pod
from certs.forwarded_replicas import connect_through
from certs.replicas import Connect, connect_directly
from certs.store import CA, CERTIFICATE
from certs.webhook_configurations import Cluster, Place
from kubeapi.groups import TREE_KINDS
from kubeapi.problem import Problem
from kubeapi.versions import served_versions as versions
from muster.commands.doctor.dry_runs import probed
from muster.commands.doctor.live_objects import LiveObjects
from muster.commands.doctor.manifest_files import binding_of, has_ended
from muster.commands.doctor.observations import given_latencies, observed
from muster.commands.snapshot.live_cluster import ClusterError, connect
from muster.doctor import upgrade
from muster.doctor.components import MUSTER, PART_OF, SIDECAR, components
from muster.doctor.entries import SERVICE_NAME, Entry, by_server, entries
from muster.doctor.foreign import concerns
from muster.doctor.latencies import Latency, read_latencies
from muster.doctor.leaves import secret_names
from muster.doctor.manifests import labels_at, mapping_at, text_at
from muster.doctor.requests import NODE_LEASES, SYSTEM
from muster.doctor.rights import needed
from muster.doctor.world import Account, ApiServer, IgnoredItem, Item, World, ignored_items
from muster.render.file_notes import RefusedRequest, RequestRefused
from muster.render.problem_words import object_words, problem_words
from validators.reports import custom_resources

if TYPE_CHECKING:
    from scheduler_core.sidecar.client.access_review import Permission

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROBE_PORT = "8080"
"""Port of metrics if the pods have no annotation with another one."""
OK, FORBIDDEN = 200, 403


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
    """Sources of an examination: kubeconfig and context, and what the user named.

    Attributes:
        replicas: addresses of replicas.
        metrics: files or URLs of metrics.
        upgrade_to: minor version to upgrade to; 0 if there is none.
        probe: namespace of the dry runs; empty if none are requested.

    """

    kubeconfig: str | None
    context: str | None
    replicas: tuple[str, ...]
    metrics: tuple[str, ...]
    upgrade_to: int = 0
    probe: str = ""


def read_installation(sources: Sources, now: dt.datetime) -> tuple[World, list[Problem]]:
    """Return the installation on a cluster, and what could not be read.

    Raises:
        ClusterError: the cluster cannot be reached, or its webhook configurations cannot be listed.
        click.UsageError: metrics that the user named cannot be read.

    """
    objects = LiveObjects(connect(sources.kubeconfig, sources.context, instead="PATH"))
    try:
        _keep_objects(objects)
        world = World(now=now, items=objects.items, live=True, unread=frozenset(objects.unread), upgrade_to=sources.upgrade_to)
        _keep_secrets(objects, world)
        if sources.upgrade_to:
            keep_stored(objects)
        api_server = _api_server(objects)
        ignored = _ignored(objects, api_server)
        world = dataclasses.replace(world, items=objects.items, api_server=api_server)
        _keep_foreign(objects, world)
        world = dataclasses.replace(world, items=objects.items, ignored=ignored, unread=frozenset(objects.unread))
        if sources.probe:
            world = probed(objects, world, sources.probe)
        measured = [*given_latencies(sources.metrics)] if sources.metrics else [*_scraped(objects.api, world)]
        return dataclasses.replace(
            world,
            replicas=tuple(observed([*entries(world)], sources.replicas, lambda entry: _endpoints(objects, entry))),
            latencies=tuple(each for each in measured if isinstance(each, Latency)),
            unmeasured=tuple(each for each in measured if isinstance(each, str)),
            bindings=_bindings(objects) if any(components(world, SIDECAR)) else frozenset(),
            granted=_granted(objects, world),
        ), objects.problems
    except (ValueError, *TRANSPORT) as error:
        raise ClusterError(f"{objects.api.host} cannot be read: {' '.join(str(error).split())[:300]}") from None


def _keep_objects(objects: LiveObjects) -> None:
    for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        objects.keep(f"{ADMISSION}/{resource}")
    if objects.problems:
        raise ClusterError(f"{objects.api.host}: {object_words(objects.problems[0])} {problem_words(objects.problems[0])}")
    for resource in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        objects.keep(f"{ADMISSION}/{resource}")
    ours = (("labelSelector", f"{PART_OF}={MUSTER}"),)
    for resource in ("deployments", "statefulsets"):
        objects.keep(f"/apis/apps/v1/{resource}", ours)
    found = World(now=dt.datetime.fromtimestamp(0, dt.UTC), items=objects.items)
    called = {entry.service[0] for entry in entries(found) if entry.service}
    for namespace in sorted(called | {each.item.namespace for each in components(found, SIDECAR)}):
        objects.keep(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets")
        objects.keep(f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies")
        objects.keep_one(f"/api/v1/namespaces/{namespace}")
        _keep_controllers(objects, namespace)
    for namespace, name in dict.fromkeys(each.service for each in entries(found) if each.service):
        objects.keep_one(f"/api/v1/namespaces/{namespace}/services/{name}")
    for namespace in (SYSTEM, NODE_LEASES):
        objects.keep_one(f"/api/v1/namespaces/{namespace}")
    objects.keep(f"/api/v1/namespaces/{SYSTEM}/pods")
    for definition in custom_resources.definitions():
        objects.keep_one(f"{DEFINITIONS}/{definition['metadata']['name']}")


def _keep_controllers(objects: LiveObjects, namespace: str) -> None:
    """Keep the Deployments and StatefulSets of a namespace."""
    for resource in ("deployments", "statefulsets"):
        objects.keep(f"/apis/apps/v1/namespaces/{namespace}/{resource}")


def _keep_foreign(objects: LiveObjects, world: World) -> None:
    """Keep the servers of the webhooks of other programs that matter: namespace, Deployments, Service and its endpoints.

    After a refusal, other objects of the same resource are not tried.
    """
    possible = concerns(dataclasses.replace(world, unread=world.unread | {"namespaces", "services"}))
    for namespace in dict.fromkeys(each.entry.service[0] for each in possible if each.entry.service):
        if "namespaces" not in objects.unread:
            objects.keep_one(f"/api/v1/namespaces/{namespace}")
    world = dataclasses.replace(world, items=objects.items, unread=frozenset(objects.unread | {"services"}))
    services = dict.fromkeys(each.entry.service for each in concerns(world) if each.entry.service)
    for namespace in dict.fromkeys(namespace for namespace, _ in services):
        _keep_controllers(objects, namespace)
    for namespace, name in services:
        if "services" not in objects.unread:
            objects.keep_one(f"/api/v1/namespaces/{namespace}/services/{name}")
        if "endpointslices" not in objects.unread:
            selector = (("labelSelector", f"{SERVICE_NAME}={name}"),)
            objects.keep(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", selector)


def keep_stored(objects: LiveObjects) -> None:
    """Keep the objects that a newer version can refuse, of the version that the API server prefers among those that can be read."""
    for kind in upgrade.KINDS:
        resource = versions.resource(kind).resource
        try:
            rows = [row for row in versions.current(kind) if resource in served(objects.api, row.name)]
        except ReplyError as error:
            objects.problems.append(Problem(RequestRefused(RefusedRequest.DISCOVERY, str(error)), place=resource))
            continue
        if rows:
            objects.keep(f"/apis/{rows[0].name}/{resource}")


def _ignored(objects: LiveObjects, api_server: ApiServer) -> tuple[IgnoredItem, ...]:
    """Return the groups and Workloads that do not count.  Those of the first API group are listed only if another one has some."""
    found: list[Item] = []
    for kind in TREE_KINDS:
        first, *others = (f"/apis/{api_server.api_version(each)}/{each.resource}" for each in api_server.served(kind))
        later = [item for path in others for item in objects.listed(path)]
        if later:
            names = {(each.namespace, each.name) for each in later}
            found += [*(each for each in objects.listed(first) if (each.namespace, each.name) in names), *later]
    return tuple(ignored_items(found))


def _keep_secrets(objects: LiveObjects, world: World) -> None:
    """Keep the certificates of the servers' Secrets, without private keys.  They are optional: replicas show what they serve."""
    for namespace, name in secret_names(world):
        try:
            reader = LiveObjects(objects.api)
            reader.keep_one(f"/api/v1/namespaces/{namespace}/secrets/{name}")
        except (ValueError, *TRANSPORT):
            continue
        for item in reader.items:
            data = {key: text_at(item.content, "data", key) for key in (CA, CERTIFICATE)}
            objects.add(Item({"kind": "Secret", "metadata": mapping_at(item.content, "metadata"), "data": data}))


def _api_server(objects: LiveObjects) -> ApiServer:
    """Return version, served resources and feature gates; gates are in the metrics, which need a permission."""
    api = objects.api
    try:
        minor = minor_version(api)
        rows = versions.workload_versions()
        resources = frozenset(f"{row.name}/{each}" for row in rows for each in served(api, row.name))
    except ReplyError as error:
        objects.problems.append(Problem(RequestRefused(RefusedRequest.DISCOVERY, str(error)), place="API server"))
        return ApiServer()
    try:
        gates: Mapping[str, bool] | None = feature_gates(api) or None
    except ReplyError:
        gates = None
    return ApiServer(minor, resources, gates)


def _endpoints(objects: LiveObjects, entry: Entry) -> tuple[Sequence[str], Connect]:
    """Return the addresses of the Service of a webhook, and the function that connects to them."""
    namespace, name = entry.service or ("", "")
    cluster = Cluster(objects.api, Place(namespace, "", name, ()))
    try:
        return cluster.replicas(), connect_through(objects.api, cluster)
    except ReplyError as error:
        listed = f"EndpointSlices of {namespace}/{name}"
        objects.problems.append(Problem(RequestRefused(RefusedRequest.LIST, str(error)), place=listed))
        return (), connect_directly


def _scraped(api: Api, world: World) -> Iterator[Latency | str]:
    """Yield the latencies in the metrics of all pods of webhook servers, by port-forwarding, or why they cannot be read."""
    for server, _ in by_server(world):
        selector = ",".join(f"{key}={value}" for key, value in labels_at(server.content, "spec", "selector", "matchLabels").items())
        port = labels_at(server.content, "spec", "template", "metadata", "annotations").get("prometheus.io/port", PROBE_PORT)
        for pod in LiveObjects(api).listed(f"/api/v1/namespaces/{server.namespace}/pods", [("labelSelector", selector)]):
            if has_ended(pod):
                continue
            try:
                status, content = read_of_pod(api, server.namespace, pod.name, int(port), "/metrics")
                if status != OK:
                    raise reply_error(status, content)
                yield from read_latencies(f"pod {pod.name}", content.decode("utf-8", "replace"))
            except (ReplyError, ValueError, *TRANSPORT) as error:
                yield f"pod {pod.name}: {error}"


def _bindings(objects: LiveObjects) -> frozenset[tuple[str, str]]:
    pods = objects.listed("/api/v1/pods", [("fieldSelector", "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")])
    return frozenset(filter(None, map(binding_of, pods)))


def _granted(objects: LiveObjects, world: World) -> dict[Account, Mapping[Permission, bool] | None]:
    from scheduler_core.sidecar.client.access_review import is_granted

    granted: dict[Account, Mapping[Permission, bool] | None] = {}
    for component, permissions in needed(world):
        account = component.account
        known = granted.get(account) or {}
        try:
            reviewed = {each: is_granted(objects.api, each, account) for each in permissions if each not in known}
        except ReplyError as error:
            if error.code != FORBIDDEN:
                refused = RequestRefused(RefusedRequest.REVIEW_PERMISSIONS, str(error))
                objects.problems.append(Problem(refused, place=component.item.label))
            granted[account] = None
            continue
        granted[account] = {**known, **reviewed}
    return granted
