"""Is a text a DNS label, a DNS subdomain, a label key, a path segment?  Each answers with messages; none means yes.

Limits count bytes of UTF-8, as the API server does (apimachinery, ``pkg/api/validate/content``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONDITION_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_is_label = re.compile(_LABEL, re.ASCII).fullmatch
_are_labels = re.compile(r"(?>[a-z0-9](?:[-a-z0-9]{0,62}+(?<=[a-z0-9]))?\n)*", re.ASCII).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN, re.ASCII).fullmatch
_is_key_name = re.compile(_KEY_NAME, re.ASCII).fullmatch
_is_condition_reason = re.compile(_CONDITION_REASON, re.ASCII).fullmatch

_FEW = 64
_MOST_KNOWN = 4096
_labels: set[str] = set()
_subdomains: set[str] = set()
_label_keys: set[str] = set()
"""Texts known to be sound: the same few names and keys come again and again, and are matched once."""
_DOTS = frozenset({".", ".."})

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    f"alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    f"an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_KEY_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName', or 'my.name', or '123-abc', regex used for validation is '{_KEY_NAME}')"
)
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or "
    "'_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name', or 'MY_NAME', or 'MyName', or "
    f"'ReasonA,ReasonB', or 'ReasonA:ReasonB', regex used for validation is '{_CONDITION_REASON}')"
)


def label(value: str, *, unit: str = "bytes") -> list[str]:
    """A DNS label of at most 63 bytes ("short name")."""
    if value in _labels:
        return []
    messages = _too_long(value, 63, unit)
    if not _is_label(value):
        messages.append("must not contain dots" if _is_subdomain(value) else _LABEL_TEXT)
    return messages or _keep(value, _labels)


def all_labels(values: Sequence[str]) -> bool:
    """Whether each of many texts is a DNS label: of very many by one match over all, for the common case that they are."""
    if _labels.issuperset(values):
        return True
    if len(values) <= _FEW:
        return not any(label(value) for value in values)
    text = "".join([f"{value}\n" for value in values])
    return text.count("\n") == len(values) and _are_labels(text) is not None


def subdomain(value: str, *, unit: str = "bytes") -> list[str]:
    """A DNS subdomain of at most 253 bytes ("long name")."""
    if value in _subdomains:
        return []
    messages = _too_long(value, 253, unit)
    if not _is_subdomain(value):
        messages.append(_SUBDOMAIN_TEXT)
    return messages or _keep(value, _subdomains)


def all_subdomains(values: Iterable[str]) -> bool:
    """Whether each of many texts is a DNS subdomain."""
    return _subdomains.issuperset(values) or not any(subdomain(value) for value in values)


def label_key(value: str) -> list[str]:
    """A label key: an optional DNS subdomain and ``/``, then a name of at most 63 bytes."""
    return [] if value in _label_keys else _label_key_messages(value) or _keep(value, _label_keys)


def all_label_keys(values: Iterable[str]) -> bool:
    """Whether each of many texts is a label key."""
    return _label_keys.issuperset(values) or not any(label_key(value) for value in values)


def _keep(value: str, known: set[str]) -> list[str]:
    """Add a text without faults to those *known* to have none; returns none."""
    # Threads may do this at the same time: the worst that comes of it is that a text is matched again.
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known.add(value)
    return []


def _label_key_messages(value: str) -> list[str]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [f"a valid label key {_KEY_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    messages: list[str] = []
    if slash:
        messages += [f"prefix part {text}" for text in (subdomain(prefix) if prefix else ["must be non-empty"])]
    if not name:
        messages.append("name part must be non-empty")
    messages += [f"name part {text}" for text in _too_long(name, 63)]
    if not _is_key_name(name):
        messages.append(f"name part {_KEY_NAME_TEXT}")
    return messages


def label_value(value: str) -> list[str]:
    """A label value: empty, or a name of at most 63 bytes."""
    messages = _too_long(value, 63)
    if value and not _is_key_name(value):
        messages.append(f"a valid label must be an empty string or {_KEY_NAME_TEXT.removeprefix('must ')}")
    return messages


def path_segment(value: str) -> list[str]:
    """A name that can stand in a URL path: neither ``.`` nor ``..``, and no ``/`` or ``%``."""
    if "/" not in value and "%" not in value:
        return [f"may not be '{value}'"] if value in _DOTS else []
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def condition_reason(value: str) -> list[str]:
    """A condition's reason, as metav1 wants it."""
    return [] if _is_condition_reason(value) else [_REASON_TEXT]


def generated(prefix: str) -> str:
    """The name that stands for what ``generateName`` will make: its last dash gives way to a letter."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(value: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []
