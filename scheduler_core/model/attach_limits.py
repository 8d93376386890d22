"""Limits of the CSI volumes that a node can attach, and the volumes that count against them.

A limit is a row of the node table, named ``attachable volumes of CSI driver`` and the driver.  A pod requests one unit of it for each of
its volumes that no other pod uses.  A volume counts once on a node, however many pods there use it, so volumes that pods share are not
requested: they are counted by name (plugins.node_volume_limits).  A VolumeAttachment counts as long as it exists, also after the last pod
that used its volume was removed; the row of its node is smaller by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kubeapi.base_structs import Record
from scheduler_core.model.volume_users import VolumeKey, VolumeUsers

T = TypeVar("T")
Amount = tuple[str, int]
"""Name of a row, and an amount."""

UNLIMITED = 2**31 - 1
"""Units of a node without a limit: the largest limit that the API allows."""
_ROW = "attachable volumes of CSI driver "


def row_name(driver: str) -> str:
    """Return the name of the row of *driver*; no resource of a node has such a name."""
    return f"{_ROW}{driver}"


def driver_of(row: str) -> str:
    """Return the driver of a row; empty for the row of a resource."""
    return row.removeprefix(_ROW) if row.startswith(_ROW) else ""


def limit_rows(names: Sequence[str]) -> dict[int, str]:
    """Return the drivers with a limit, by row, of the rows *names*."""
    return {row: driver for row, name in enumerate(names) if (driver := driver_of(name))}


class PodAttachments(Record, frozen=True):
    """Volumes of a pod that count against limits.

    Attributes:
        requests: its volumes that no other pod uses, by row.
        shared: its volumes that are counted by name.

    """

    requests: tuple[Amount, ...] = ()
    shared: tuple[VolumeKey, ...] = ()


NOTHING = PodAttachments()


class AttachLimits:
    """CSI drivers of the nodes with their limits, in-tree plugins that are migrated there, and attached volumes.

    Attributes:
        required: drivers that a node must have to run a pod with their volumes.

    """

    def __init__(self) -> None:
        self.required: set[str] = set()
        self._drivers: dict[str, Mapping[str, int | None]] = {}
        self._limited: Counter[str] = Counter()
        self._attached: dict[str, Counter[VolumeKey]] = {}
        self._attachments: Counter[VolumeKey] = Counter()

    def __bool__(self) -> bool:
        """Return whether any driver has a limit or is required."""
        return bool(self._limited or self.required)

    def copied(self) -> AttachLimits:
        """Return a copy for other drivers; the attached volumes are shared."""
        copy = AttachLimits()
        vars(copy).update(vars(self), _drivers=dict(self._drivers), _limited=self._limited.copy())
        return copy

    def rows(self) -> tuple[str, ...]:
        """Return the names of the rows, sorted."""
        return tuple(sorted(map(row_name, self._limited)))

    def has_driver(self, node: str, driver: str) -> bool:
        """Return whether *node* has *driver*, or *driver* is an in-tree plugin that is migrated there."""
        return driver in self._drivers.get(node, ())

    def limit(self, node: str, driver: str) -> int | None:
        """Return the limit of *driver* on *node*; None if there is none."""
        return self._drivers.get(node, {}).get(driver)

    def set_drivers(self, node: str, drivers: Mapping[str, int | None]) -> None:
        """Set the drivers of *node*, each with its limit or None."""
        for each, change in ((self._drivers.pop(node, {}), -1), (drivers, 1)):
            for driver, limit in each.items():
                if limit is not None:
                    _bump(self._limited, driver, change)
        if drivers:
            self._drivers[node] = drivers

    def attach(self, node: str, volume: VolumeKey, change: int = 1) -> None:
        """Add a VolumeAttachment of *volume* to *node*, or (*change* -1) remove it."""
        attached = self._attached.setdefault(node, Counter())
        before = volume in attached
        _bump(attached, volume, change)
        if not attached:
            del self._attached[node]
        _bump(self._attachments, volume, (volume in attached) - before)

    def attached(self, node: str) -> Collection[VolumeKey]:
        """Return the volumes with a VolumeAttachment to *node*."""
        return self._attached.get(node, {}).keys()

    def amounts(self, node: str) -> Iterator[tuple[str, int]]:
        """Yield for each row the number of volumes that *node* can have besides those with a VolumeAttachment."""
        drivers, attached = self._drivers.get(node, {}), self._attached.get(node, ())
        for driver in self._limited:
            limit = drivers.get(driver)
            free = UNLIMITED if limit is None else limit - sum(key[0] == driver for key in attached)
            yield row_name(driver), max(free, 0)

    def of_pod(self, pod: str, node: str, volumes: Iterable[VolumeKey], users: VolumeUsers) -> PodAttachments:
        """Return how *volumes* of *pod* on *node*, empty if pending, count; drivers without a limit are omitted."""
        requests: Counter[str] = Counter()
        shared = []
        for volume in sorted({each for each in volumes if each[0] in self._limited}):
            pending = users.has_pending_others(volume, pod)
            if node and volume in self._attached.get(node, ()):
                # It counts as an attachment.  A pending pod that uses it too costs nothing there.
                if pending:
                    shared.append(volume)
            elif pending or (
                users.has_others_on(node, volume, pod) if node else users.has_others(volume, pod) or volume in self._attachments
            ):
                shared.append(volume)
            else:
                requests[row_name(volume[0])] += 1
        return PodAttachments(tuple(sorted(requests.items())), tuple(shared)) if requests or shared else NOTHING


def _bump(counts: Counter[T], key: T, change: int) -> None:
    counts[key] += change
    if not counts[key]:
        del counts[key]
