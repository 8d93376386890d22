"""Search for claims for which an earlier process selected a node, and which got no volume.

Claims are watched only once a pod needs them.  The pods of an earlier process can be deleted while no process runs, so a new leader
lists the claims once.  Edge: a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.discovery import path_of
from apiserver.pages import PAGE, pages
from apiserver.watch import GONE
from kubeapi.gathered import GatheredObjects
from kubeapi.versions.served_versions import resource
from scheduler_core.sidecar.cache.freshness import read_head
from scheduler_core.sidecar.cache.volume_cache import VolumeCache
from scheduler_core.sidecar.client.requests import SELECTED_NODE

RETRY_SECONDS = 30.0
"""Interval between attempts to list the claims."""
_CLAIMS = resource("PersistentVolumeClaim")
_MARK = SELECTED_NODE.encode()
_LONGEST = 300


class LeftOverClaims:
    """Searches; *found* is called in another thread once *field_manager* has left such a claim, *log* with each new failure."""

    def __init__(self, api: Api, field_manager: str, found: Callable[[], None], log: Callable[[str], None]) -> None:
        self._api, self._field_manager, self._found, self._log = api, field_manager, found, log
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start a search in a thread, with retries until the claims are listed."""
        threading.Thread(target=self._run, name="left-over-claims", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current request."""
        self._stopped.set()

    def exist(self) -> bool:
        """Return whether there is such a claim.

        Raises:
            ReplyError, ValueError, OSError, urllib3.exceptions.HTTPError: the claims cannot be listed.

        """
        if not (path := path_of(self._api, _CLAIMS.resource, _CLAIMS.api_versions)):
            return False
        try:
            return self._exist_at(path, PAGE)
        except ReplyError as error:
            if error.code != GONE:
                raise
            # The continue token expired between two pages: list without pages.
            return self._exist_at(path, None)

    def _exist_at(self, path: str, limit: int | None) -> bool:
        return any(self._is_left_over(each) for page in pages(self._api, path, limit) for each in page.items or ())

    def _is_left_over(self, raw: msgspec.Raw) -> bool:
        # Most claims are not annotated, and decoding is much slower than this.
        if _MARK not in bytes(raw) or (head := read_head(_CLAIMS.kind, raw)) is None:
            return False
        cache, name = VolumeCache(), head[1]
        cache.add_or_update(GatheredObjects(_CLAIMS.kind, _CLAIMS.api_versions[0], raw), name)
        return self._field_manager in cache.selected.get(name, ())

    def _run(self) -> None:
        last = ""
        while not self._stopped.is_set():
            try:
                if self.exist():
                    self._found()
                return
            except (ReplyError, ValueError, *TRANSPORT) as error:
                reason = f"{type(error).__name__}: {error}"[:_LONGEST]
            if reason != last:
                self._log(reason)
            last = reason
            self._stopped.wait(RETRY_SECONDS)
