"""List and watch of all kinds that are needed; events go to a receiver.

Edge: the threads of ``apiserver.watch``.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.discovery import path_of
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from kubeapi.gather import ATTACH_KINDS, CAPACITY_KINDS, SELECTING_KINDS, VOLUME_KINDS
from kubeapi.versions.served_versions import Resource, resource
from scheduler_core.causes.live import Unlisted, UnlistedReason
from scheduler_core.sidecar.cache.device_cache import DEVICE_KINDS
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, OPTIONAL
from scheduler_core.wording.live_words import missing_rule, unlisted_words

WATCHED = tuple(
    map(
        resource,
        (
            *("PriorityClass", "Node", "PodDisruptionBudget", "Namespace"),
            *(*VOLUME_KINDS, *ATTACH_KINDS, *CAPACITY_KINDS, *DEVICE_KINDS, *SELECTING_KINDS),
            *("Workload", "CompositePodGroup", "PodGroup", "Pod"),
        ),
    )
)
NEEDED = frozenset({"Node", "Pod", "PodGroup"})
"""Kinds that must be served.  All other kinds are optional, or only pods wait that need them: see ``optional_watches``."""
CATCH_UP_WAIT, LONGEST_CATCH_UP_WAIT = 0.5, 8.0
"""First and longest time in seconds between two attempts to bring a kind to the current version."""
_FLAGS = "look at its flags --feature-gates (GenericWorkload) and --runtime-config"


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at a resourceVersion, each as JSON text."""

    kind: str
    objects: Sequence[msgspec.Raw]
    version: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """One object was ADDED, MODIFIED or DELETED; there are no further changes of the kind up to *version*."""

    kind: str
    event: str
    content: msgspec.Raw
    version: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Bookmark:
    """There are no further changes of a kind up to *version*."""

    kind: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Restored:
    """The versions of a kind begin anew, as after the storage of the API server was restored; the next list is complete."""

    kind: str


@dataclasses.dataclass(frozen=True, slots=True)
class CurrentVersion:
    """resourceVersion that the API server had for a kind after the *check* of this number had begun; 0: the kind is not served."""

    check: int
    kind: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unserved:
    """The API server does not serve a kind."""

    kind: str


@dataclasses.dataclass(frozen=True, slots=True)
class NotListed:
    """A kind of ``ON_DEMAND`` could not be listed."""

    kind: str
    failure: Unlisted


class Receiver(Protocol):
    """Thread-safe receiver of watch events."""

    def enqueue(self, message: Listed | Changed | Bookmark | Restored | CurrentVersion | Unserved | NotListed, /) -> None:
        """Queue *message*."""


@dataclasses.dataclass(slots=True)
class InformerHealth:
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
        self._stopped = threading.Event()
        self.paths: dict[str, str] = {}
        self.health: dict[str, InformerHealth] = {each.kind: InformerHealth() for each in WATCHED}
        self._watchers = {each.kind: self._watcher(each) for each in WATCHED}

    def start(self) -> None:
        """Start to list and watch the kinds that every mode needs."""
        self.watch(self._watchers.keys() - ON_DEMAND)

    def watch(self, kinds: Iterable[str]) -> None:
        """Start to list and watch *kinds*, each for the first time."""
        for kind in sorted(kinds):
            self.health[kind].watched = True
            self._watchers[kind].start()

    def stop(self) -> None:
        """Request all watches to stop."""
        self._stopped.set()
        for each in self._watchers.values():
            each.stop()

    def watched(self) -> frozenset[str]:
        """Return the kinds that are watched and served."""
        return frozenset(kind for kind, health in self.health.items() if health.watched and health.served)

    def catch_up(self, check: int, kinds: Iterable[str], waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        """Start to bring *kinds* to the versions that the API server has now, which the receiver gets as ``CurrentVersion`` of *check*.

        Failures are repeated while *waits* is True for the kind; *failed* is called with each.  Both are called in other threads.
        """
        for kind in sorted(kinds):
            run = functools.partial(self._catch_up, kind, check, waits, failed)
            threading.Thread(target=run, name=f"catch-up-{kind}", daemon=True).start()

    def _catch_up(self, kind: str, check: int, waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        def report(version: str) -> None:
            self.receiver.enqueue(CurrentVersion(check, kind, version))

        def done() -> bool:
            return self._stopped.is_set() or not waits(kind)

        wait = CATCH_UP_WAIT
        while not done():
            try:
                self._watchers[kind].catch_up(report, done)
            except (ReplyError, ValueError, *TRANSPORT) as error:
                failed(kind, str(error) if isinstance(error, ReplyError) else f"{type(error).__name__}: {error}")
            else:
                return
            self._stopped.wait(wait)
            wait = min(2 * wait, LONGEST_CATCH_UP_WAIT)

    def served(self) -> frozenset[str]:
        """Return the kinds that the API server serves, as far as is known."""
        return frozenset(kind for kind, health in self.health.items() if health.served)

    def unsynced(self) -> tuple[str, ...]:
        """Return the kinds that are not listed yet, each with the reason."""
        return tuple(
            f"{kind} objects are not listed yet{f': {each.error}' if each.error else ''}" if each.served else each.error
            for kind, each in self.health.items()
            if each.watched and not each.listed and (each.served or kind in NEEDED | ON_DEMAND - OPTIONAL)
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
        self._failure: Unlisted | None = None

    def replace(self, objects: Sequence[msgspec.Raw], version: str) -> None:
        """See Sink."""
        self._informers.receiver.enqueue(Listed(self._kind, objects, version))
        self._health.listed = self._health.served = True
        self._failure = None

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:
        """See Sink."""
        message = Bookmark(self._kind, version) if event == BOOKMARK else Changed(self._kind, event, content, version)
        self._informers.receiver.enqueue(message)

    def set_status(self, status: WatchStatus, reason: str) -> None:
        """See Sink."""
        if status in {WatchStatus.ACTIVE, WatchStatus.NOT_SERVED}:
            self._health.last_heard = time.monotonic()
        match status:
            case WatchStatus.ACTIVE:
                self._health.error = ""
            case WatchStatus.NOT_SERVED:
                self._not_served()
            case WatchStatus.RESTORED:
                self._informers.report_error(self._kind, status.value)
                self._informers.receiver.enqueue(Restored(self._kind))
            case WatchStatus.FORBIDDEN:
                self._informers.report_error(self._kind, f"{reason}; {missing_rule([self._kind])}")
                # The error is left out: it only repeats the kind.
                self._not_listed(Unlisted(UnlistedReason.FORBIDDEN))
            case WatchStatus.FAILED:
                self._informers.report_error(self._kind, reason)
                self._not_listed(Unlisted(error=reason))

    def _not_served(self) -> None:
        kind = self._kind
        self._health.served = self._health.listed = False
        self._informers.receiver.enqueue(Unserved(kind))
        if kind in NEEDED:
            self._informers.report_error(kind, f"the API server does not serve {kind} objects: {_FLAGS}")
        elif kind in ON_DEMAND - OPTIONAL:
            self._informers.report_error(kind, unlisted_words([(kind, Unlisted(UnlistedReason.NOT_SERVED))]))

    def _not_listed(self, failure: Unlisted) -> None:
        """Report a new reason why a kind is not listed, for the pods that wait for it."""
        if self._kind in ON_DEMAND and not self._health.listed and failure != self._failure:
            self._failure = failure
            self._informers.receiver.enqueue(NotListed(self._kind, failure))
