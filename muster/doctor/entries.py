"""Webhooks of Muster's configurations and of others: their server, the requests that they match, and the CAs that they trust."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping

from muster.doctor.components import MUSTER, PART_OF, WORKLOADS, template_labels
from muster.doctor.manifests import (
    Manifest,
    bytes_at,
    kubectl_patch,
    labels_at,
    mapping_at,
    mappings_at,
    number_at,
    text_at,
)
from muster.doctor.requests import Matched, Place, Request, matched
from muster.doctor.world import Item, World

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SUFFIX = ".muster.dev"
"""End of the names of Muster's webhooks."""
INJECTED = ("cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret")
"""Annotations by which cert-manager writes caBundle."""
SERVICE_NAME = "kubernetes.io/service-name"
"""Label of an EndpointSlice with the name of its Service."""
HTTPS = 443
DEFAULT_TIMEOUT_SECONDS = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One webhook: the *number*-th of its configuration."""

    item: Item
    number: int
    content: Manifest

    @property
    def name(self) -> str:
        """Return its name: ``groups.muster.dev``."""
        return text_at(self.content, "name")

    @property
    def fails(self) -> bool:
        """Return whether requests are refused while the server does not answer."""
        return text_at(self.content, "failurePolicy") != "Ignore"

    @property
    def timeout_seconds(self) -> int:
        """Return the time that the API server waits for an answer."""
        return number_at(self.content, "timeoutSeconds", default=DEFAULT_TIMEOUT_SECONDS)

    @property
    def side_effects(self) -> str:
        """Return its side effects; ``Unknown`` if they are not set."""
        return text_at(self.content, "sideEffects") or "Unknown"

    @property
    def ca_bundle(self) -> bytes:
        """Return the trusted CAs, PEM; empty if there are none."""
        return bytes_at(self.content, "clientConfig", "caBundle")

    @property
    def service(self) -> tuple[str, str] | None:
        """Return namespace and name of its Service; None if it is called by URL."""
        service = mapping_at(self.content, "clientConfig", "service")
        return (text_at(service, "namespace"), text_at(service, "name")) if service else None

    @property
    def port(self) -> int:
        """Return the port of its Service."""
        return number_at(self.content, "clientConfig", "service", "port", default=HTTPS)

    @property
    def path(self) -> str:
        """Return the path that is called: ``/validate/warn``."""
        return text_at(self.content, "clientConfig", "service", "path") if self.service else self._url.path

    @property
    def host(self) -> str:
        """Return the name that its certificate must have."""
        return f"{self.service[1]}.{self.service[0]}.svc" if self.service else self._url.hostname or ""

    @property
    def target(self) -> str:
        """Return its server: NAMESPACE/SERVICE, or HOST:PORT of the URL."""
        if self.service:
            return "/".join(self.service)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self._url.port or HTTPS}"

    @property
    def _url(self) -> urllib.parse.SplitResult:
        try:
            parts = urllib.parse.urlsplit(text_at(self.content, "clientConfig", "url"))
            _ = parts.port
        except ValueError:
            return urllib.parse.urlsplit("")
        return parts

    def field(self, *names: str) -> str:
        """Return the path of a field of the webhook."""
        return ".".join((f"webhooks[{self.number}]", *names))

    def set_command(self, values: Mapping[str, object]) -> str:
        """Return the command that sets fields of the webhook, by their path such as ``clientConfig/caBundle``."""
        return set_command([self], values)

    def matched(self, request: Request, place: Place, labels: Mapping[str, str] | None = None, *, all_labels: bool = True) -> Matched:
        """Return whether the server is called for a request in a namespace, as ``requests.matched``."""
        return matched(self.content, request, place, labels or {}, all_labels=all_labels)


def entries(world: World) -> Iterator[Entry]:
    """Yield all webhooks of Muster: those of a configuration with its label, or whose names end with its domain."""
    return (entry for entry, ours in _all_entries(world) if ours)


def others(world: World) -> Iterator[Entry]:
    """Yield the webhooks that are not Muster's."""
    return (entry for entry, ours in _all_entries(world) if not ours)


def _all_entries(world: World) -> Iterator[tuple[Entry, bool]]:
    for item in world.of_kind(*CONFIGURATIONS):
        ours = item.labels.get(PART_OF) == MUSTER
        for number, content in enumerate(mappings_at(item.content, "webhooks")):
            yield Entry(item, number, content), ours or text_at(content, "name").endswith(SUFFIX)


def set_command(same_object: Iterable[Entry], values: Mapping[str, object]) -> str:
    """Return the command that sets fields of several webhooks of one configuration."""
    listed = [*same_object]
    operations = [
        {"op": "add", "path": f"/webhooks/{each.number}/{path}", "value": value} for each in listed for path, value in values.items()
    ]
    return kubectl_patch(listed[0].item.kind, "", listed[0].item.name, operations)


def by_configuration(listed: Iterable[Entry]) -> list[list[Entry]]:
    """Return webhooks by their configuration."""
    groups: dict[str, list[Entry]] = {}
    for each in listed:
        groups.setdefault(each.item.label, []).append(each)
    return [*groups.values()]


def fields_of(listed: Iterable[Entry], name: str) -> str:
    """Return the paths of a field of several webhooks: ``webhooks[0,2].failurePolicy``."""
    return f"webhooks[{','.join(str(each.number) for each in listed)}].{name}"


def servers_of(world: World, entry: Entry) -> list[Item]:
    """Return the Deployments behind the Service of a webhook."""
    service = world.named("Service", *entry.service) if entry.service else None
    selector = labels_at(service.content, "spec", "selector") if service else {}
    if service is None or not selector:
        return []
    return [
        each
        for each in world.of_kind(*WORKLOADS)
        if each.namespace == service.namespace and selector.items() <= template_labels(each).items()
    ]


def by_server(world: World) -> list[tuple[Item, list[Entry]]]:
    """Return the Deployments of webhook servers, each with the webhooks that fail without it."""
    found: dict[str, tuple[Item, list[Entry]]] = {}
    for entry in entries(world):
        for server in servers_of(world, entry):
            found.setdefault(server.label, (server, []))[1].append(entry)
    return [(server, [each for each in listed if each.fails]) for server, listed in found.values()]


def place_of(world: World, namespace: str) -> Place:
    """Return a namespace; without labels if it is not there, as in files, and with None if it could not be read."""
    item = world.named("Namespace", "", namespace)
    return Place(namespace, item.labels if item else None if "namespaces" in world.unread else {})
