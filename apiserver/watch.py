"""One resource, listed once and then watched, for as long as it is wanted.

A watch is taken up where it ended, by the version of the last event or bookmark.  All is listed again where that is too long
ago (HTTP 410), and where the server cannot go on from there or says what cannot be read, which would only come again.
Failures wait, longer each time until something is heard, or as long as the server asks.
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

PAGE = 500
WATCH_SECONDS = 240
FIRST_WAIT, LONGEST_WAIT, UNSERVED_WAIT = 0.5, 30.0, 60.0
SHORTEST_WATCH = 1.0
"""Seconds: a watch that ends sooner, and said nothing, has failed, however politely it ended."""
GONE, NOT_FOUND, TOO_MANY = 410, 404, 429


class Standing(enum.Enum):
    """How it stands with a resource."""

    HEARD = "the server has just been in touch"
    FAILED = "the last attempt to list or watch failed"
    UNSERVED = "the server does not have it"


class Sink(Protocol):
    """Who is told.  All calls come from one thread; each object is the JSON text of one."""

    def replace(self, objects: Sequence[msgspec.Raw]) -> None:
        """These are all there are."""

    def change(self, event: str, content: msgspec.Raw) -> None:
        """One was ADDED, MODIFIED or DELETED."""

    def report_standing(self, standing: Standing, reason: str) -> None:
        """How it stands; *reason* is empty unless it failed."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] | None = None
    metadata: _Metadata = _Metadata()


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


class _Marked(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_PAGE = msgspec.json.Decoder(_Page)
_EVENT = msgspec.json.Decoder(_Event)
_MARKED = msgspec.json.Decoder(_Marked)


class Watcher:
    """Follows one resource.

    *find* answers with its path, empty where it is not served; it is asked again after a 404.  *silence* is how many
    seconds a watch may say nothing before it is begun anew.
    """

    def __init__(self, api: Api, find: Callable[[], str], sink: Sink, *, silence: float, name: str = "") -> None:
        self._api, self._find, self._sink, self._silence, self._name = api, find, sink, silence, name
        self._stopped = threading.Event()
        self._wait = FIRST_WAIT
        self._path = ""
        self._version = ""

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self.run, name=f"watch-{self._name}", daemon=True).start()

    def stop(self) -> None:
        """End soon."""
        self._stopped.set()

    def run(self) -> None:
        """Follow until stopped."""
        while not self._stopped.is_set():
            try:
                self._step()
            except ReplyError as error:
                if error.code in (GONE, NOT_FOUND):
                    # Too long ago to be watched from, or served elsewhere now: look again.
                    self._version = self._path = ""
                self._failed(str(error), error.retry_after)
            except ValueError as error:
                # What cannot be read would come again from there.
                self._version = ""
                self._failed(f"{type(error).__name__}: {error}")
            except TRANSPORT as error:
                self._failed(f"{type(error).__name__}: {error}")

    def _step(self) -> None:
        """Do the next thing that is to be done."""
        if not self._path:
            self._path = self._find()
        if not self._path:
            self._sink.report_standing(Standing.UNSERVED, "")
            self._stopped.wait(UNSERVED_WAIT)
            return
        if not self._version:
            self._list()
        self._watch()

    def _failed(self, reason: str, asked: float | None = None) -> None:
        if self._stopped.is_set():
            return
        self._sink.report_standing(Standing.FAILED, reason)
        # Half of the wait is chance, so that workers and replicas do not come back all at once.
        chosen = self._wait * random.uniform(0.5, 1.0)  # noqa: S311 - not for secrets
        self._stopped.wait(chosen if asked is None else min(max(asked, chosen), LONGEST_WAIT))
        self._wait = min(self._wait * 2, LONGEST_WAIT)

    def _heard(self) -> None:
        self._sink.report_standing(Standing.HEARD, "")

    def _list(self) -> None:
        try:
            found, version = self._listed([("limit", str(PAGE))])
        except ReplyError as error:
            if error.code != GONE:
                raise
            # It took too long for the pages to be of one moment: all at once, then.
            found, version = self._listed([])
        self._sink.replace(found)
        self._version = version
        self._heard()

    def _listed(self, query: list[tuple[str, str]]) -> tuple[list[msgspec.Raw], str]:
        found: list[msgspec.Raw] = []
        following = query
        while True:
            page = _PAGE.decode(self._api.read(self._path, following))
            found.extend(page.items or ())
            if not page.metadata.continue_:
                return found, page.metadata.resource_version
            following = [*query, ("continue", page.metadata.continue_)]

    def _watch(self) -> None:
        """Follow changes until the server ends the watch, as it does after some minutes."""
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self._version),
            ("timeoutSeconds", str(WATCH_SECONDS + random.randrange(60))),  # noqa: S311 - not for secrets
        ]
        began, silent = time.monotonic(), True
        response = self._api.open(self._path, query, self._silence)
        try:
            self._heard()
            for line in lines(response):
                self._take(_EVENT.decode(line))
                self._heard()
                silent, self._wait = False, FIRST_WAIT
                if self._stopped.is_set():
                    return
        finally:
            # The rest of the stream is of no use: the connection is not kept.
            response.close()
            if lasted := time.monotonic() - began >= SHORTEST_WATCH:
                self._wait = FIRST_WAIT
        if silent and not lasted:
            self._failed("the server ended the watch at once")

    def _take(self, event: _Event) -> None:
        if event.type == "ERROR":
            failure = FAILURE.decode(event.object)
            if failure.code != TOO_MANY:
                self._version = ""
            raise ReplyError(failure.code, failure.message)
        version = _MARKED.decode(event.object).metadata.resource_version
        if event.type != "BOOKMARK":
            self._sink.change(event.type, event.object)
        self._version = version or self._version
