"""List and watch of one resource.

A watch resumes at the resourceVersion of the last event or bookmark.  The resource is listed again if that version has expired
(HTTP 410), after an error event, and after an event that cannot be decoded, which would only repeat.  Failures back off
exponentially until the next event or the next step (discovery, list, watch), or as long as ``Retry-After`` requires.
"""

from __future__ import annotations

import enum
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from apiserver.api import FAILURE, TRANSPORT, Api, ReplyError, lines
from apiserver.pages import PAGE, PageMetadata, pages

WATCH_SECONDS = 240
FIRST_WAIT, LONGEST_WAIT, UNSERVED_WAIT = 0.5, 30.0, 60.0
SHORTEST_WATCH = 1.0
"""Seconds; a watch without events that ends sooner counts as failed, even if it ended without an error."""
FORBIDDEN, GONE, NOT_FOUND, TOO_MANY = 403, 410, 404, 429


class WatchStatus(enum.Enum):
    """Status of a watched resource."""

    ACTIVE = "the server has just responded or sent an event"
    FAILED = "the last attempt to list or watch failed"
    FORBIDDEN = "the server forbids to list or watch"
    NOT_SERVED = "the server does not have the resource"


class Sink(Protocol):
    """Receiver of objects and events, as JSON texts.  One thread makes all calls."""

    def replace(self, objects: Sequence[msgspec.Raw]) -> None:
        """Replace all objects by *objects*, the result of a list."""

    def change(self, event: str, content: msgspec.Raw) -> None:
        """Apply an event ADDED, MODIFIED or DELETED to one object."""

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
    time in seconds after which a watch without events is restarted.
    """

    def __init__(self, api: Api, find: Callable[[], str], sink: Sink, *, silence: float, name: str = "") -> None:
        self._api, self._find, self._sink, self._silence, self._name = api, find, sink, silence, name
        self._stopped = threading.Event()
        self._wait = FIRST_WAIT
        self._step = self._failed_step = ""
        self._path = ""
        self._version = ""

    def start(self) -> None:
        """Start a thread that ends with the process."""
        threading.Thread(target=self.run, name=f"watch-{self._name}", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current event or wait."""
        self._stopped.set()

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stopped.is_set():
            try:
                self._advance()
            except ReplyError as error:
                if error.code in (GONE, NOT_FOUND):
                    # The resourceVersion has expired, or the resource is served under another path now.
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
            self._list()
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

    def _list(self) -> None:
        try:
            objects, version = self._read_pages(PAGE)
        except ReplyError as error:
            if error.code != GONE:
                raise
            # The continue token expired between two pages: list without pages.
            objects, version = self._read_pages(None)
        self._sink.replace(objects)
        self._version = version
        self._active()

    def _read_pages(self, limit: int | None) -> tuple[list[msgspec.Raw], str]:
        objects: list[msgspec.Raw] = []
        version = ""
        for page in pages(self._api, self._path, limit):
            objects.extend(page.items or ())
            version = page.metadata.resource_version
        return objects, version

    def _watch(self) -> None:
        """Apply events until the server ends the watch, which it does after some minutes."""
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self._version),
            ("timeoutSeconds", str(WATCH_SECONDS + random.randrange(60))),  # noqa: S311 - not for secrets
        ]
        began, silent = time.monotonic(), True
        response = self._api.open(self._path, query, self._silence)
        try:
            self._active()
            for line in lines(response):
                self._apply(_EVENT.decode(line))
                self._active()
                silent, self._wait = False, FIRST_WAIT
                if self._stopped.is_set():
                    return
        finally:
            # The rest of the stream is not needed, so the connection cannot be reused.
            response.close()
            if long_enough := time.monotonic() - began >= SHORTEST_WATCH:
                self._wait = FIRST_WAIT
        if silent and not long_enough:
            self._failed("the server ended the watch at once")

    def _apply(self, event: _Event) -> None:
        if event.type == "ERROR":
            failure = FAILURE.decode(event.object)
            if failure.code != TOO_MANY:
                self._version = ""
            raise ReplyError(failure.code, failure.message)
        version = _OBJECT.decode(event.object).metadata.resource_version
        if event.type != "BOOKMARK":
            self._sink.change(event.type, event.object)
        self._version = version or self._version
