"""Pods that use volumes, by the name of the volume, and the volumes of a pod whose names matter."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable

VolumeKey = tuple[str, str]
"""CSI driver and volume handle; for a claim without a volume, its provisioner and a name of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class NamedVolumes:
    """Volumes of a pod whose names matter, because another pod uses them too.

    Attributes:
        shared: CSI volumes that count against a limit, and that another pod uses or that are attached already.

    """

    shared: tuple[VolumeKey, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.shared)


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

    def nodes_of_others(self, used: Hashable, pod: str) -> set[str]:
        """Return the nodes of the users of *used* except *pod*; the empty name for a pending pod."""
        return {node for name, node in self._users.get(used, {}).items() if name != pod}
