"""Containers of a pod: names, images, ports, environment, mounts, resources and probes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import downward, probes, resources, volumes
from validators.built_in.shared_checks import Content, duplicates, formatted, items, needed, number, one_of, port, reference, text
from validators.field import FieldError

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_is_variable = re.compile(r"[ -<>-~]+", re.ASCII).fullmatch
"""Names of environment variables: printable ASCII characters without ``=``."""
_VARIABLE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_GRACE = 30
"""Default of ``terminationGracePeriodSeconds``."""
_is_key = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII).fullmatch
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


def containers(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the containers and init containers of a pod.

    Of two volumes with a name, mounts have the first and references to files in volumes the last: ValidateVolumes and validateFileKeyRefVolumes
    of Kubernetes 1.37.1, pkg/apis/core/validation.
    """
    listed = [each for _, each in items(spec, "volumes", at)]
    known = {text(each, "name"): each for each in reversed(listed)}
    files = {text(each, "name"): each for each in listed}
    host_network = spec.get("hostNetwork") is True
    regular, first = items(spec, "containers", at), items(spec, "initContainers", at)
    if not regular:
        yield field.required(at / "containers")
    for path, each in (*regular, *first):
        yield from _container(each, path, known, host_network=host_network)
        yield from _environment(each, path, files)
    grace, never = number(spec, "terminationGracePeriodSeconds", _GRACE), text(spec, "restartPolicy") == "Never"
    for path, each in regular:
        yield from _restart_rules(each, path)
        yield from probes.probes(each, path, grace)
        yield from resize_policies(each, path, never=never)
    for path, each in first:
        # Without a policy, the API server does not look at the rules of an init container.
        yield from _restart_rules(each, path, judged=each.get("restartPolicy") is not None)
        stays = text(each, "restartPolicy") == "Always"
        yield from resize_policies(each, path, never=never, ends=not stays)
        if stays:
            yield from probes.probes(each, path, grace)
        else:
            yield from probes.without_probes(each, path)
        yield from duplicates(_host_ports([(path, each)]))
    yield from _duplicate_names(regular, first)
    yield from duplicates(_host_ports(regular))


def _duplicate_names(regular: Sequence[tuple[FieldPath, Content]], first: Sequence[tuple[FieldPath, Content]]) -> Iterator[FieldError]:
    """Yield an error for each name that occurs again; an empty one also counts, if a regular container has it."""
    before: set[str] = set()
    for listed in (regular, first):
        for path, each in listed:
            if (name := text(each, "name")) in before:
                yield field.duplicate(path / "name", name)
            elif name or listed is regular:
                before.add(name)


def _container(each: Content, at: FieldPath, known: Mapping[str, Content], *, host_network: bool) -> Iterator[FieldError]:
    if name := text(each, "name"):
        yield from formatted(name, at / "name", content.label(name))
    else:
        yield field.required(at / "name")
    yield from needed(each, at, "image")
    yield from one_of(each, "terminationMessagePolicy", at, ("File", "FallbackToLogsOnError"))
    yield from one_of(each, "imagePullPolicy", at, ("Always", "IfNotPresent", "Never"))
    yield from one_of(each, "restartPolicy", at, ("Always", "OnFailure", "Never"), has_default=False)
    yield from _ports(each, at, host_network=host_network)
    yield from volumes.mounts(each, at, known)
    yield from resources.resources(section(each, "resources"), at / "resources")


def _restart_rules(container: Content, at: FieldPath, *, judged: bool = True) -> Iterator[FieldError]:
    """Yield the errors of the restart rules of a container; of each rule only if they are *judged*."""
    rules = items(container, "restartPolicyRules", at)
    if rules and container.get("restartPolicy") is None:
        yield field.required(at / "restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MOST_RULES and judged:
        yield field.too_many(at / "restartPolicyRules", len(rules), _MOST_RULES)
    for path, each in rules if judged else ():
        if each.get("action") not in _ACTIONS:
            yield field.not_supported(path / "action", text(each, "action"), _ACTIONS)
        if each.get("exitCodes") is None:
            yield field.required(path / "exitCodes", "must be specified")
        elif (operator := text(section(each, "exitCodes"), "operator")) not in {"In", "NotIn"}:
            yield field.not_supported(path / "exitCodes" / "operator", operator, ("In", "NotIn"))


def resize_policies(container: Content, at: FieldPath, *, never: bool, ends: bool = False) -> Iterator[FieldError]:
    """Yield the errors of the resize policies of a container whose pod *never* restarts it, or which *ends* before others start."""
    listed = items(container, "resizePolicy", at)
    for path, each in listed:
        yield from needed(each, path, "resourceName", "restartPolicy")
        yield from one_of(each, "resourceName", path, ("cpu", "memory"))
        yield from one_of(each, "restartPolicy", path, ("NotRequired", "RestartContainer"))
        policy = text(each, "restartPolicy")
        if never and policy != "NotRequired":
            yield field.invalid(path / "restartPolicy", policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
        elif ends and policy == "RestartContainer":
            yield field.invalid(path / "restartPolicy", policy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
    yield from duplicates((path, each.get("resourceName")) for path, each in listed)


_ACTIONS = ("Restart", "RestartAllContainers")
_MOST_RULES = 20


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
            yield field.invalid(path / "hostPort", each.get("hostPort"), detail)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


def host_port_conflicts(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield an error for each port of a container in the network of the host that another one has."""
    listed = [(path, _on_host(each)) for path, each in items(spec, "containers", at)]
    yield from duplicates(_host_ports(listed))


def _on_host(container: Content) -> Content:
    ports = [{**each, "hostPort": each.get("hostPort") or each.get("containerPort")} for _, each in items(container, "ports", FieldPath())]
    return {**container, "ports": ports}


def _host_ports(listed: list[tuple[FieldPath, Content]]) -> Iterator[tuple[FieldPath, str]]:
    for at, container in listed:
        for path, each in items(container, "ports", at):
            if number := each.get("hostPort"):
                yield path / "hostPort", f"{text(each, 'protocol') or 'TCP'}/{text(each, 'hostIP')}/{number}"


def _environment(container: Content, at: FieldPath, known: Mapping[str, Content]) -> Iterator[FieldError]:
    for path, each in items(container, "env", at):
        name = text(each, "name")
        if not name:
            yield field.required(path / "name")
        elif not _is_variable(name):
            yield field.invalid(path / "name", name, _VARIABLE)
        if each.get("valueFrom") is not None:
            yield from _source(each, section(each, "valueFrom"), path / "valueFrom")
            if section(each, "valueFrom").get("fileKeyRef") is not None:
                yield from _file_key(section(each, "valueFrom", "fileKeyRef"), path.join(("valueFrom", "fileKeyRef")), known)
    for path, each in items(container, "envFrom", at):
        sources = [name for name in ("configMapRef", "secretRef") if each.get(name) is not None]
        if (prefix := text(each, "prefix")) and not _is_variable(prefix):
            yield field.invalid(path / "prefix", prefix, _VARIABLE)
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


def _file_key(given: Content, at: FieldPath, known: Mapping[str, Content]) -> Iterator[FieldError]:
    name = text(given, "volumeName")
    yield from formatted(name, at / "volumeName", content.label(name) if name else ())
    if (key := text(given, "key")) and not _is_variable(key):
        yield field.invalid(at / "key", key, _VARIABLE)
    if ".." in (path := text(given, "path")).split("/"):
        yield field.invalid(at / "path", path, "must not contain '..'")
    if name not in known:
        yield field.not_found(at / "volumeName", name)
    elif "emptyDir" not in known[name] and known[name].keys() - {"name"}:
        yield field.invalid(at / "volumeName", name, "referenced volume must be of type emptyDir")


def _own_fields(given: Content, sources: Collection[str], at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of references to fields of the pod, and to amounts of its containers."""
    if "fieldRef" in sources:
        yield from downward.field_reference(section(given, "fieldRef"), at / "fieldRef", _FIELDS)
    if "resourceFieldRef" in sources:
        yield from downward.resource_reference(section(given, "resourceFieldRef"), at / "resourceFieldRef")
