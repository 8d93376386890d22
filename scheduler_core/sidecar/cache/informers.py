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
from apiserver.pages import Page
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from kubeapi.gather import ATTACH_KINDS, CAPACITY_KINDS, SELECTING_KINDS, VOLUME_KINDS
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import Resource, resources
from scheduler_core.causes.live import Unlisted, UnlistedReason
from scheduler_core.sidecar.cache.device_cache import DEVICE_KINDS
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, OPTIONAL
from scheduler_core.wording.live_words import missing_rule, unlisted_words

_WATCHED_KINDS = (
    *("PriorityClass", "Node", "PodDisruptionBudget", "Namespace"),
    *(*VOLUME_KINDS, *ATTACH_KINDS, *CAPACITY_KINDS, *DEVICE_KINDS, *SELECTING_KINDS),
    *("Workload", "CompositePodGroup", "PodGroup", "Pod"),
)
WATCHED = tuple(each for kind in _WATCHED_KINDS for each in resources(kind))
"""Resources that are watched, of a kind those of all API groups.  Here and in the cache, each has the name ``Resource.name``."""
NEEDED = frozenset({"Node", "Pod", "PodGroup"})
"""Kinds that must be served, in one API group at least.  All other kinds are optional, or only pods wait that need them: see
``optional_watches``."""
PAGES_AHEAD = 2
"""Maximum number of pages of a list that the receiver has not applied: a list of all pods of a large cluster has gigabytes."""
STOP_SECONDS = 1.0
"""Interval at which it is checked whether the process stops, while a page waits."""
CATCH_UP_WAIT, LONGEST_CATCH_UP_WAIT = 0.5, 8.0
"""First and longest time in seconds between two attempts to bring a kind to the current version."""
_FLAGS = "look at its flags --feature-gates (GenericWorkload) and --runtime-config"
_CUSTOM = f"or install the CustomResourceDefinitions of {CUSTOM}"


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """Page of a list of all objects of a resource at a resourceVersion, each as JSON text; most lists have one page.

    *applied* is called, in the thread of the receiver, once the objects are not needed any more.
    """

    resource: str
    objects: Sequence[msgspec.Raw]
    version: str = ""
    first: bool = True
    last: bool = True
    applied: Callable[[], object] = dataclasses.field(default=lambda: None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """One object was ADDED, MODIFIED or DELETED; there are no further changes of the resource up to *version*."""

    resource: str
    event: str
    content: msgspec.Raw
    version: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Bookmark:
    """There are no further changes of a resource up to *version*."""

    resource: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Restored:
    """The versions of a resource begin anew, as after the storage of the API server was restored; the next list is complete."""

    resource: str


@dataclasses.dataclass(frozen=True, slots=True)
class CurrentVersion:
    """resourceVersion that the API server had for a resource after the *check* of this number had begun; 0: it is not served."""

    check: int
    resource: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unserved:
    """The API server does not serve a resource."""

    resource: str


@dataclasses.dataclass(frozen=True, slots=True)
class NotListed:
    """A resource of a kind of ``ON_DEMAND`` could not be listed."""

    resource: str
    failure: Unlisted


class Receiver(Protocol):
    """Thread-safe receiver of watch events."""

    def enqueue(self, message: Listed | Changed | Bookmark | Restored | CurrentVersion | Unserved | NotListed, /) -> None:
        """Queue *message*."""


@dataclasses.dataclass(slots=True)
class InformerHealth:
    """Status of the informer of one resource; *watched* is False until its kind is needed."""

    watched: bool = False
    served: bool = True
    listed: bool = False
    last_heard: float = 0.0
    error: str = ""


class Informers:
    """Informers of all resources.

    ``paths`` has the URL path of each resource, set before its first event.  ``health`` has the status of each informer.
    """

    def __init__(
        self,
        api: Api,
        receiver: Receiver,
        log: Callable[[str, str], None],
        *,
        silence: float,
        found: Callable[[], None] = lambda: None,
    ) -> None:
        """Call *log* once for each resource and reason for which a watch fails, and *found* when a resource is found, in other threads."""
        self._api, self.receiver, self._log, self._silence, self._found = api, receiver, log, silence, found
        self._stopped = threading.Event()
        self.paths: dict[str, str] = {}
        self.health: dict[str, InformerHealth] = {each.name: InformerHealth() for each in WATCHED}
        self._watchers = {each.name: self._watcher(each) for each in WATCHED}

    def start(self) -> None:
        """Start to list and watch the kinds that every mode needs."""
        self.watch({*_WATCHED_KINDS} - ON_DEMAND)

    def watch(self, kinds: Iterable[str]) -> None:
        """Start to list and watch *kinds*, each for the first time."""
        for each in (each for kind in sorted(kinds) for each in resources(kind)):
            self.health[each.name].watched = True
            self._watchers[each.name].start()

    def stop(self) -> None:
        """Request all watches to stop."""
        self._stopped.set()
        for each in self._watchers.values():
            each.stop()

    def stopped(self) -> bool:
        """Return whether the watches are to stop."""
        return self._stopped.is_set()

    def watched(self) -> frozenset[str]:
        """Return the resources that are watched and served."""
        return frozenset(name for name, health in self.health.items() if health.watched and health.served)

    def catch_up(self, check: int, names: Iterable[str], waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        """Start to bring resources to the versions that the API server has now, which the receiver gets as ``CurrentVersion`` of *check*.

        Failures are repeated while *waits* is True for the resource; *failed* is called with each.  Both are called in other threads.
        """
        for name in sorted(names):
            run = functools.partial(self._catch_up, name, check, waits, failed)
            threading.Thread(target=run, name=f"catch-up-{name}", daemon=True).start()

    def _catch_up(self, name: str, check: int, waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        def report(version: str) -> None:
            self.receiver.enqueue(CurrentVersion(check, name, version))

        def done() -> bool:
            return self._stopped.is_set() or not waits(name)

        wait = CATCH_UP_WAIT
        while not done():
            try:
                self._watchers[name].catch_up(report, done)
            except (ReplyError, ValueError, *TRANSPORT) as error:
                failed(name, str(error) if isinstance(error, ReplyError) else f"{type(error).__name__}: {error}")
            else:
                return
            self._stopped.wait(wait)
            wait = min(2 * wait, LONGEST_CATCH_UP_WAIT)

    def served(self) -> frozenset[str]:
        """Return the resources that the API server was found to serve."""
        return frozenset(name for name, health in self.health.items() if health.served and name in self.paths)

    def is_served(self, kind: str) -> bool:
        """Return whether the API server serves *kind* in some API group, as far as is known."""
        return any(self.health[each.name].served for each in resources(kind))

    def unsynced(self) -> tuple[str, ...]:
        """Return the resources that are not listed yet, each with the reason."""
        unlisted = ((each, health) for each in WATCHED if (health := self.health[each.name]).watched and not health.listed)
        return tuple(
            f"{each.name} objects are not listed yet{f': {health.error}' if health.error else ''}" if health.served else health.error
            for each, health in unlisted
            if health.served or (health.error and not self.is_served(each.kind))
        )

    def silent(self, seconds: float) -> tuple[str, ...]:
        """Return the resources without a watch event for *seconds*, each with the reason."""
        now = time.monotonic()
        return tuple(
            f"{name} objects: no watch event for {now - each.last_heard:.0f} s{f': {each.error}' if each.error else ''}"
            for name, each in self.health.items()
            if each.served and each.listed and now - each.last_heard > seconds
        )

    def _watcher(self, watched: Resource) -> Watcher:
        def find() -> str:
            path = path_of(self._api, watched.resource, watched.api_versions)
            if path and path != self.paths.get(watched.name):
                self.paths[watched.name] = path
                self._found()
            return path

        return Watcher(self._api, find, _ResourceSink(self, watched), silence=self._silence, name=watched.name)

    def report_error(self, name: str, reason: str) -> None:
        """Record why a resource cannot be watched, and log a new reason once."""
        if reason != self.health[name].error:
            self._log(name, reason)
        self.health[name].error = reason


class _ResourceSink:
    """``apiserver.watch.Sink`` of one resource."""

    def __init__(self, informers: Informers, resource: Resource) -> None:
        self._informers, self._resource, self._name = informers, resource, resource.name
        self._health = informers.health[self._name]
        self._failure: Unlisted | None = None

    def replace(self, pages: Iterable[Page]) -> None:
        """See Sink.  The next page is read while the receiver applies the one before it."""
        ahead, first = threading.Semaphore(PAGES_AHEAD), True
        for page in pages:
            while not ahead.acquire(timeout=STOP_SECONDS):
                if self._informers.stopped():
                    return
            last = not page.metadata.continue_
            listed = Listed(self._name, page.items or (), page.metadata.resource_version, first, last, ahead.release)
            self._informers.receiver.enqueue(listed)
            first = False
        self._health.listed = self._health.served = True
        self._failure = None

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:
        """See Sink."""
        message = Bookmark(self._name, version) if event == BOOKMARK else Changed(self._name, event, content, version)
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
                self._informers.report_error(self._name, status.value)
                self._informers.receiver.enqueue(Restored(self._name))
            case WatchStatus.FORBIDDEN:
                self._informers.report_error(self._name, f"{reason}; {missing_rule([self._resource])}")
                # The error is left out: it only repeats the kind.
                self._not_listed(Unlisted(UnlistedReason.FORBIDDEN))
            case WatchStatus.FAILED:
                self._informers.report_error(self._name, reason)
                self._not_listed(Unlisted(error=reason))

    def _not_served(self) -> None:
        kind = self._resource.kind
        self._health.served = self._health.listed = False
        self._informers.receiver.enqueue(Unserved(self._name))
        if kind in NEEDED and not self._informers.is_served(kind):
            advice = f"{_FLAGS}, {_CUSTOM}" if served_versions.serves(CUSTOM, kind) else _FLAGS
            self._informers.report_error(resources(kind)[0].name, f"the API server does not serve {kind} objects: {advice}")
        elif kind in ON_DEMAND - OPTIONAL:
            self._informers.report_error(self._name, unlisted_words([(kind, Unlisted(UnlistedReason.NOT_SERVED))]))
        else:
            self._health.error = ""

    def _not_listed(self, failure: Unlisted) -> None:
        """Report a new reason why the resource is not listed, for the pods that wait for its kind."""
        if self._resource.kind in ON_DEMAND and not self._health.listed and failure != self._failure:
            self._failure = failure
            self._informers.receiver.enqueue(NotListed(self._name, failure))
