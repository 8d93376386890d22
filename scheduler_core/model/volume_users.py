"""Pods that use volumes, by the name of the volume, and the volumes of a pod whose names matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from kubeapi.base_structs import Record

VolumeKey = tuple[str, str]
"""CSI driver and volume handle; for a claim without a volume, its provisioner and a name of its own."""


class Disk(Record, frozen=True):
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


class NamedVolumes(Record, frozen=True):
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
        self._pending: Counter[Hashable] = Counter()

    def copied(self) -> VolumeUsers:
        """Return a copy."""
        copy = VolumeUsers()
        copy._users = {each: dict(users) for each, users in self._users.items()}
        copy._pending = self._pending.copy()
        return copy

    def add(self, pod: str, node: str, used: Iterable[Hashable]) -> None:
        """Record that *pod* on *node*, empty if pending, uses each of *used*."""
        for each in used:
            users = self._users.setdefault(each, {})
            if change := (not node) - (users.get(pod) == ""):
                self._pending[each] += change
            users[pod] = node

    def remove(self, pod: str, used: Iterable[Hashable]) -> None:
        """Record that *pod* no longer uses any of *used*."""
        for each in used:
            users = self._users[each]
            if not users.pop(pod):
                self._pending[each] -= 1
            if not users:
                del self._users[each], self._pending[each]

    def named(self, pod: tuple[str, str], shared: tuple[VolumeKey, ...], claims: Iterable[str], disks: Iterable[Disk]) -> NamedVolumes:
        """Return the volumes of *pod* (namespace and name) whose names matter.

        *shared* are its volumes that count against a limit by name, *claims* its ReadWriteOncePod claims, *disks* its inline disks.
        """
        key = "/".join(pod)
        others = tuple(each for each in claims if self.has_others(claim_use(pod[0], each), key))
        contested = tuple(disks) if others or any(self.has_others(disk.use, key) for disk in disks) else ()
        return NamedVolumes(shared, others, contested) if shared or others or contested else NO_NAMED_VOLUMES

    def has_others(self, used: Hashable, pod: str) -> bool:
        """Return whether another pod than *pod* uses *used*."""
        users = self._users.get(used, ())
        return len(users) > (pod in users)

    def has_pending_others(self, used: Hashable, pod: str) -> bool:
        """Return whether a pending pod other than *pod* uses *used*."""
        return self._pending[used] > (self._users.get(used, {}).get(pod) == "")

    def has_others_on(self, node: str, used: Hashable, pod: str) -> bool:
        """Return whether a pod on *node* other than *pod* uses *used*."""
        return any(where == node and name != pod for name, where in self._users.get(used, {}).items())

    def affected(self, used: Hashable, pod: str, before: str | None, after: str | None) -> list[str]:
        """Return the other users of *used* for which it can count differently since *pod* moved.

        *before* and *after* are nodes of *pod*, empty if it is pending, None if it does not use *used*.  For a pending pod it matters
        whether there is any other user, for a pod with a node whether there is one that is pending or on the same node.
        """
        moved = {before, after}
        users = self._users.get(used, {})
        only_other = None in moved and len(users) - (pod in users) == 1
        if len(moved) == 1 or (not only_other and self.has_pending_others(used, pod)):
            return []
        return [name for name, node in users.items() if name != pod and (only_other or "" in moved or node in moved)]
