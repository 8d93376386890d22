"""Pods that use volumes, by the name of the volume, and the volumes of a pod whose names matter."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable

VolumeKey = tuple[str, str]
"""CSI driver and volume handle; for a claim without a volume, its provisioner and a name of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Disk:
    """Disk of an inline volume: ``gcePersistentDisk``, ``awsElasticBlockStore``, ``iscsi`` or ``rbd``."""

    kind: str
    name: str
    read_only: bool = False
    monitors: tuple[str, ...] = ()

    @property
    def use(self) -> Hashable:
        """Return the name under which its users are recorded."""
        return "disk", self.kind, self.name

    @property
    def csi(self) -> VolumeKey | None:
        """Return the CSI volume that kube-scheduler counts for it; None if it is not counted."""
        if self.kind == "awsElasticBlockStore":
            return "ebs.csi.aws.com", self.name.rpartition("/")[2]
        if self.kind == "gcePersistentDisk":
            return "pd.csi.storage.gke.io", f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{self.name}"
        return None

    def conflicts(self, other: Disk) -> bool:
        """Return whether two pods on a node cannot use both."""
        same = (self.kind, self.name) == (other.kind, other.name)
        overlap = self.kind != "rbd" or not set(self.monitors).isdisjoint(other.monitors)
        return same and overlap and not (self.read_only and other.read_only)


def claim_use(namespace: str, name: str) -> Hashable:
    """Return the name under which the users of a claim are recorded."""
    return "claim", namespace, name


@dataclasses.dataclass(frozen=True, slots=True)
class NamedVolumes:
    """Volumes of a pod whose names matter, because another pod uses them too.

    Attributes:
        shared: CSI volumes that count against a limit, and that another pod uses or that are attached already.
        claims: ReadWriteOncePod claims that another pod uses.
        disks: all its inline disks, if another pod uses one of them or one of these claims.

    """

    shared: tuple[VolumeKey, ...] = ()
    claims: tuple[str, ...] = ()
    disks: tuple[Disk, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.shared or self.claims or self.disks)


NO_NAMED_VOLUMES = NamedVolumes()


class VolumeUsers:
    """Pods that use volumes, claims or disks, by the name of what they use."""

    def __init__(self) -> None:
        self._users: dict[Hashable, dict[str, str]] = {}

    def copied(self) -> VolumeUsers:
        """Return a copy."""
        copy = VolumeUsers()
        copy._users = {each: dict(users) for each, users in self._users.items()}
        return copy

    def add(self, pod: str, node: str, used: Iterable[Hashable]) -> None:
        """Record that *pod* on *node*, empty if pending, uses each of *used*."""
        for each in used:
            self._users.setdefault(each, {})[pod] = node

    def remove(self, pod: str, used: Iterable[Hashable]) -> None:
        """Record that *pod* no longer uses any of *used*."""
        for each in used:
            users = self._users[each]
            del users[pod]
            if not users:
                del self._users[each]

    def users(self, used: Hashable) -> tuple[str, ...]:
        """Return the pods that use *used*."""
        return tuple(self._users.get(used, ()))

    def named(self, pod: tuple[str, str], shared: tuple[VolumeKey, ...], claims: Iterable[str], disks: Iterable[Disk]) -> NamedVolumes:
        """Return the volumes of *pod* (namespace and name) whose names matter.

        *shared* are its volumes that count against a limit by name, *claims* its ReadWriteOncePod claims, *disks* its inline disks.
        """
        key = "/".join(pod)
        others = tuple(each for each in claims if self.nodes_of_others(claim_use(pod[0], each), key))
        contested = tuple(disks) if others or any(self.nodes_of_others(disk.use, key) for disk in disks) else ()
        return NamedVolumes(shared, others, contested) if shared or others or contested else NO_NAMED_VOLUMES

    def nodes_of_others(self, used: Hashable, pod: str) -> set[str]:
        """Return the nodes of the users of *used* except *pod*; the empty name for a pending pod."""
        return {node for name, node in self._users.get(used, {}).items() if name != pod}
