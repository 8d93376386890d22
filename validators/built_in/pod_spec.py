"""Specifications of pods, in Pods and in pod templates."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator

from kubeapi import content, decode
from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.built_in import containers, names, placement, resources, security, volumes
from validators.built_in.shared_checks import Content, formatted, items, needed, one_of, text, texts
from validators.field import FieldError

_POLICIES = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMES = {
    "subdomain": content.label,
    "serviceAccountName": content.subdomain,
    "priorityClassName": content.subdomain,
    "runtimeClassName": content.subdomain,
}
_OWN_NAMES = {"hostname": content.label, "nodeName": content.subdomain}
_OWN = frozenset({*_OWN_NAMES, "schedulingGroup"})
"""Fields that differ between pods that are otherwise the same."""
_LONGEST_DEADLINE = 2**31 - 1
_MAX_CACHED, _LONGEST_CACHED = 1024, 8192
_valid: set[bytes] = set()
"""Cache of valid specifications without fields of their own, as JSON."""


def pod_spec(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the specification of a pod.  Most specifications are valid, and many pods and templates have the same."""
    yield from _own_errors(spec, at)
    text = decode.ENCODER.encode({name: value for name, value in spec.items() if name not in _OWN})
    if text in _valid:
        return
    is_valid = True
    for each in _errors(spec, at):
        is_valid = False
        yield each
    if is_valid and len(text) <= _LONGEST_CACHED:
        if len(_valid) >= _MAX_CACHED:
            _valid.clear()
        _valid.add(text)


def _errors(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from volumes.volumes(spec, at)
    yield from containers.containers(spec, at)
    if spec.get("resources") is not None:
        yield from resources.of_pod(spec, at)
    yield from resources.resources({"limits": section(spec, "overhead")}, at / "overhead")
    yield from one_of(spec, "restartPolicy", at, _POLICIES)
    yield from one_of(spec, "dnsPolicy", at, _DNS)
    if spec.get("preemptionPolicy") == "":
        yield field.required(at / "preemptionPolicy", "must be Never or PreemptLowerPriority, or absent")
    yield from one_of(spec, "preemptionPolicy", at, ("Never", "PreemptLowerPriority"))
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
    yield from security.security(spec, at)
    yield from _dns(spec, at)
    yield from _host_name(spec, at)
    yield from _claims(spec, at)


def only_pod(metadata: Content, spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of a pod that the API server does not find in a pod template."""
    for kind in ("containers", "initContainers"):
        for path, each in items(spec, kind, at):
            if (image := text(each, "image")) != image.strip():
                yield field.invalid(path / "image", image, "must not have leading or trailing whitespace")
    if spec.get("ephemeralContainers"):
        yield field.forbidden(at / "ephemeralContainers", "cannot be set on create")
    if spec.get("hostNetwork") is True:
        # Ports of the host that are absent are those of the containers.
        yield from containers.host_port_conflicts(spec, at)
    if spec.get("schedulingGates") and spec.get("nodeName"):
        yield field.forbidden(at / "nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from _created_claims(text(metadata, "name"), items(spec, "volumes", at))
    if "kubernetes.io/config.mirror" in section(metadata, "annotations") and not spec.get("nodeName"):
        key = Key("kubernetes.io/config.mirror")
        yield field.invalid(FieldPath("metadata", "annotations") / key, "", "must set spec.nodeName if mirror pod annotation is set")
    yield from security.pod_annotations(section(metadata, "annotations"), spec, FieldPath("metadata", "annotations"))


def _created_claims(pod: str, listed: list[tuple[FieldPath, Content]]) -> Iterator[FieldError]:
    """Yield the errors of the claims that are created for a pod: their names, and volumes that refer to them."""
    if not pod:
        return
    names_of = {text(each, "name"): path / "name" for path, each in listed if each.get("ephemeral") is not None and text(each, "name")}
    for name, path in names_of.items():
        yield from (field.invalid(path, name, f"{pod}-{name}: {message}") for message in content.subdomain(f"{pod}-{name}"))
    created = {f"{pod}-{name}" for name in names_of}
    for path, each in listed:
        if (name := text(section(each, "persistentVolumeClaim"), "claimName")) in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            yield field.invalid(path.join(("persistentVolumeClaim", "claimName")), name, detail)


def template(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of a pod template."""
    metadata = section(given, "metadata")
    yield from names.labels(section(metadata, "labels"), at.join(("metadata", "labels")))
    yield from names.annotation_keys(section(metadata, "annotations"), at.join(("metadata", "annotations")))
    yield from security.pod_annotations(section(metadata, "annotations"), section(given, "spec"), at.join(("metadata", "annotations")))
    yield from pod_spec(section(given, "spec"), at / "spec")
    if section(given, "spec").get("ephemeralContainers"):
        yield field.forbidden(at.join(("spec", "ephemeralContainers")), "ephemeral containers not allowed in pod template")


def _own_errors(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    for name, form in _OWN_NAMES.items():
        if value := text(spec, name):
            yield from formatted(value, at / name, form(value))
    if group := text(section(spec, "schedulingGroup"), "podGroupName"):
        yield from formatted(group, at.join(("schedulingGroup", "podGroupName")), content.subdomain(group, unit="characters"))


def _names(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    for name, form in _NAMES.items():
        if value := text(spec, name):
            yield from formatted(value, at / name, form(value))
    if not text(spec, "serviceAccountName") and (value := text(spec, "serviceAccount")):
        # The deprecated field is a default of the other one.
        yield from formatted(value, at / "serviceAccountName", content.subdomain(value))
    if spec.get("runtimeClassName") == "":
        yield field.invalid(at / "runtimeClassName", "", "must be the name of a RuntimeClass, or absent")
    for path, each in items(spec, "hostAliases", at):
        yield from _address(text(each, "ip"), path / "ip")
        hostnames = each.get("hostnames")
        for index, hostname in enumerate(hostnames if isinstance(hostnames, list) else ()):
            yield from formatted(hostname or "", path.join(("hostnames", index)), content.subdomain(hostname or ""))
    for path, each in items(spec, "readinessGates", at):
        yield from formatted(text(each, "conditionType"), path / "conditionType", content.label_key(text(each, "conditionType")))


def _dns(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    given, path = section(spec, "dnsConfig"), at / "dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if spec.get("dnsConfig") is None:
            yield field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not given.get("nameservers"):
            yield field.required(path / "nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
    for option, each in items(given, "options", path):
        yield from needed(each, option, "name")
    for name, most in (("nameservers", _MOST_SERVERS), ("searches", _MOST_SEARCHES)):
        values = texts(given, name)
        if len(values) > most:
            yield field.invalid(path / name, len(values), f"must not have more than {most} {name}")
    for index, server in enumerate(texts(given, "nameservers")):
        yield from _address(server, path.join(("nameservers", index)))
    for index, domain in enumerate(texts(given, "searches")):
        if domain != ".":
            messages = content.subdomain(domain.removesuffix(".").replace("_", "-"))
            yield from formatted(domain, path.join(("searches", index)), messages)


def _host_name(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    name, path = spec.get("hostnameOverride"), at / "hostnameOverride"
    if isinstance(name, str):
        yield from formatted(name, path, content.subdomain(name))
        if len(name) > _LONGEST_HOSTNAME:
            yield FieldError(field.ErrorType.TOO_LONG, path, "", f"may not be more than {_LONGEST_HOSTNAME} bytes")
        for other in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.get(other) is True:
                yield field.forbidden(path, f"may not be specified when {other} is true")


_MOST_SERVERS, _MOST_SEARCHES = 3, 32
_LONGEST_HOSTNAME = 64


def _address(value: str, at: FieldPath) -> Iterator[FieldError]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        yield field.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _claims(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the claims to devices of a pod, and of those that its containers name."""
    listed = items(spec, "resourceClaims", at)
    known = {text(each, "name") for _, each in listed}
    for kind in ("containers", "initContainers"):
        for path, container in items(spec, kind, at):
            yield from _used_claims(items(section(container, "resources"), "claims", path / "resources"), known)
    before: set[str] = set()
    for path, each in listed:
        sources = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if each.get(name) is not None]
        if not (name := text(each, "name")):
            yield field.required(path / "name")
        elif name in before:
            yield field.duplicate(path / "name", name)
        else:
            yield from formatted(name, path / "name", content.label(name))
            before.add(name)
        for name in sources:
            yield from formatted(text(each, name), path / name, content.subdomain(text(each, name)))
        if len(sources) != 1:
            yield field.invalid(path, text(each, "name"), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")


def _used_claims(used: list[tuple[FieldPath, Content]], known: Collection[str]) -> Iterator[FieldError]:
    """Yield the errors of the claims that a container names: a claim as a whole, or single requests of it."""
    before: set[tuple[str, str]] = set()
    in_part: set[str] = set()
    for path, each in used:
        name, request = text(each, "name"), text(each, "request")
        if not name:
            yield field.required(path / "name")
            continue
        if (name, "") in before or (name, request) in before or (not request and name in in_part):
            yield field.duplicate(path, f"{name}/{request}" if request else name)
        if request and (name, "") not in before:
            yield from formatted(request, path / "request", content.label(request))
        before.add((name, request))
        in_part.add(name)
        if name not in known:
            yield field.not_found(path / "name", name, "spec.resourceClaims of the pod has no claim of this name")
