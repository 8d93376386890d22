"""Questions about the table of API versions.  An ``api_version`` is written as in objects: ``scheduling.k8s.io/v1beta1``, ``v1``."""

from __future__ import annotations

import dataclasses

from validators.versions.form import HUB, Form
from validators.versions.releases import OLDEST, TODAY
from validators.versions.table import SCHEDULING, TABLE, ApiVersion, ServedKind

_KINDS = {(row.name, each.kind): each for row in TABLE for each in row.kinds}
_FORMS = {row.name: row.form for row in TABLE}
_HUBS = {each.kind: row for row in TABLE for each in row.kinds if each.hub}
_SERVING = frozenset((row.group, each.kind) for row in TABLE for each in row.kinds)
CUSTOM = frozenset(row.group for row in TABLE if row.custom)
"""API groups of CustomResourceDefinitions."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A kind as it is listed and watched.

    Attributes:
        group: the API group of its hub.
        resource: its plural in URLs and in RBAC.
        api_versions: the API versions that can have it, the preferred first.

    """

    kind: str
    group: str
    resource: str
    api_versions: tuple[str, ...]


def named(group: str, version: str) -> str:
    """Return the ``apiVersion`` of a group and version."""
    return f"{group}/{version}" if group else version


def form_of(api_version: str) -> Form:
    """Return the form of the objects of *api_version*; the hub where the table lacks it."""
    return _FORMS.get(api_version, HUB)


def find(api_version: str, kind: str) -> ServedKind | None:
    """Return the kind in that API version; None where it does not have the kind."""
    return _KINDS.get((api_version, kind))


def serves(group: str, kind: str) -> bool:
    """Return whether some version of *group* has *kind*."""
    return (group, kind) in _SERVING


def hub_of(kind: str) -> ApiVersion:
    """Return the API version that is the hub of *kind*."""
    return _HUBS[kind]


def groups_of(kind: str) -> tuple[str, ...]:
    """Return the API groups that have *kind*, that of its hub first."""
    return tuple(dict.fromkeys((_HUBS[kind].group, *(row.group for row in TABLE if (row.name, kind) in _KINDS))))


def kinds_of(group: str) -> frozenset[str]:
    """Return the kinds that some version of *group* has."""
    return frozenset(kind for each, kind in _SERVING if each == group)


def versions_in(group: str) -> tuple[ApiVersion, ...]:
    """Return the versions of *group*, the preferred first."""
    return tuple(row for row in TABLE if row.group == group)


def versions_of(kind: str) -> tuple[ApiVersion, ...]:
    """Return the API versions that have *kind*: group by group, the preferred first."""
    return tuple(row for group in groups_of(kind) for row in versions_in(group) if (row.name, kind) in _KINDS)


def versions_served(kind: str, minor: int) -> list[str]:
    """Return the API versions in which Kubernetes 1.*minor* serves *kind*: group by group, the oldest first."""
    found = [row for row in versions_of(kind) if _KINDS[row.name, kind].since <= minor <= _KINDS[row.name, kind].until]
    return [row.name for group in groups_of(kind) for row in reversed(found) if row.group == group]


def current(kind: str, group: str = "") -> tuple[ApiVersion, ...]:
    """Return the API versions in which today's Kubernetes serves *kind*, the preferred first; of one *group* if it is named."""
    return tuple(row for row in versions_of(kind) if _KINDS[row.name, kind].until >= TODAY and group in ("", row.group))


def closest(kind: str, group: str, version: str) -> str:
    """Return the API version in which *kind* is written next to objects of *version* of *group*: its own or the hub, else the preferred."""
    return min(current(kind, group) or current(kind), key=lambda row: (row.version != version, row is not _HUBS[kind])).name


def served_since(kind: str) -> int:
    """Return the first minor version of Kubernetes that serves *kind* in today's form."""
    return min(_KINDS[row.name, kind].since for row in versions_of(kind) if row.form is HUB)


def schema_of(api_version: str, kind: str) -> str:
    """Return the name of the JSON Schema of *kind*; that of its hub where *api_version* lacks it, or is too old to be mirrored."""
    row, found = api_version, find(api_version, kind)
    if found is None or found.until < OLDEST:
        row = _HUBS[kind].name
        found = _KINDS[row, kind]
    return found.schema or f"{kind.lower()}-{row.rpartition('/')[2]}"


def resource(kind: str) -> Resource:
    """Return how *kind* is listed and watched: in any version of its groups whose objects have today's form.

    A server may have a kind in a version of its group that the table does not list for it.
    """
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    groups = groups_of(kind)
    understood = (row.name for group in groups for row in versions_in(group) if row.form is HUB)
    return Resource(kind, groups[0], plural, tuple(understood))


WORKLOAD_GROUPS = frozenset(groups_of("Workload"))
"""API groups that have Workloads, in which an unknown kind is a mistake."""
WORKLOAD_VERSIONS = tuple(row.version for row in current("Workload", SCHEDULING))
"""Versions of ``scheduling.k8s.io`` in which Workloads and PodGroups are written, the preferred first."""
