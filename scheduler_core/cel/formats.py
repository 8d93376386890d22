"""Named formats (Kubernetes 1.37.1, ``apiserver/pkg/cel/library/format.go``)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from kubeapi import content
from scheduler_core.cel.urls import is_url
from scheduler_core.cel.values import NONE, Extension, Fault, OptionalValue, Value

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE).fullmatch
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII).fullmatch
_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?", re.ASCII).fullmatch
_LONGEST_LABEL = 63


@dataclass(frozen=True, slots=True)
class Format(Extension):
    """A format: its messages about a string that does not have it."""

    TYPE = "kubernetes.NamedFormat"
    UNHASHABLE = "cel.Format"
    name: str
    regex_size: int
    """Size of the regular expression that its cost is estimated by."""


def _label_1035(text: str) -> list[str]:
    messages = []
    if len(text) > _LONGEST_LABEL:
        messages.append(f"must be no more than {_LONGEST_LABEL} bytes")
    if not _LABEL_1035(text):
        messages.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an "
            "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        )
    return messages


def _prefix(test: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    # The mask of NameIsDNSLabel replaces the last two characters.
    return lambda text: test(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _tested(test: Callable[[str], bool], message: str) -> Callable[[str], list[str]]:
    return lambda text: [] if test(text) else [message]


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and bool(base64.b64decode(text.encode(), validate=True) or text)
    except (binascii.Error, UnicodeEncodeError):
        return False


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_datetime(text: str) -> bool:
    day, _, clock = text.lower().partition("t")
    match = _TIME(clock.partition("t")[0])
    return _is_date(day) and match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


_TESTS: dict[str, tuple[str, int, Callable[[str], list[str]]]] = {
    "dns1123Label": ("DNS1123Label", 30, content.label),
    "dns1123Subdomain": ("DNS1123Subdomain", 60, content.subdomain),
    "dns1035Label": ("DNS1035Label", 30, _label_1035),
    "qualifiedName": ("QualifiedName", 60, content.label_key),
    "dns1123LabelPrefix": ("DNS1123LabelPrefix", 30, _prefix(content.label)),
    "dns1123SubdomainPrefix": ("DNS1123SubdomainPrefix", 60, _prefix(content.subdomain)),
    "dns1035LabelPrefix": ("DNS1035LabelPrefix", 30, _prefix(_label_1035)),
    "labelValue": ("LabelValue", 40, content.label_value),
    "uri": ("URI", 1103, _tested(is_url, "invalid URI for request")),
    "uuid": ("uuid", 70, _tested(lambda text: bool(_UUID(text)), "does not match the UUID format")),
    "byte": ("byte", 84, _tested(_is_base64, "invalid base64")),
    "date": ("date", 71, _tested(_is_date, "invalid date")),
    "datetime": ("datetime", 71, _tested(_is_datetime, "invalid datetime")),
}
"""Formats by the name in an expression: their own name, the size of the regular expression, and the test."""
_FORMATS = {known: Format(name, regex_size) for known, (name, regex_size, _) in _TESTS.items()}
_MESSAGES = {name: test for name, _, test in _TESTS.values()}


def _named(name: str) -> OptionalValue:
    return OptionalValue(present=True, value=_FORMATS[name]) if name in _FORMATS else NONE


def _validate(known: Format, text: str) -> OptionalValue:
    test = _MESSAGES.get(known.name)
    if test is None:
        raise Fault("no such overload")
    messages = test(text)
    return OptionalValue(present=True, value=list(messages)) if messages else NONE


def _constant(known: Format) -> Callable[[], Format]:
    return lambda: known


OVERLOADS: dict[str, Callable[..., Value]] = {
    **{f"format.{name}": _constant(known) for name, known in _FORMATS.items()},
    "format-named": _named,
    "format-validate": _validate,
}
