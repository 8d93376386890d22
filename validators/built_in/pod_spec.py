"""Specifications of pods, in Pods and in pod templates."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from validators import content, field
from validators.built_in import containers, names, placement, resources, volumes
from validators.built_in.parts import Content, duplicates, formatted, items, needed, one_of, section, text
from validators.field import FieldError, FieldPath

_POLICIES = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_LABELS = ("hostname", "subdomain")
_SUBDOMAINS = ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName")
_LONGEST_DEADLINE = 2**31 - 1


def pod_spec(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the specification of a pod."""
    yield from volumes.volumes(spec, at)
    yield from containers.containers(spec, at)
    yield from resources.resources(section(spec, "resources"), at / "resources", of_pod=True)
    yield from one_of(spec, "restartPolicy", at, _POLICIES)
    yield from one_of(spec, "dnsPolicy", at, _DNS)
    yield from one_of(spec, "preemptionPolicy", at, ("Never", "PreemptLowerPriority"), has_default=False)
    yield from names.labels(section(spec, "nodeSelector"), at / "nodeSelector")
    yield from placement.affinity(section(spec, "affinity"), at / "affinity")
    yield from placement.tolerations(spec, at)
    yield from placement.spread(spec, at)
    yield from placement.gates(spec, at)
    yield from _names(spec, at)
    deadline = spec.get("activeDeadlineSeconds")
    if isinstance(deadline, int) and not 1 <= deadline <= _LONGEST_DEADLINE:
        yield field.invalid(at / "activeDeadlineSeconds", deadline, f"must be between 1 and {_LONGEST_DEADLINE}, inclusive")
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        yield field.invalid(at / "shareProcessNamespace", value=True, detail="ShareProcessNamespace and HostPID cannot both be enabled")
    yield from containers.identities(section(spec, "securityContext"), at / "securityContext")
    yield from _claims(spec, at)


def template(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of a pod template."""
    metadata = section(given, "metadata")
    yield from names.labels(section(metadata, "labels"), at.join(("metadata", "labels")))
    yield from names.annotation_keys(section(metadata, "annotations"), at.join(("metadata", "annotations")))
    yield from pod_spec(section(given, "spec"), at / "spec")
    if section(given, "spec").get("ephemeralContainers"):
        yield field.forbidden(at.join(("spec", "ephemeralContainers")), "ephemeral containers not allowed in pod template")


def _names(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    for name, form in (*((each, content.label) for each in _LABELS), *((each, content.subdomain) for each in _SUBDOMAINS)):
        if value := text(spec, name):
            yield from formatted(value, at / name, form(value))
    for path, each in items(spec, "hostAliases", at):
        yield from _address(text(each, "ip"), path / "ip")
        hostnames = each.get("hostnames")
        for index, hostname in enumerate(hostnames if isinstance(hostnames, list) else ()):
            yield from formatted(hostname or "", path.join(("hostnames", index)), content.subdomain(hostname or ""))
    for path, each in items(section(spec, "dnsConfig"), "options", at / "dnsConfig"):
        yield from needed(each, path, "name")
    servers = section(spec, "dnsConfig").get("nameservers")
    for index, address in enumerate(servers if isinstance(servers, list) else ()):
        yield from _address(address or "", at.join(("dnsConfig", "nameservers", index)))
    for path, each in items(spec, "readinessGates", at):
        yield from formatted(text(each, "conditionType"), path / "conditionType", content.label_key(text(each, "conditionType")))


def _address(value: str, at: FieldPath) -> Iterator[FieldError]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        yield field.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _claims(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield an error for each claim that a container names and the pod does not have."""
    known = {each.get("name") for _, each in items(spec, "resourceClaims", at)}
    for kind in ("containers", "initContainers"):
        for path, container in items(spec, kind, at):
            for claim, each in items(section(container, "resources"), "claims", path / "resources"):
                if each.get("name") not in known:
                    yield field.not_found(claim / "name", each.get("name"), "spec.resourceClaims of the pod has no claim of this name")
    listed = items(spec, "resourceClaims", at)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)
    for path, each in listed:
        sources = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if each.get(name) is not None]
        yield from formatted(text(each, "name"), path / "name", content.label(text(each, "name")))
        for name in sources:
            yield from formatted(text(each, name), path / name, content.subdomain(text(each, name)))
        if len(sources) != 1:
            yield field.invalid(path, text(each, "name"), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
