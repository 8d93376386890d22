"""The NetworkPolicies of the server's pods open the port that the API server calls."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from muster.doctor.components import template_labels
from muster.doctor.entries import entries, servers_of
from muster.doctor.finding import Check, Result, error
from muster.doctor.leaves import USUAL
from muster.doctor.manifests import Manifest, kubectl_patch, mapping_at, mappings_at, number_at, selects, text_at, texts_at, value_at
from muster.doctor.world import Item, World

_SHIPPED = {"app.kubernetes.io/name": "muster-webhook"}
"""Labels that the NetworkPolicy of ``deploy/`` selects."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each server and port that all its policies close.  Who may connect to an open port is not judged."""
    seen = set[tuple[str, str | int]]()
    for entry in entries(world):
        service = world.named("Service", *entry.service) if entry.service else None
        port = next((each for each in mappings_at(service and service.content, "spec", "ports") if each.get("port") == entry.port), {})
        if not port:
            continue  # a finding of its own
        target = port.get("targetPort", entry.port)
        for server in servers_of(world, entry) if isinstance(target, str | int) else ():
            policies = [*_policies_of(world, server)]
            if (server.label, target) in seen or not policies or any(_opens(each, _same_port(server, target)) for each in policies):
                continue
            seen.add((server.label, target))
            names = ", ".join(each.name for each in policies)
            message = f"no rule allows ingress to port {target} of {server.label}, whose pods are selected by {names}"
            yield error(policies[0], "spec.ingress", message, _command(server, policies, target))


def _policies_of(world: World, server: Item) -> Iterator[Item]:
    """Yield the policies by which the pods of a Deployment refuse what no rule allows; without ``policyTypes`` they are for ingress."""
    labels = template_labels(server)
    for each in world.of_kind("NetworkPolicy"):
        types = texts_at(each.content, "spec", "policyTypes")
        selector = mapping_at(each.content, "spec", "podSelector")
        if each.namespace == server.namespace and "Ingress" in (types or ["Ingress"]) and selects(selector, labels):
            yield each


def _same_port(server: Item, target: str | int) -> set[object]:
    """Return number and name of the port of the containers with one of both."""
    pairs = [
        {each.get("name"), each.get("containerPort")}
        for container in mappings_at(server.content, "spec", "template", "spec", "containers")
        for each in mappings_at(container, "ports")
    ]
    return {target, *(each for pair in pairs if target in pair for each in pair)} - {None}


def _opens(policy: Item, port: set[object]) -> bool:
    return any(
        not rule.get("ports") or any(_is_open(each, port) for each in mappings_at(rule, "ports"))
        for rule in mappings_at(policy.content, "spec", "ingress")
    )


def _is_open(allowed: Manifest, port: set[object]) -> bool:
    first = allowed.get("port")
    if (text_at(allowed, "protocol") or "TCP") != "TCP":
        return False
    last = number_at(allowed, "endPort", default=0)
    ranged = isinstance(first, int) and any(isinstance(each, int) and first <= each <= last for each in port)
    return first is None or first in port or ranged


def _command(server: Item, policies: list[Item], target: str | int) -> str:
    """Return the command that opens the port: in a policy of the server alone, else by the NetworkPolicy of ``deploy/``."""
    own = next((each for each in policies if value_at(each.content, "spec", "podSelector")), None)
    if own is None and _SHIPPED.items() <= template_labels(server).items() and target == "webhook":
        if server.namespace == USUAL[0]:
            return "kubectl apply -f deploy/base/network-policy.yaml"
        words = ["helm", "template", "muster", "deploy/chart", f"--namespace={server.namespace}"]
        return f"{shlex.join([*words, '--show-only=templates/webhooks/network-policy.yaml'])} | kubectl apply -f -"
    policy = own or policies[0]
    rules = [*mappings_at(policy.content, "spec", "ingress"), {"ports": [{"port": target, "protocol": "TCP"}]}]
    return kubectl_patch(policy.kind, policy.namespace, policy.name, [{"op": "add", "path": "/spec/ingress", "value": rules}])


CHECK = Check(
    id="port-closed",
    why="Where the network enforces NetworkPolicies, no review reaches the server: the request is refused (Fail) or not checked (Ignore).",
    examine=check,
)
