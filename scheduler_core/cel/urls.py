"""URLs (Go's net/url; Kubernetes 1.37.1, ``apiserver/pkg/cel/library/urls.go``)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote_plus

from scheduler_core.cel.values import Extension, Fault, Map, Value

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL).fullmatch
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:]*)(?::([0-9]*))?").fullmatch
_BAD_HOST = re.compile(r"[ \"<>\\^`{|}]").search
_PATH = "/$&+,:;=@!'()*~-._%[]"


@dataclass(frozen=True, slots=True)
class URL(Extension):
    """URL, split into its parts."""

    TYPE = "kubernetes.URL"
    scheme: str
    user: str
    hostname: str
    port: str | None
    path: str
    query: str
    fragment: str


def _parse(text: str) -> URL:
    match = _PARTS(text)
    if match is None or not text or _CONTROL(text) or _BAD_ESCAPE(text.partition("?")[0]):
        raise _fault(text)
    scheme, authority, path, query, fragment = match.groups()
    if scheme is None and not path.startswith("/") and authority is None:
        raise _fault(text)
    user, _, host = (authority or "").rpartition("@")
    placed = _HOST(host)
    if placed is None or _BAD_HOST(host) or (scheme is None and authority is not None):
        raise _fault(text)
    return URL((scheme or "").lower(), user, placed[1], placed[2], path, query or "", fragment or "")


def _fault(text: str) -> Fault:
    return Fault(f"URL parse error during conversion from string: parse {json.dumps(text)}: invalid URI for request")


def is_url(text: str) -> bool:
    """Return whether *text* is an absolute URL or an absolute path."""
    try:
        _parse(text)
    except Fault:
        return False
    return True


def _query(url: URL) -> Map:
    values: dict[str, list[str]] = {}
    for each in url.query.split("&"):
        name, _, value = each.partition("=")
        if each and ";" not in each and not _BAD_ESCAPE(each):
            values.setdefault(unquote_plus(name), []).append(unquote_plus(value))
    return Map(dict(values))


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_url": _parse,
    "is_url_string": is_url,
    "url_get_scheme": lambda url: url.scheme,
    "url_get_host": lambda url: url.hostname if url.port is None else f"{url.hostname}:{url.port}",
    "url_get_hostname": lambda url: url.hostname.strip("[]"),
    "url_get_port": lambda url: url.port or "",
    "url_get_escaped_path": lambda url: quote(url.path, safe=_PATH),
    "url_get_query": _query,
}
