"""Threads that react to the objects of one kind, as kubelets and provisioners do."""

from __future__ import annotations

import abc
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import ClassVar, Self

import urllib3

from tests.cluster.api import Api, ApiError
from tests.cluster.resources import Manifest
from tests.cluster.waiting import WAIT_SECONDS

PAUSE_SECONDS = 0.1
WATCH_SECONDS = 1.0


class Follower(abc.ABC):
    """Thread that lists the objects of ``kind`` and watches them; a context manager.

    While the API server is away, as in some tests, it tries again: ``troubles`` has the errors.
    """

    kind: ClassVar[str]
    query: ClassVar[dict[str, str]] = {}
    """Further parameters of list and watch, as a field selector."""
    list_seconds: ClassVar[float] = 60.0
    """Time after which all objects are listed again."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stopped = threading.Event()
        self.troubles: list[str] = []
        self._thread = threading.Thread(target=self._run, name=type(self).__name__.lower(), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join(WAIT_SECONDS)

    def saw_list(self, listed: Sequence[Manifest]) -> None:
        """React to a list of all objects."""
        for each in listed:
            self.saw("ADDED", each)

    @abc.abstractmethod
    def saw(self, what: str, each: Manifest) -> None:
        """React to an object that was ADDED, MODIFIED or DELETED."""

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except (ApiError, OSError, urllib3.exceptions.HTTPError) as error:
                self.troubles.append(f"{type(error).__name__}: {error}")
                self._stopped.wait(PAUSE_SECONDS)

    def _follow(self) -> None:
        """List, and watch until it is time for the next list; short watches, since only their end ends the thread."""
        listed, since = self._api.listed(self.kind, **self.query)
        self.saw_list(listed)
        end = time.monotonic() + self.list_seconds
        while not self._stopped.is_set() and time.monotonic() < end:
            watched = self._api.watch(self.kind, since=since, seconds=WATCH_SECONDS, **self.query, allowWatchBookmarks="true")
            for what, each in watched:
                since = each["metadata"]["resourceVersion"]
                if what != "BOOKMARK":
                    self.saw(what, each)
                if self._stopped.is_set():
                    return
