"""Leaves that the server serves or will serve: of observed replicas, and of the Secrets that its pods mount.

Edge of ``certs``: certificates are parsed there.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import shlex
from collections.abc import Iterator

from certs import inspection, pem_bundle
from certs.pair import BadNameError, Names, names_of
from certs.store import CA, CERTIFICATE
from muster.doctor.components import SERVE, Component, components
from muster.doctor.entries import Entry, entries, servers_of
from muster.doctor.manifests import bytes_at, kubectl, mappings_at, text_at
from muster.doctor.world import Item, Replica, World

USUAL = "muster-system", "muster-webhook"
"""Namespace and name of the Service for which ``muster certs rotate`` needs no options."""
USUAL_SECRET, USUAL_CONFIGURATIONS = "muster-webhook-tls", {"muster", "muster-pods", "muster-join"}
"""Secret and configurations for which it needs none."""
_ANY_TIME = dt.datetime.fromtimestamp(0, dt.UTC)
_LONGEST_CHAIN = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """Leaf with its chain (PEM, leaf first), where it is from, and the webhooks that call its server.

    ``item`` is the Secret, or a configuration that calls the replica.
    """

    item: Item
    field: str
    source: str
    chain: bytes
    entries: tuple[Entry, ...]
    replica: Replica | None = None

    def distrust(self, entry: Entry) -> str:
        """Return why a client with the caBundle of *entry* does not trust the leaf; empty if it does."""
        if self.replica is not None:
            return self.replica.distrust.get(entry.ca_bundle, "")
        return "" if trusts(entry.ca_bundle, self.chain) else "none of its CAs has signed the certificate"

    def report(self, now: dt.datetime) -> inspection.Report | None:
        """Return the report on the leaf; None if it is not PEM."""
        names = _names({each.host for each in self.entries})
        try:
            return inspection.inspect(self.source, self.chain, now, required=names)
        except inspection.UnreadableError:
            return None


def leaves(world: World) -> Iterator[Leaf]:
    """Yield the leaves of observed replicas, then those of mounted Secrets."""
    called = [*entries(world)]
    for replica in world.replicas:
        concerned = tuple(each for each in called if each.target == replica.target)
        if replica.leaf and concerned:
            yield Leaf(concerned[0].item, "", f"replica {replica.address}", replica.leaf, concerned, replica)
    for secret, concerned in secrets(world):
        if chain := secret_data(secret, CERTIFICATE):
            yield Leaf(secret, f"data[{CERTIFICATE}]", secret.label, chain, concerned)


def is_foreign(world: World, leaf: Leaf) -> bool:
    """Return whether something else than a replica may answer at the address of a leaf: no CA of the installation has signed it."""
    if leaf.replica is None or any(leaf.replica.distrust.get(each.ca_bundle) == "" for each in leaf.entries):
        return False
    known = [each.ca_bundle for each in leaf.entries]
    for secret, concerned in secrets(world):
        if any(each.target == leaf.entries[0].target for each in concerned):
            known += [secret_data(secret, CA), secret_data(secret, CERTIFICATE)]
    return not any(trusts(each, leaf.chain) for each in known if each)


def secrets(world: World) -> Iterator[tuple[Item, tuple[Entry, ...]]]:
    """Yield the Secrets with certificates of webhook servers, each with the webhooks that call the server."""
    called = [*entries(world)]
    for namespace, name in secret_names(world):
        secret = world.named("Secret", namespace, name)
        using = {each.label for each in _using(world, (namespace, name))}
        concerned = tuple(each for each in called if using & {server.label for server in servers_of(world, each)})
        if secret is not None and concerned:
            yield secret, concerned


def secret_names(world: World) -> list[tuple[str, str]]:
    """Return namespace and name of each Secret that a webhook server mounts or manages."""
    return list(dict.fromkeys(name for each in components(world, SERVE) for name in _secrets_of(each)))


def secret_data(secret: Item, key: str) -> bytes:
    """Return a value of a Secret; empty if it is missing."""
    return bytes_at(secret.content, "data", key) or text_at(secret.content, "stringData", key).encode()


def trusts(ca_bundle: bytes, chain: bytes) -> bool:
    """Return whether a CA of *ca_bundle* has signed the first certificate of *chain*, or one that signed it."""
    presented = pem_bundle.certificates(chain)
    current = presented[0] if presented else b""
    for _ in range(_LONGEST_CHAIN):
        if not current or pem_bundle.signer(current, ca_bundle):
            return bool(current)
        following = pem_bundle.signer(current, b"".join(presented[1:]))
        current = b"" if following == current else following
    return False


def expires(report: inspection.Report, now: dt.datetime) -> tuple[bool, str]:
    """Return whether a certificate is not valid now, and why it is due because of its dates; empty if it is not."""
    invalid = not report.not_before <= now < report.not_after
    return invalid, "; ".join(each.text for each in report.due if each.by is inspection.DueBy.DATES)


def authorities(world: World) -> Iterator[tuple[Entry, inspection.Report]]:
    """Yield each CA on which the trust in a server depends, once for each configuration.

    That is the CA that signed a known leaf.  If no leaf is known, it is the only CA of the bundle.
    """
    known = [*leaves(world)]
    seen = set[tuple[str, bytes]]()
    for entry in entries(world):
        mine = [each for each in known if entry in each.entries]
        signers = {
            pem_bundle.signer(pem_bundle.certificates(each.chain)[-1], entry.ca_bundle)
            for each in mine
            if pem_bundle.certificates(each.chain)
        }
        only = pem_bundle.certificates(entry.ca_bundle)
        for ca in sorted(signers - {b""} or ({*only} if len(only) == 1 else set())):
            if (entry.item.label, ca) not in seen:
                seen.add((entry.item.label, ca))
                yield entry, inspection.inspect("the CA", ca, world.now)


def renew_command(world: World, leaf: Leaf, *options: str) -> str:
    """Return the command that renews a leaf: by cert-manager if that manages the Secret, else by a rotation with *options*."""
    for secret, concerned in secrets(world):
        certificate = text_at(secret.content, "metadata", "annotations", "cert-manager.io/certificate-name")
        if certificate and any(each.target == leaf.entries[0].target for each in concerned):
            return f"cmctl renew --namespace={secret.namespace} {certificate}"
    return rotate_command(world, leaf.entries[0], *options)


def restart_command(world: World, leaf: Leaf) -> str:
    """Return the command that restarts the server of a leaf."""
    for entry in leaf.entries:
        for server in servers_of(world, entry):
            return kubectl(server.namespace, "rollout", "restart", f"{server.kind.lower()}/{server.name}")
    return "kubectl -n NAMESPACE rollout restart deployment/NAME"


def rotate_command(world: World, entry: Entry, *options: str) -> str:
    """Return the command that renews the certificate of a webhook's server, and writes its CA into every caBundle."""
    named = [] if entry.service in (None, USUAL) else [f"--namespace={entry.service[0]}", f"--service={entry.service[1]}"]
    secrets_used = [name for each in _components_of(world, entry) for _, name in _secrets_of(each)]
    if secrets_used and USUAL_SECRET not in secrets_used:
        named.append(f"--secret={secrets_used[0]}")
    configurations = {each.item.name for each in entries(world) if each.target == entry.target}
    if not configurations <= USUAL_CONFIGURATIONS:
        named += [f"--configuration={name}" for name in sorted(configurations)]
    return shlex.join(["muster", "certs", "rotate", *named, *options])


def trust_command(world: World, entry: Entry) -> str:
    """Return the command that writes the CA of a webhook's server into every caBundle.

    Replicas that manage the certificate do it themselves, and only they create the Secret: their log has what prevents it.
    """
    for each in _components_of(world, entry):
        if each.manages_certificate and world.named("Secret", *each.certificate_secret) is None:
            return kubectl(each.item.namespace, "logs", f"{each.item.kind.lower()}/{each.item.name}")
    return rotate_command(world, entry)


def _components_of(world: World, entry: Entry) -> list[Component]:
    servers = {each.label for each in servers_of(world, entry)}
    return [each for each in components(world, SERVE) if each.item.label in servers]


def _using(world: World, secret: tuple[str, str]) -> Iterator[Item]:
    return (each.item for each in components(world, SERVE) if secret in _secrets_of(each))


def _secrets_of(server: Component) -> list[tuple[str, str]]:
    if server.manages_certificate:
        return [server.certificate_secret]
    volumes = mappings_at(server.item.content, "spec", "template", "spec", "volumes")
    return [(server.item.namespace, name) for each in volumes if (name := text_at(each, "secret", "secretName"))]


def _names(hosts: set[str]) -> Names | None:
    try:
        return names_of(tuple(sorted(each for each in hosts if each)))
    except BadNameError:
        return None
