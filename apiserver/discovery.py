"""Discovery: which resources the API server has, and under which path."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from apiserver.api import Api, ReplyError

NOT_FOUND = 404


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] | None = None


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""
    major: str = ""
    minor: str = ""


# Made at import: msgspec must not inspect a type for the first time in two threads at once.
_RESOURCES = msgspec.json.Decoder(_Resources)
_VERSION = msgspec.json.Decoder(_Version)


def base_path(api_version: str) -> str:
    """Return the path of an API version: ``scheduling.k8s.io/v1beta1``, or ``v1`` of the core group."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def served(api: Api, api_version: str) -> frozenset[str]:
    """Return the resources and subresources (``pods/binding``) of an API version; none if it is not served.

    Raises:
        ReplyError, OSError, urllib3.exceptions.HTTPError: the request failed.
        ValueError: the response is no list of resources.

    """
    try:
        listing = _RESOURCES.decode(api.read(base_path(api_version)))
    except ReplyError as error:
        if error.code == NOT_FOUND:
            return frozenset()
        raise
    return frozenset(each.name for each in listing.resources or ())


def path_of(api: Api, resource: str, api_versions: Sequence[str]) -> str:
    """Return the path of *resource* in the first of *api_versions* that has it; empty if none does.  Raises as ``served``."""
    for api_version in api_versions:
        if resource in served(api, api_version):
            return f"{base_path(api_version)}/{resource}"
    _require_version(api)
    return ""


def _require_version(api: Api) -> None:
    """Raise ReplyError if ``/version`` is not found: a proxy that has lost its server answers 404 to every request."""
    try:
        api.read("/version")
    except ReplyError as error:
        if error.code == NOT_FOUND:
            raise


def minor_version(api: Api) -> int:
    """Return the server's minor version, for example 37.  Raises as ``served``."""
    digits = "".join(each for each in _VERSION.decode(api.read("/version")).minor if each.isdigit())
    return int(digits or 0)
