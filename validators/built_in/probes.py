"""Probes and lifecycle handlers of containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in.shared_checks import Content, formatted, items, needed, not_negative, number, one_of, port, text
from validators.field import FieldError

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_is_header = re.compile(r"[-A-Za-z0-9]+", re.ASCII).fullmatch
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def probes(container: Content, at: FieldPath, grace: int) -> Iterator[FieldError]:
    """Yield the errors of the probes and lifecycle handlers of a container that can have them; its pod ends after *grace* seconds."""
    for kind in _PROBES:
        if container.get(kind) is None:
            continue
        probe, path = section(container, kind), at / kind
        yield from _handler(probe, path, grace)
        yield from not_negative(probe, path, *_NUMBERS)
        if kind != "readinessProbe" and number(probe, "successThreshold", 1) not in (0, 1):
            yield field.invalid(path / "successThreshold", probe["successThreshold"], "must be 1")
        own = probe.get("terminationGracePeriodSeconds")
        if kind == "readinessProbe" and own is not None:
            yield field.invalid(path / "terminationGracePeriodSeconds", own, "must not be set for readinessProbes")
        elif isinstance(own, int) and own <= 0:
            yield field.invalid(path / "terminationGracePeriodSeconds", own, "must be greater than 0")
    for kind in ("postStart", "preStop"):
        handler = section(container, "lifecycle")
        if handler.get(kind) is not None:
            yield from _handler(section(handler, kind), at.join(("lifecycle", kind)), grace)


def without_probes(container: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield an error for each probe of an init container, which ends before others start."""
    for kind in ("lifecycle", *_PROBES):
        if container.get(kind) is not None:
            yield field.forbidden(at / kind, "may not be set for init containers without restartPolicy=Always")


def _handler(given: Content, at: FieldPath, grace: int) -> Iterator[FieldError]:
    kinds = [each for each in _HANDLERS if given.get(each) is not None]
    if not kinds:
        yield field.required(at, "must specify a handler type")
    for extra in kinds[1:]:
        yield field.forbidden(at / extra, "may not specify more than 1 handler type")
    for kind in kinds[:1]:
        yield from _action(kind, section(given, kind), at / kind, grace)


def _action(kind: str, given: Content, at: FieldPath, grace: int) -> Iterator[FieldError]:
    if kind == "exec" and not given.get("command"):
        yield field.required(at / "command")
    elif kind == "sleep" and not 0 <= number(given, "seconds") <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield field.invalid(at, number(given, "seconds"), detail)
    elif kind in {"httpGet", "tcpSocket", "grpc"}:
        yield from needed(given, at, "port")
        yield from port(given.get("port"), at / "port")
        if isinstance(named := given.get("port"), str) and named:
            yield from formatted(named, at / "port", port_name(named))
    if kind == "httpGet":
        yield from one_of(given, "scheme", at, ("HTTP", "HTTPS"))
        for _, header in items(given, "httpHeaders", at):
            if not _is_header(text(header, "name")):
                yield field.invalid(at / "httpHeaders", text(header, "name"), "must consist of alphanumeric characters or '-'")


def port_name(value: str) -> list[str]:
    """Return error messages unless *value* is the name of a port: at most 15 bytes, with a letter, without two hyphens in a row."""
    if content.label(value) or len(value) > _LONGEST_PORT_NAME:
        return ["must be no more than 15 characters, and must contain only alphanumeric characters (a-z, 0-9), and hyphens ('-')"]
    if not any(each.isalpha() for each in value):
        return ["must contain at least one letter (a-z)"]
    return ["must not contain consecutive hyphens"] if "--" in value else []


_LONGEST_PORT_NAME = 15
