"""The pod or group that is asked about, with the groups above it, and their conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.api import Api, ReplyError
from apiserver.discovery import path_of
from kubeapi import decode
from kubeapi.decode import section
from kubeapi.pods import group_in
from kubeapi.versions import served_versions

NOT_FOUND = 404
DEEPEST = 10
"""Maximum number of groups above a pod that are read; a valid tree has four levels."""
KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("podgroup", "podgroups"), "PodGroup"),
    **dict.fromkeys(("compositepodgroup", "compositepodgroups"), "CompositePodGroup"),
}
"""Kinds by the names that kubectl takes."""
_ANY = ("PodGroup", "CompositePodGroup", "Pod")
"""Kinds that a name without a kind can have, in the order in which they are tried."""
_REPORTED = frozenset(
    {"PodScheduled", "DisruptionTarget", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled", "muster.dev/Valid"}
)
"""Conditions that are about scheduling."""


class UnknownSubjectError(ValueError):
    """There is no such object; the message is for users."""


@dataclasses.dataclass(frozen=True, slots=True)
class StatusCondition:
    """One condition of an object.  *since* is its lastTransitionTime; empty if it has none."""

    type: str
    status: str
    reason: str
    message: str
    since: str


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Pod or group as it is stored."""

    kind: str
    namespace: str
    name: str
    content: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Return ``Kind namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def node(self) -> str:
        """Return the node of a pod; empty if it has none."""
        return _text(section(self.content, "spec").get("nodeName"))

    @property
    def parent(self) -> tuple[str, str] | None:
        """Return kind and name of the group above it; None if it has none."""
        spec = section(self.content, "spec")
        if self.kind == "Pod":
            name = group_in(self.content)
            return ("PodGroup", name) if name else None
        name = _text(spec.get("parentCompositePodGroupName"))
        return ("CompositePodGroup", name) if name else None

    @property
    def conditions(self) -> tuple[StatusCondition, ...]:
        """Return its conditions about scheduling."""
        return tuple(each for each in status_conditions(self.content) if each.type in _REPORTED)


def status_conditions(content: Mapping[str, Any]) -> list[StatusCondition]:
    """Return all conditions of an object."""
    listed = section(content, "status").get("conditions")
    found = [each for each in (listed if isinstance(listed, list) else []) if isinstance(each, dict)]
    keys = ("type", "status", "reason", "message", "lastTransitionTime")
    return [StatusCondition(*(_text(each.get(key)) for key in keys)) for each in found]


def parse_name(text: str) -> tuple[tuple[str, ...], str]:
    """Return the possible kinds, and the name, of KIND/NAME or NAME.

    Raises:
        UnknownSubjectError: the kind is none of a pod or group.

    """
    kind, slash, name = text.partition("/")
    if not slash:
        return _ANY, text
    found = KINDS.get(kind.lower().partition(".")[0])
    if found is None:
        raise UnknownSubjectError(
            f"{text!r}: the kind must be one of pod, podgroup and compositepodgroup; for another object, give one of its pods"
        )
    return (found,), name


def read_subjects(api: Api, namespace: str, text: str) -> list[Subject]:
    """Return the object that *text* names, and the groups above it, up to the root.

    Raises:
        UnknownSubjectError: there is no such object.
        ReplyError, OSError, urllib3.exceptions.HTTPError, ValueError: it cannot be read.

    """
    kinds, name = parse_name(text)
    first = next((each for kind in kinds if (each := _read(api, kind, namespace, name)) is not None), None)
    if first is None:
        unserved = [kind for kind in kinds if not any(_paths(api, kind))]
        reason = f"; the API server does not serve {' and '.join(unserved)}: look at its flag --runtime-config" if unserved else ""
        raise UnknownSubjectError(f"there is no {' or '.join(kinds)} {name!r} in namespace {namespace}{reason}")
    subjects = [first]
    while (parent := subjects[-1].parent) is not None and len(subjects) < DEEPEST:
        above = _read(api, parent[0], namespace, parent[1])
        if above is None:
            break
        subjects.append(above)
    return subjects


def _paths(api: Api, kind: str) -> Iterator[str]:
    """Yield the path of the objects of a kind for each API group in which the API server serves it, that which counts first."""
    for each in served_versions.resources(kind):
        path = path_of(api, each.resource, each.api_versions) if each.group else f"/api/v1/{each.resource}"
        if path:
            yield path


def _read(api: Api, kind: str, namespace: str, name: str) -> Subject | None:
    for path in _paths(api, kind):
        base, _, plural = path.rpartition("/")
        try:
            content = decode.parse(api.read(f"{base}/namespaces/{namespace}/{plural}/{name}"))
        except ReplyError as error:
            if error.code != NOT_FOUND:
                raise
        else:
            return Subject(kind, namespace, name, content if isinstance(content, dict) else {})
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
