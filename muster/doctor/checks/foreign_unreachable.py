"""The API server reaches the servers of the webhooks of other programs: Service, port and ready endpoints exist."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import SERVICE_NAME, by_configuration, fields_of, set_command
from muster.doctor.finding import Check, Diagnosis, Result, Unseen, error, warning
from muster.doctor.foreign import Concern, concerns, names_of
from muster.doctor.manifests import describe_pods, labels_at, mapping_at, mappings_at, text_at, value_at
from muster.doctor.requests import listed
from muster.doctor.world import Item, World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration and Service whose webhooks fail now.  In files, other objects can be missing."""
    if not world.live:
        return
    failing = [each for each in concerns(world) if each.entry.fails and each.entry.service and each.requests]
    for entries in by_configuration(each.entry for each in failing):
        for target in dict.fromkeys((each.target, each.port) for each in entries):
            same = [each for each in failing if each.entry in entries and (each.entry.target, each.entry.port) == target]
            yield from _service(world, same)


def _service(world: World, same: list[Concern]) -> Iterator[Result]:
    entry = same[0].entry
    namespace, name = entry.service or ("", "")
    service = world.named("Service", namespace, name)
    if service is None and "services" in world.unread:
        yield Unseen(f"the Service {namespace}/{name} of {entry.name} of {entry.item.label} cannot be read")
    elif service is None:
        reason = f"there is no Service {namespace}/{name}; if its program was removed, delete the configuration"
        yield _failed(same, reason, _ignore(same))
    elif text_at(service.content, "spec", "type") != "ExternalName":
        yield from _ports(world, same, service)


def _ports(world: World, same: list[Concern], service: Item) -> Iterator[Result]:
    entry = same[0].entry
    ports = mappings_at(service.content, "spec", "ports")
    port = next((each for each in ports if each.get("port") == entry.port), None)
    if port is None:
        numbers = ", ".join(str(each.get("port")) for each in ports) or "none"
        known = set_command([each.entry for each in same], {"clientConfig/service/port": value_at(ports[0], "port")}) if ports else ""
        reason = f"port {entry.port} is called, and the ports of {service.label} are {numbers}"
        yield _failed(same, reason, known or _ignore(same))
    elif "endpointslices" in world.unread:
        yield Unseen(f"the endpoints of {service.label} of {entry.name} of {entry.item.label} cannot be read")
    elif not _has_endpoint(world, service, text_at(port, "name")):
        labels = labels_at(service.content, "spec", "selector")
        command = describe_pods(service.namespace, labels) if labels else _ignore(same)
        yield _failed(same, f"{service.label} has no ready endpoint for port {entry.port}", command)


def _has_endpoint(world: World, service: Item, port_name: str) -> bool:
    """Return whether a ready endpoint serves the port; a condition that is not set counts as true, as for the API server."""
    for each in world.of_kind("EndpointSlice"):
        if each.namespace != service.namespace or each.labels.get(SERVICE_NAME) != service.name:
            continue
        named = any(text_at(port, "name") == port_name for port in mappings_at(each.content, "ports"))
        if named and any(mapping_at(one, "conditions").get("ready") is not False for one in mappings_at(each.content, "endpoints")):
            return True
    return False


def _failed(same: list[Concern], reason: str, command: str) -> Diagnosis:
    entries = [each.entry for each in same]
    certain = [each for each in same if each.is_certain]
    requests = dict.fromkeys(request for each in certain or same for request in each.requests)
    doubt = "" if certain else ", unless its matchConditions exempt them"
    message = f"{reason}: {names_of(entries)} {'refuses' if len(entries) == 1 else 'refuse'} {listed(requests)}{doubt}"
    severity = error if certain else warning
    return severity(entries[0].item, fields_of(entries, "clientConfig.service"), message, command)


def _ignore(same: list[Concern]) -> str:
    return set_command([each.entry for each in same], {"failurePolicy": "Ignore"})


CHECK = Check(
    id="foreign-unreachable",
    why="Every request that the webhook matches is refused now: failurePolicy is Fail.",
    examine=check,
)
