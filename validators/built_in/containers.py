"""Containers of a pod: names, images, ports, environment, mounts, resources and probes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from validators import content, field
from validators.built_in import probes, resources, volumes
from validators.built_in.parts import Content, duplicates, formatted, items, needed, number, one_of, port, reference, section, text
from validators.field import FieldError, FieldPath

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_is_variable = re.compile(r"[ -<>-~]+", re.ASCII).fullmatch
"""Names of environment variables: printable ASCII characters without ``=``."""
_is_key = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII).fullmatch
_is_entry = re.compile(r"metadata\.(labels|annotations)\['[^']+'\]").fullmatch
_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_AMOUNTS = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))


def containers(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the containers and init containers of a pod."""
    known = frozenset(text(each, "name") for _, each in items(spec, "volumes", at))
    host_network = spec.get("hostNetwork") is True
    regular, first = items(spec, "containers", at), items(spec, "initContainers", at)
    if not regular:
        yield field.required(at / "containers")
    for path, each in (*regular, *first):
        yield from _container(each, path, known, host_network=host_network)
    for path, each in regular:
        yield from probes.probes(each, path)
    for path, each in first:
        if text(each, "restartPolicy") == "Always":
            yield from probes.probes(each, path)
        else:
            yield from probes.without_probes(each, path)
        yield from duplicates(_host_ports([(path, each)]))
    yield from duplicates((path / "name", each.get("name")) for path, each in (*regular, *first))
    yield from duplicates(_host_ports(regular))


def _container(each: Content, at: FieldPath, known: Collection[str], *, host_network: bool) -> Iterator[FieldError]:
    if name := text(each, "name"):
        yield from formatted(name, at / "name", content.label(name))
    else:
        yield field.required(at / "name")
    yield from needed(each, at, "image")
    yield from one_of(each, "terminationMessagePolicy", at, ("File", "FallbackToLogsOnError"))
    yield from one_of(each, "imagePullPolicy", at, ("Always", "IfNotPresent", "Never"))
    yield from one_of(each, "restartPolicy", at, ("Always", "OnFailure", "Never"))
    yield from _ports(each, at, host_network=host_network)
    yield from _environment(each, at)
    yield from volumes.mounts(each, at, known)
    yield from resources.resources(section(each, "resources"), at / "resources")
    yield from identities(section(each, "securityContext"), at / "securityContext")


def identities(context: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the numbers of users and groups in a security context."""
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        if not 0 <= number(context, name) <= _HIGHEST_ID:
            yield field.invalid(at / name, context[name], f"must be between 0 and {_HIGHEST_ID}, inclusive")


_HIGHEST_ID = 2**31 - 1


def _ports(container: Content, at: FieldPath, *, host_network: bool) -> Iterator[FieldError]:
    listed = items(container, "ports", at)
    for path, each in listed:
        if name := text(each, "name"):
            yield from formatted(name, path / "name", probes.port_name(name))
        if each.get("containerPort") in (None, 0):
            yield field.required(path / "containerPort")
        yield from port(each.get("containerPort") or None, path / "containerPort")
        yield from port(each.get("hostPort") or None, path / "hostPort")
        yield from one_of(each, "protocol", path, _PROTOCOLS)
        if host_network and each.get("hostPort") not in (None, 0, each.get("containerPort")):
            detail = "must match `hostPort` when `hostNetwork` is true"
            yield field.invalid(path / "containerPort", each.get("containerPort"), detail)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


def _host_ports(listed: list[tuple[FieldPath, Content]]) -> Iterator[tuple[FieldPath, str]]:
    for at, container in listed:
        for path, each in items(container, "ports", at):
            if number := each.get("hostPort"):
                yield path / "hostPort", f"{text(each, 'protocol') or 'TCP'}/{text(each, 'hostIP')}/{number}"


def _environment(container: Content, at: FieldPath) -> Iterator[FieldError]:
    for path, each in items(container, "env", at):
        name = text(each, "name")
        if not name:
            yield field.required(path / "name")
        elif not _is_variable(name):
            detail = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            yield field.invalid(path / "name", name, detail)
        if each.get("valueFrom") is not None:
            yield from _source(each, section(each, "valueFrom"), path / "valueFrom")
    for path, each in items(container, "envFrom", at):
        sources = [name for name in ("configMapRef", "secretRef") if each.get(name) is not None]
        if len(sources) != 1:
            yield field.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        for name in sources:
            yield from reference(each, name, path)


def _source(variable: Content, given: Content, at: FieldPath) -> Iterator[FieldError]:
    sources = [name for name in _SOURCES if given.get(name) is not None]
    if not sources:
        yield field.invalid(at, "", f"must specify one of: {', '.join(f'`{name}`' for name in _SOURCES)}")
    elif text(variable, "value"):
        yield field.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(sources) > 1:
        yield field.invalid(at, "", "may not have more than one field specified at a time")
    yield from _own_fields(given, sources, at)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in sources:
            yield from reference(given, name, at)
            yield from needed(section(given, name), at / name, "key")
            if (key := text(section(given, name), "key")) and not _is_key(key):
                detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
                yield field.invalid(at / name / "key", key, detail)
    if "fileKeyRef" in sources:
        yield from needed(section(given, "fileKeyRef"), at / "fileKeyRef", "volumeName", "path", "key")


def _own_fields(given: Content, sources: Collection[str], at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of references to fields of the pod, and to amounts of its containers."""
    if (path := text(section(given, "fieldRef"), "fieldPath")) not in _FIELDS and not _is_entry(path) and "fieldRef" in sources:
        yield field.not_supported(at.join(("fieldRef", "fieldPath")), path, _FIELDS)
    if (resource := text(section(given, "resourceFieldRef"), "resource")) not in _AMOUNTS and "resourceFieldRef" in sources:
        kind, _, name = resource.partition(".")
        if kind not in {"limits", "requests"} or not name.startswith(resources.HUGE):
            yield field.not_supported(at.join(("resourceFieldRef", "resource")), resource, _AMOUNTS)
