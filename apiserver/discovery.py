"""Where the API server has a kind: the path of its resource in the best version that is understood."""

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


# Made here and not on first use: msgspec must not look at a type for the first time in two threads at once.
_RESOURCES = msgspec.json.Decoder(_Resources)
_VERSION = msgspec.json.Decoder(_Version)


def base_path(api_version: str) -> str:
    """Return where the server has ``scheduling.k8s.io/v1beta1``, or ``v1``, which is the core's."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def served(api: Api, api_version: str) -> frozenset[str]:
    """The resources and subresources (``pods/binding``) of an API version; none where it is not served.

    Raises:
        ReplyError, OSError, urllib3.exceptions.HTTPError: there is no answer that tells.
        ValueError: the answer is no list of resources.

    """
    try:
        found = _RESOURCES.decode(api.read(base_path(api_version)))
    except ReplyError as error:
        if error.code == NOT_FOUND:
            return frozenset()
        raise
    return frozenset(each.name for each in found.resources or ())


def path_of(api: Api, resource: str, api_versions: Sequence[str]) -> str:
    """The path of *resource* in the first of *api_versions* that has it; empty if none does.  Raises as ``served``."""
    for api_version in api_versions:
        if resource in served(api, api_version):
            return f"{base_path(api_version)}/{resource}"
    _must_be_there(api)
    return ""


def _must_be_there(api: Api) -> None:
    """A proxy that has lost its server finds nothing at all; every server has its version, whether or not we may read it."""
    try:
        api.read("/version")
    except ReplyError as error:
        if error.code == NOT_FOUND:
            raise


def minor_version(api: Api) -> int:
    """The server's minor version: 37.  Raises as ``served``."""
    digits = "".join(each for each in _VERSION.decode(api.read("/version")).minor if each.isdigit())
    return int(digits or 0)
