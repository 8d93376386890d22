"""Formats of names, labels, condition reasons and numbers in texts (apimachinery, ``pkg/api/validate/content``).

Functions that validate one text return error messages; an empty list means that the text is valid.  Limits count bytes
of UTF-8, as the API server does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_CONDITION_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_is_label = re.compile(_LABEL, re.ASCII).fullmatch
_are_labels = re.compile(r"(?>[a-z0-9](?:[-a-z0-9]{0,62}+(?<=[a-z0-9]))?\n)*", re.ASCII).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN, re.ASCII).fullmatch
_is_key_name = re.compile(_KEY_NAME, re.ASCII).fullmatch
_is_subdomain_caseless = re.compile(_SUBDOMAIN, re.ASCII | re.IGNORECASE).fullmatch
_is_c_identifier = re.compile(_C_IDENTIFIER, re.ASCII).fullmatch
_is_condition_reason = re.compile(_CONDITION_REASON, re.ASCII).fullmatch

LONGEST_LABEL = 63
"""Maximum bytes of a DNS label, of a label value, and of the name in a label key."""
_MAX_MATCHED_ONE_BY_ONE = 64
_LARGEST = (1 << 63) - 1
_MOST_DIGITS = len(str(_LARGEST))
_MAX_CACHED = 4096
_valid_labels: set[str] = set()
_valid_subdomains: set[str] = set()
_valid_label_keys: set[str] = set()
_valid_label_values: set[str] = set()
"""Caches of valid texts: the same few names and keys occur again and again."""
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
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'MyValue', or 'my_value', or '12345', regex used for validation is '({_KEY_NAME})?')"
)
_CASELESS_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'Example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_C_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' "
    f"(e.g. 'my_name', or 'MY_NAME', or 'MyName', regex used for validation is '{_C_IDENTIFIER}')"
)
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or "
    "'_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name', or 'MY_NAME', or 'MyName', or "
    f"'ReasonA,ReasonB', or 'ReasonA:ReasonB', regex used for validation is '{_CONDITION_REASON}')"
)


def whole_number(text: str) -> int | None:
    """Return the number that a text of ASCII digits is; None for any other text, and for more than 64 bits, which Go does not read."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    # Python refuses to convert thousands of digits.
    return number if len(digits) <= _MOST_DIGITS and (number := int(digits)) <= _LARGEST else None


def int_or_percent(written: object, whole: int, *, default: int | str, up: bool) -> int:
    """Return a number that can be a percentage of *whole*, rounded *up* or down; the default if it is neither."""
    for each in (written, default):
        if isinstance(each, int) and not isinstance(each, bool):
            return max(0, each)
        if isinstance(each, str) and each.endswith("%") and len(each) <= len("100%") + 1 and (share := whole_number(each[:-1])) is not None:
            return -(-share * whole // 100) if up else share * whole // 100
    return 0


def label(value: str, *, unit: str = "bytes") -> list[str]:
    """Return error messages unless *value* is a DNS label of at most 63 bytes ("short name")."""
    if value in _valid_labels:
        return []
    messages = _too_long(value, LONGEST_LABEL, unit)
    if not _is_label(value):
        messages.append("must not contain dots" if _is_subdomain(value) else _LABEL_TEXT)
    return messages or _cache(value, _valid_labels)


def all_labels(values: Sequence[str]) -> bool:
    """Return whether all *values* are DNS labels.  Long lists are matched at once, which is faster if all are valid."""
    if _valid_labels.issuperset(values):
        return True
    if len(values) <= _MAX_MATCHED_ONE_BY_ONE:
        return not any(label(value) for value in values)
    text = "".join([f"{value}\n" for value in values])
    return text.count("\n") == len(values) and _are_labels(text) is not None


def subdomain(value: str, *, unit: str = "bytes") -> list[str]:
    """Return error messages unless *value* is a DNS subdomain of at most 253 bytes ("long name")."""
    if value in _valid_subdomains:
        return []
    messages = _too_long(value, 253, unit)
    if not _is_subdomain(value):
        messages.append(_SUBDOMAIN_TEXT)
    return messages or _cache(value, _valid_subdomains)


def subdomain_caseless(value: str) -> list[str]:
    """Return error messages unless *value* is a DNS subdomain of at most 253 characters, in which capitals are allowed."""
    return [*_too_long(value, 253, "characters"), *([] if _is_subdomain_caseless(value) else [_CASELESS_TEXT])]


def c_identifier(value: str) -> list[str]:
    """Return error messages unless *value* is an identifier of C."""
    return [] if _is_c_identifier(value) else [_C_IDENTIFIER_TEXT]


def all_subdomains(values: Iterable[str]) -> bool:
    """Return whether all *values* are DNS subdomains."""
    return _valid_subdomains.issuperset(values) or not any(subdomain(value) for value in values)


def label_key(value: str) -> list[str]:
    """Return error messages unless *value* is a label key: optionally a DNS subdomain and ``/``, then a name of at most 63 bytes."""
    return [] if value in _valid_label_keys else _label_key_messages(value) or _cache(value, _valid_label_keys)


def all_label_keys(values: Iterable[str]) -> bool:
    """Return whether all *values* are label keys."""
    return _valid_label_keys.issuperset(values) or not any(label_key(value) for value in values)


def _cache(value: str, valid: set[str]) -> list[str]:
    """Add a valid text to the cache *valid* and return no messages."""
    # Several threads may do this at the same time.  At worst a text is matched again.
    if len(valid) >= _MAX_CACHED:
        valid.clear()
    valid.add(value)
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
    messages += [f"name part {text}" for text in _too_long(name, LONGEST_LABEL)]
    if not _is_key_name(name):
        messages.append(f"name part {_KEY_NAME_TEXT}")
    return messages


def label_value(value: str) -> list[str]:
    """Return error messages unless *value* is a label value: empty, or a name of at most 63 bytes."""
    if value in _valid_label_values:
        return []
    messages = _too_long(value, LONGEST_LABEL)
    if value and not _is_key_name(value):
        messages.append(_LABEL_VALUE_TEXT)
    return messages or _cache(value, _valid_label_values)


def all_label_values(values: Iterable[str]) -> bool:
    """Return whether all *values* are label values."""
    return _valid_label_values.issuperset(values) or not any(label_value(value) for value in values)


def path_segment(value: str) -> list[str]:
    """Return error messages unless *value* can be a segment of a URL path: not ``.`` or ``..``, without ``/`` and ``%``."""
    if "/" not in value and "%" not in value:
        return [f"may not be '{value}'"] if value in _DOTS else []
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def condition_reason(value: str) -> list[str]:
    """Return error messages unless *value* is a condition reason of metav1."""
    return [] if _is_condition_reason(value) else [_REASON_TEXT]


def mask_trailing_dash(prefix: str) -> str:
    """Return a ``generateName`` as it is validated: a trailing dash and the character before it become ``a``."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(value: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []
