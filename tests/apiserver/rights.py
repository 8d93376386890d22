"""Rights that requests to the API server need, as it derives them from method and path."""

from __future__ import annotations

from typing import NamedTuple

WRITES = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


class Right(NamedTuple):
    """*resource* has its subresource: ``pods/binding``."""

    group: str
    resource: str
    verb: str


class Target(NamedTuple):
    """Object of a request; *name* is empty for a collection."""

    group: str
    resource: str
    namespace: str
    name: str
    subresource: str = ""


def target_of(path: str) -> Target | None:
    """Return the object of a path; None for discovery and other paths without objects, which every account may read."""
    head, *rest = path.partition("?")[0].strip("/").split("/")
    group, rest = ("", rest[1:]) if head == "api" else (rest[0], rest[2:]) if head == "apis" and rest else ("", [])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    return Target(group, rest[0], namespace, *(*rest[1:], "")[:2]) if rest else None


def right_of(method: str, path: str) -> Right | None:
    """Return the right that a request needs; None if it names no object."""
    if (target := target_of(path)) is None:
        return None
    reading = "watch" if "watch=true" in path else "get" if target.name else "list"
    resource = "/".join(filter(None, (target.resource, target.subresource)))
    return Right(target.group, resource, reading if method == "GET" else WRITES[method])
