"""Claims to devices that are allocated, and that can be deallocated when their users are evicted, although pods without a node name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from kubeapi.gather import Name
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.released_claims import allocated_needs, is_releasable, released_need
from scheduler_core.model.device_claims import DeviceNeed, KnownClaim


class ReleasableClaims:
    """Those of the claims *known*, by namespace and name."""

    def __init__(self, known: Mapping[Name, KnownClaim]) -> None:
        self._known = known
        self._users: dict[Name, Counter[str]] = {}
        """Pods, by key, that had no node when they were read, by the claim that they name, if it was allocated then."""
        self._named: dict[str, set[Name]] = {}
        """Claims of ``_users`` by these pods."""
        self._later: dict[Name, DeviceNeed] = {}
        self._claims_of: dict[str, set[Name]] = {}
        """Claims of ``_users`` by the pods that they are reserved for, by key."""
        self._reserved: dict[Name, set[str]] = {}
        self._changed: set[Name] = set()

    def count(self, parsed_pod: ParsedPod, amount: int) -> None:
        """Count the claims of a pod that is added, or with *amount* -1 removed."""
        for claim, _ in allocated_needs(parsed_pod):
            name = parsed_pod.namespace, claim.key.partition("/")[2]
            users = self._users.setdefault(name, Counter())
            users[parsed_pod.key] += amount
            if users[parsed_pod.key]:
                self._named.setdefault(parsed_pod.key, set()).add(name)
            else:
                del users[parsed_pod.key]
                self._unnamed(parsed_pod.key, name)
            self._changed.add(name)

    def claim_changed(self, name: Name) -> None:
        """Record that a claim was added, changed or removed."""
        if name in self._users:
            self._changed.add(name)

    def pod_changed(self, key: str) -> None:
        """Record that a pod may run now, or not any more."""
        for claims in (self._claims_of.get(key), self._named.get(key)):
            self._changed |= claims or set()

    def nodes_changed(self) -> None:
        """Record that nodes were added or removed, so that other pods run."""
        self._changed.update(self._users)

    def update(self, is_running: Callable[[str], bool]) -> Iterator[tuple[Name, DeviceNeed | None, DeviceNeed | None]]:
        """Yield the claims that differ since the last call, each with what its pods needed later and need now; None if it is not releasable."""
        changed, self._changed = self._changed, set()
        for name in sorted(changed):
            before, after = self._later.pop(name, None), self._need(name, is_running)
            if after is not None:
                self._later[name] = after
            if before != after:
                yield name, before, after

    def _need(self, name: Name, is_running: Callable[[str], bool]) -> DeviceNeed | None:
        users = self._users.get(name)
        if not users:
            self._users.pop(name, None)
        known = self._known.get(name) if users else None
        self._index(name, {f"{name[0]}/{user}" for _, user in known.consumers} if known is not None else set())
        # A pod that is assumed to run has its devices.
        waiting = sum(number for key, number in users.items() if not is_running(key)) if users else 0
        if not waiting or known is None or known.allocation is None or not is_releasable(name[0], known, is_running):
            return None
        return released_need("", known.spec, "/".join(name) if waiting > 1 else "")

    def _unnamed(self, key: str, name: Name) -> None:
        self._named[key].discard(name)
        if not self._named[key]:
            del self._named[key]

    def _index(self, name: Name, pods: set[str]) -> None:
        before = self._reserved.pop(name, set())
        for key in before - pods:
            self._claims_of[key].remove(name)
            if not self._claims_of[key]:
                del self._claims_of[key]
        for key in pods - before:
            self._claims_of.setdefault(key, set()).add(name)
        if pods:
            self._reserved[name] = pods
