"""List and watch of all kinds that are needed; events go to a receiver.

Edge: the threads of ``apiserver.watch``.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from apiserver.api import Api
from apiserver.discovery import path_of
from apiserver.watch import Watcher, WatchStatus
from scheduler_core.loading.gather import ATTACH_KINDS, CAPACITY_KINDS, SELECTING_KINDS, VOLUME_KINDS
from scheduler_core.sidecar.cache.needed_kinds import ON_DEMAND
from validators.versions.served import Resource, resource

WATCHED = tuple(
    map(
        resource,
        (
            *("PriorityClass", "Node", "PodDisruptionBudget", "Namespace"),
            *(*VOLUME_KINDS, *ATTACH_KINDS, *CAPACITY_KINDS, *SELECTING_KINDS),
            *("Workload", "CompositePodGroup", "PodGroup", "Pod"),
        ),
    )
)
NEEDED = frozenset({"Node", "Pod", "PodGroup"})
"""Kinds that must be served; all other kinds are optional.  See also ``needed_kinds``."""
UNSERVED = "the API server does not serve {kind} objects: look at its flags --feature-gates (GenericWorkload) and --runtime-config"


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind, each as JSON text."""

    kind: str
    objects: Sequence[msgspec.Raw]


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """One object was ADDED, MODIFIED or DELETED."""

    kind: str
    event: str
    content: msgspec.Raw


@dataclasses.dataclass(frozen=True, slots=True)
class Unserved:
    """The API server does not serve a kind."""

    kind: str


class Receiver(Protocol):
    """Thread-safe receiver of watch events."""

    def enqueue(self, message: Listed | Changed | Unserved, /) -> None:
        """Queue *message*."""


@dataclasses.dataclass(slots=True)
class Health:
    """Status of the informer of one kind; *watched* is False until the kind is needed."""

    watched: bool = False
    served: bool = True
    listed: bool = False
    last_heard: float = 0.0
    error: str = ""


class Informers:
    """Informers of all kinds.

    ``paths`` has the URL path of each kind, set before its first event.  ``health`` has the status of each informer.
    """

    def __init__(self, api: Api, receiver: Receiver, log: Callable[[str, str], None], *, silence: float) -> None:
        """Call *log* once for each kind and reason for which a watch fails."""
        self._api, self.receiver, self._log, self._silence = api, receiver, log, silence
        self.paths: dict[str, str] = {}
        self.health: dict[str, Health] = {each.kind: Health() for each in WATCHED}
        self._watchers = {each.kind: self._watcher(each) for each in WATCHED}

    def start(self) -> None:
        """Start to list and watch the kinds that are always needed."""
        self.watch(self._watchers.keys() - ON_DEMAND)

    def watch(self, kinds: Iterable[str]) -> None:
        """Start to list and watch *kinds*, each for the first time."""
        for kind in sorted(kinds):
            self.health[kind].watched = True
            self._watchers[kind].start()

    def stop(self) -> None:
        """Request all watches to stop."""
        for each in self._watchers.values():
            each.stop()

    def unsynced(self) -> tuple[str, ...]:
        """Return the kinds that are not listed yet, each with the reason."""
        return tuple(
            f"{kind} objects are not listed yet{f': {each.error}' if each.error else ''}" if each.served else each.error
            for kind, each in self.health.items()
            if each.watched and not each.listed and (each.served or kind in NEEDED)
        )

    def silent(self, seconds: float) -> tuple[str, ...]:
        """Return the kinds without a watch event for *seconds*, each with the reason."""
        now = time.monotonic()
        return tuple(
            f"{kind} objects: no watch event for {now - each.last_heard:.0f} s{f': {each.error}' if each.error else ''}"
            for kind, each in self.health.items()
            if each.served and each.listed and now - each.last_heard > seconds
        )

    def _watcher(self, watched: Resource) -> Watcher:
        def find() -> str:
            path = path_of(self._api, watched.resource, watched.api_versions)
            if path:
                self.paths[watched.kind] = path
            return path

        return Watcher(self._api, find, _KindSink(self, watched.kind), silence=self._silence, name=watched.resource)

    def report_error(self, kind: str, reason: str) -> None:
        """Record why a kind cannot be watched, and log a new reason once."""
        if reason != self.health[kind].error:
            self._log(kind, reason)
        self.health[kind].error = reason


class _KindSink:
    """``apiserver.watch.Sink`` of one kind."""

    def __init__(self, informers: Informers, kind: str) -> None:
        self._informers, self._kind = informers, kind
        self._health = informers.health[kind]

    def replace(self, objects: Sequence[msgspec.Raw]) -> None:
        """See Sink."""
        self._informers.receiver.enqueue(Listed(self._kind, objects))
        self._health.listed = self._health.served = True

    def change(self, event: str, content: msgspec.Raw) -> None:
        """See Sink."""
        self._informers.receiver.enqueue(Changed(self._kind, event, content))

    def set_status(self, status: WatchStatus, reason: str) -> None:
        """See Sink."""
        if status is not WatchStatus.FAILED:
            self._health.last_heard = time.monotonic()
        if status is WatchStatus.ACTIVE:
            self._health.error = ""
        elif status is WatchStatus.NOT_SERVED:
            self._health.served = self._health.listed = False
            self._informers.receiver.enqueue(Unserved(self._kind))
            if self._kind in NEEDED:
                self._informers.report_error(self._kind, UNSERVED.format(kind=self._kind))
        else:
            self._informers.report_error(self._kind, reason)
