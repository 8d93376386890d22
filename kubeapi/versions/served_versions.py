"""Lookups in the table of API versions.  An ``api_version`` is written as in objects: ``scheduling.k8s.io/v1beta1``, ``v1``."""

from __future__ import annotations

import functools

from kubeapi.base_structs import Record
from kubeapi.versions.api_versions import SCHEDULING, TABLE, ApiVersion, ServedKind
from kubeapi.versions.conversion import HUB, Form
from kubeapi.versions.kubernetes_releases import OLDEST, TODAY

_KINDS = {(row.name, each.kind): each for row in TABLE for each in row.kinds}
_FORMS = {row.name: row.form for row in TABLE}
_HUBS = {each.kind: row for row in TABLE for each in row.kinds if each.hub}
_SERVING = frozenset((row.group, each.kind) for row in TABLE for each in row.kinds)
FOREIGN = frozenset(row.group for row in TABLE if row.foreign)
"""API groups of CustomResourceDefinitions of other projects."""


class Resource(Record, frozen=True):
    """Kind to list and watch.

    Attributes:
        group: the API group.
        resource: the plural in URLs and in RBAC.
        api_versions: the versions of the group that can have the kind, the preferred first.

    """

    kind: str
    group: str
    resource: str
    api_versions: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kind, with the API group unless it is that of the hub: ``PodGroup``, ``PodGroup.scheduling.muster.dev``."""
        group = other_group(self.kind, self.group)
        return f"{self.kind}.{group}" if group else self.kind

    @property
    def rbac_name(self) -> str:
        """The resource with its API group, as ``kubectl auth can-i`` writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def named(group: str, version: str) -> str:
    """Return the ``apiVersion`` of a group and version."""
    return f"{group}/{version}" if group else version


def form_of(api_version: str) -> Form:
    """Return the form of the objects of *api_version*; the hub if the table lacks it."""
    return _FORMS.get(api_version, HUB)


def find(api_version: str, kind: str) -> ServedKind | None:
    """Return the kind in that API version; None if it does not have the kind."""
    return _KINDS.get((api_version, kind))


def is_known(api_version: str) -> bool:
    """Return whether the table has *api_version*, or its group belongs to another project, whose versions it need not have."""
    return api_version in _FORMS or api_version.rpartition("/")[0] in FOREIGN


def serves(group: str, kind: str) -> bool:
    """Return whether some version of *group* has *kind*."""
    return (group, kind) in _SERVING


def hub_of(kind: str) -> ApiVersion:
    """Return the API version that is the hub of *kind*."""
    return _HUBS[kind]


@functools.cache
def groups_of(kind: str) -> tuple[str, ...]:
    """Return the API groups that have *kind*, the group of its hub first."""
    return tuple(dict.fromkeys((_HUBS[kind].group, *(row.group for row in TABLE if (row.name, kind) in _KINDS))))


def order_of(kind: str, group: str) -> tuple[int, str]:
    """Return the sort key of *group* among the API groups of *kind*: the object of the first group counts."""
    groups = groups_of(kind) if kind in _HUBS else ()
    return groups.index(group) if group in groups else len(groups), group


def kinds_of(group: str) -> frozenset[str]:
    """Return the kinds that some version of *group* has."""
    return frozenset(kind for each, kind in _SERVING if each == group)


def versions_in(group: str) -> tuple[ApiVersion, ...]:
    """Return the versions of *group*, the preferred first."""
    return tuple(row for row in TABLE if row.group == group)


def workload_versions() -> tuple[ApiVersion, ...]:
    """Return all versions of the API groups that have Workloads, group by group, the preferred first."""
    return tuple(row for group in groups_of("Workload") for row in versions_in(group))


def versions_of(kind: str) -> tuple[ApiVersion, ...]:
    """Return the API versions that have *kind*: group by group, the preferred first."""
    return tuple(row for group in groups_of(kind) for row in versions_in(group) if (row.name, kind) in _KINDS)


def versions_served(kind: str, minor: int, group: str | None = None) -> list[str]:
    """Return the versions of *group*, by default that of the hub, in which Kubernetes 1.*minor* serves *kind*: the oldest first."""
    return [row.name for row in reversed(current(kind, _HUBS[kind].group if group is None else group, minor))]


def current(kind: str, group: str = "", minor: int = TODAY) -> tuple[ApiVersion, ...]:
    """Return the API versions in which Kubernetes 1.*minor* serves *kind*, the preferred first; only those of *group* if given."""
    served = [row for row in versions_of(kind) if group in ("", row.group)]
    return tuple(row for row in served if _KINDS[row.name, kind].since <= minor <= _KINDS[row.name, kind].until)


def preferred(kind: str, group: str) -> str:
    """Return the API version of *group* in which *kind* is written."""
    return closest(kind, group, hub_of(kind).version)


def closest(kind: str, group: str, version: str, minor: int = TODAY) -> str:
    """Return the API version of *kind* to use with objects of *group* and *version* in Kubernetes 1.*minor*.

    It is the same version, else the hub, else the preferred one.
    """
    rows = current(kind, group, minor) or current(kind, minor=minor)
    return min(rows, key=lambda row: (row.version != version, row is not _HUBS[kind])).name


def served_since(kind: str) -> int:
    """Return the first minor version of Kubernetes that serves *kind* in the current form."""
    group = _HUBS[kind].group
    return min(_KINDS[row.name, kind].since for row in versions_of(kind) if row.group == group and row.form.is_current)


def schema_of(api_version: str, kind: str) -> str:
    """Return the name of the JSON Schema of *kind*; that of its hub if *api_version* lacks the kind or is too old to be mirrored."""
    row, served = api_version, find(api_version, kind)
    if served is None or served.until < OLDEST:
        row = _HUBS[kind].name
        served = _KINDS[row, kind]
    return served.schema or f"{kind.lower()}-{row.rpartition('/')[2]}"


def resource(kind: str, group: str | None = None) -> Resource:
    """Return the resource of *kind* in *group*, with all versions whose objects have the current form; without *group*, those of all groups.

    A server may have a kind in a version of its group that the table does not list for it.
    """
    name = kind.lower()
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}{'es' if name.endswith('s') else 's'}"
    groups = groups_of(kind) if group is None else (group,)
    convertible = (row.name for each in groups for row in versions_in(each) if row.form.is_current)
    return Resource(kind, groups[0], plural, tuple(convertible))


def resources(kind: str) -> tuple[Resource, ...]:
    """Return the resources of *kind*, one for each API group that has it; that of the hub first."""
    return tuple(resource(kind, group) for group in groups_of(kind))


def other_group(kind: str, group: str) -> str:
    """Return *group*; empty if it is that of the hub of *kind*, or not known."""
    return "" if group == _HUBS[kind].group else group


def kind_of(name: str) -> str:
    """Return the kind of a resource of this name, see ``Resource.name``."""
    return name.partition(".")[0]


WORKLOAD_GROUPS = frozenset(groups_of("Workload"))
"""API groups that have Workloads; an unknown kind of such a group is an error."""
WORKLOAD_VERSIONS = tuple(row.version for row in current("Workload", SCHEDULING))
"""Versions of ``scheduling.k8s.io`` for Workloads and PodGroups, the preferred first."""
