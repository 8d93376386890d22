"""The API server reaches the server: its Service, the port, and at least one ready replica exist."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import Entry, by_configuration, entries, fields_of, servers_of, set_command
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.manifests import kubectl, mappings_at, text_at, value_at
from muster.doctor.world import Item, World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration whose server is not reached."""
    for listed in by_configuration(entries(world)):
        for target in dict.fromkeys(each.target for each in listed):
            same = [each for each in listed if each.target == target]
            yield from _service(world, same)
    for replica in world.replicas:
        if not replica.reason:
            continue
        entry = next((each for each in entries(world) if each.target == replica.target), None)
        if replica.requested and entry is not None:
            message = f"replica {replica.address} of {replica.target} does not answer: {replica.reason}"
            yield error(entry.item, entry.field("clientConfig"), message, _pods(world, entry))
        else:
            yield Unseen(f"replica {replica.address} of {replica.target} cannot be reached from here: {replica.reason}; give --replica")


def _service(world: World, same: list[Entry]) -> Iterator[Result]:
    entry = same[0]
    if entry.service is None:
        if not entry.host:
            yield error(
                entry.item, fields_of(same, "clientConfig"), "must have a service, or a URL that can be parsed", _pods(world, entry)
            )
        return
    service = world.named("Service", *entry.service)
    field = fields_of(same, "clientConfig.service")
    namespace, name = entry.service
    if service is None:
        if "services" in world.unread:
            yield Unseen(f"the Services of {namespace} cannot be read")
        elif world.live:
            command = kubectl(namespace, "expose", "deployment", "muster-webhook", f"--name={name}", "--port=443", "--target-port=webhook")
            yield error(entry.item, field, f"there is no Service {namespace}/{name}", command)
        else:
            yield Unseen(f"the Service {namespace}/{name} is not in PATH")
        return
    port = next((each for each in mappings_at(service.content, "spec", "ports") if each.get("port") == entry.port), None)
    if port is None:
        ports = ", ".join(str(each.get("port")) for each in mappings_at(service.content, "spec", "ports")) or "none"
        message = f"calls port {entry.port}, and the ports of {service.label} are {ports}"
        yield error(entry.item, field, message, _set_port(same, service))
        return
    yield from _servers(world, entry, service, text_at(port, "targetPort"))


def _servers(world: World, entry: Entry, service: Item, target_port: str) -> Iterator[Result]:
    servers = servers_of(world, entry)
    if not servers and world.unread & {"deployments", "statefulsets"}:
        yield Unseen(f"the Deployments and StatefulSets of {service.namespace} cannot be read")
    elif not servers and (world.live or any(each.namespace == service.namespace for each in world.of_kind("Deployment"))):
        command = kubectl(service.namespace, "get", "deployments", "--show-labels")
        yield error(service, "spec.selector", "selects the pods of no Deployment", command)
    for server in servers:
        ports = [
            text_at(port, "name")
            for container in mappings_at(server.content, "spec", "template", "spec", "containers")
            for port in mappings_at(container, "ports")
        ]
        if target_port and not target_port.isdigit() and target_port not in ports:
            command = kubectl(service.namespace, "edit", "service", service.name)
            yield error(service, "spec.ports", f"targetPort {target_port} is not a port of {server.label}: {', '.join(ports)}", command)


def _set_port(same: list[Entry], service: Item) -> str:
    first = next((value_at(each, "port") for each in mappings_at(service.content, "spec", "ports")), 443)
    return set_command(same, {"clientConfig/service/port": first})


def _pods(world: World, entry: Entry) -> str:
    servers = servers_of(world, entry)
    if servers:
        return kubectl(servers[0].namespace, "rollout", "status", f"{servers[0].kind.lower()}/{servers[0].name}")
    return kubectl("", "get", entry.item.kind.lower(), entry.item.name, "--output=yaml")


CHECK = Check(
    id="unreachable",
    why="Every review fails: the request is refused (Fail) or not checked (Ignore).",
    examine=check,
)
