"""List and watch of one resource.

A watch resumes at the resourceVersion of the last event or bookmark.  The resource is listed again if that version has expired
(HTTP 410), after an error event, and after an event that cannot be decoded, which would only repeat.  Failures back off
exponentially until the next event or the next step (discovery, list, watch), or as long as ``Retry-After`` requires.

A watch does not show how late it is, and the server sends nothing for a quiet resource for about a minute.  ``Watcher.catch_up`` brings
the receiver to the current version at once.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn, Protocol

import msgspec

from apiserver.api import FAILURE, SILENT, TRANSPORT, Api, Query, ReplyError, lines
from apiserver.pages import PAGE, Page, PageMetadata, pages

WATCH_SECONDS = 240
FIRST_WAIT, LONGEST_WAIT, UNSERVED_WAIT = 0.5, 30.0, 60.0
SHORTEST_WATCH = 1.0
"""Seconds; a watch without events that ends sooner counts as failed, even if it ended without an error."""
LIST_POLL = 0.05
BOOKMARK_WATCH = 3
"""Timeout in seconds of a watch that waits for a bookmark only: the server sends one two seconds before the end."""
BOOKMARK = "BOOKMARK"
"""Type of an event that only names a version."""
BAD_REQUEST, FORBIDDEN, GONE, NOT_FOUND, TOO_MANY = 400, 403, 410, 404, 429


class WatchStatus(enum.Enum):
    """Status of a watched resource."""

    ACTIVE = "the server has just responded or sent an event"
    FAILED = "the last attempt to list or watch failed"
    FORBIDDEN = "the server forbids to list or watch"
    NOT_SERVED = "the server does not have the resource"
    RESTORED = "the server lists a lower version than before, as after its storage was restored: earlier versions say nothing any more"


class Sink(Protocol):
    """Receiver of objects and events, as JSON texts."""

    def replace(self, pages: Iterable[Page]) -> None:
        """Replace all objects by those of *pages*, which are the parts of one list, in order, at one resourceVersion.

        The pages are read while they are consumed, so that a large list is never in memory as a whole.  An exception of *pages* means that
        the list breaks off; another one follows.
        """

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:
        """Apply an event ADDED, MODIFIED or DELETED to one object, or BOOKMARK to none; there are no further events up to *version*."""

    def set_status(self, status: WatchStatus, reason: str) -> None:
        """Record the status of the resource; *reason* is empty unless it is FAILED or FORBIDDEN."""


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


class _Object(msgspec.Struct, frozen=True):
    metadata: PageMetadata = PageMetadata()


_EVENT = msgspec.json.Decoder(_Event)
_OBJECT = msgspec.json.Decoder(_Object)


class Watcher:
    """Thread that lists and watches one resource.

    *find* returns the resource's path, empty if it is not served; it is called again after a 404.  *silence* is the
    time in seconds after which a watch without events is followed by another.  *labels* selects objects by label; empty for all.
    """

    def __init__(self, api: Api, find: Callable[[], str], sink: Sink, *, silence: float, name: str = "", labels: str = "") -> None:
        self._api, self._find, self._sink, self._silence, self._name, self._labels = api, find, sink, silence, name, labels
        self._stopped = threading.Event()
        self._wait = FIRST_WAIT
        self._step = self._failed_step = ""
        self._path = ""
        self._version = ""
        self._highest = ""
        """Version of the last list or event; unlike ``_version`` it is kept after errors."""

    def start(self) -> None:
        """Start a thread that ends with the process."""
        threading.Thread(target=self.run, name=f"watch-{self._name}", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current event or wait."""
        self._stopped.set()

    def catch_up(self, report: Callable[[str], None], done: Callable[[], bool]) -> None:
        """Bring the receiver to the version that the server has now, independently of the watch; for other threads.

        *report* is called once with that version, before the receiver is complete up to it; 0: the resource is not served.  *done*
        returns True once the receiver is complete, or once that is not needed any more.

        Raises:
            ReplyError, ValueError, OSError, urllib3.exceptions.HTTPError: the resource cannot be read.

        """
        if not (path := self._path or self._find()):
            report("0")
            return
        # A list without a version is a consistent read: it shows everything that was written before this request.
        first = next(pages(self._api, path, PAGE, self._labels))
        report(wanted := first.metadata.resource_version)
        if not first.metadata.continue_:
            self._sink.replace((first,))
        elif not done() and not self._watch_until(path, wanted, done) and not done():
            self._read_list(path)

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stopped.is_set():
            try:
                self._advance()
            except ReplyError as error:
                if error.code in (BAD_REQUEST, GONE, NOT_FOUND):
                    # The resourceVersion is none or has expired, or the resource is served under another path now.
                    self._version = self._path = ""
                # Discovery needs other permissions.
                forbidden = error.code == FORBIDDEN and self._step != "discovery"
                self._failed(str(error), error.retry_after, WatchStatus.FORBIDDEN if forbidden else WatchStatus.FAILED)
            except ValueError as error:
                # Resuming there would return the same content, which cannot be decoded.
                self._version = ""
                self._failed(f"{type(error).__name__}: {error}")
            except TRANSPORT as error:
                self._failed(f"{type(error).__name__}: {error}")

    def _advance(self) -> None:
        """Find the path and list, as far as not done, and run one watch."""
        if not self._path:
            self._step = "discovery"
            self._path = self._find()
        if not self._path:
            self._sink.set_status(WatchStatus.NOT_SERVED, "")
            self._stopped.wait(UNSERVED_WAIT)
            return
        if not self._version:
            self._step = "list"
            self._version = self._read_list(self._path, own=True)
            self._active()
        self._step = "watch"
        self._watch()

    def _failed(self, reason: str, retry_after: float | None = None, status: WatchStatus = WatchStatus.FAILED) -> None:
        if self._stopped.is_set():
            return
        self._sink.set_status(status, reason)
        if self._step != self._failed_step:
            # The step that failed before has succeeded since.
            self._failed_step, self._wait = self._step, FIRST_WAIT
        # Up to half of the wait is random, so that workers and replicas do not return all at once.
        backoff = self._wait * random.uniform(0.5, 1.0)  # noqa: S311 - not for secrets
        self._stopped.wait(backoff if retry_after is None else min(max(retry_after, backoff), LONGEST_WAIT))
        self._wait = min(self._wait * 2, LONGEST_WAIT)

    def _active(self) -> None:
        self._sink.set_status(WatchStatus.ACTIVE, "")

    def _read_list(self, path: str, *, own: bool = False) -> str:
        """Pass all objects on, and return the version of the list, which is the thread's *own* or one to catch up."""
        try:
            return self._pass_pages(pages(self._api, path, PAGE, self._labels), own=own)
        except ReplyError as error:
            if error.code != GONE:
                raise
            # The continue token expired between two pages: list without pages.
            return self._pass_pages(pages(self._api, path, None, self._labels), own=own)

    def _pass_pages(self, read: Iterator[Page], *, own: bool) -> str:
        first = next(read)
        version = first.metadata.resource_version
        if own:
            if self._highest and version and not _reaches(version, self._highest):
                self._sink.set_status(WatchStatus.RESTORED, "")
            # Even if the list breaks off, the receiver has seen objects of this version.
            self._highest = version
        self._sink.replace(itertools.chain((first,), read))
        return version

    def _watch(self) -> None:
        """Apply events until the server ends the watch, which it does after some minutes."""
        seconds = WATCH_SECONDS + random.randrange(60)  # noqa: S311 - not for secrets
        began, silent = time.monotonic(), True
        response = self._api.open(self._path, _watch_query(self._version, seconds, self._labels), self._silence)
        try:
            self._active()
            for line in lines(response):
                event = _EVENT.decode(line)
                if event.type == "ERROR":
                    self._raise(event)
                self._version = self._highest = self._forward(event) or self._version
                self._active()
                silent, self._wait = False, FIRST_WAIT
                if self._stopped.is_set():
                    return
        except SILENT:
            # The resource is quiet, or the connection was forgotten on its way: the next watch is well in both cases.
            pass
        finally:
            # The rest of the stream is not needed, so the connection cannot be reused.
            response.close()
            if long_enough := time.monotonic() - began >= SHORTEST_WATCH:
                self._wait = FIRST_WAIT
        if silent and not long_enough:
            self._failed("the server ended the watch at once")

    def _raise(self, event: _Event) -> NoReturn:
        failure = FAILURE.decode(event.object)
        if failure.code != TOO_MANY:
            self._version = ""
        raise ReplyError(failure.code, failure.message)

    def _forward(self, event: _Event) -> str:
        """Pass an event on, and return the version up to which the receiver is complete; empty if the event has none."""
        version = _OBJECT.decode(event.object).metadata.resource_version
        self._sink.change(event.type, event.object, version)
        return version

    def _watch_until(self, path: str, wanted: str, done: Callable[[], bool]) -> bool:
        """Pass on what happened up to the version *wanted*, beside the thread's own watch; return False if the server did not show that."""
        while not (version := self._version):
            # The first list is under way, or the next one after an error.
            if done():
                return False
            self._stopped.wait(LIST_POLL)
        try:
            response = self._api.open(path, _watch_query(version, BOOKMARK_WATCH, self._labels), 2 * BOOKMARK_WATCH)
            with contextlib.closing(response):
                for line in lines(response):
                    event = _EVENT.decode(line)
                    if event.type == "ERROR":
                        return False
                    if done() or _reaches(self._forward(event), wanted):
                        return True
        except (ReplyError, ValueError, *TRANSPORT):
            # The list that follows fails for the same reason, or shows more.
            return False
        return False


def _watch_query(version: str, seconds: int, labels: str) -> Query:
    query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", version), ("timeoutSeconds", str(seconds))]
    return [*query, ("labelSelector", labels)] if labels else query


def _reaches(version: str, wanted: str) -> bool:
    """Return whether *version* is not older than *wanted*.  Versions of one resource are increasing integers (KEP-5504)."""
    return version.isdecimal() and wanted.isdecimal() and int(version) >= int(wanted)
