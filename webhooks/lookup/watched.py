"""Lookup from the API server: one thread for each resource lists it once and then watches it.

Edge: msgspec: bytes are decoded into our types directly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from apiserver.api import Api
from apiserver.connect import ConnectError, find_connection
from apiserver.connection import Connection
from apiserver.discovery import base_path, path_of
from apiserver.pages import Page
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from kubeapi.decode import WrongShapeError
from kubeapi.versions.served_versions import Resource, resources
from validators.model.objects import KINDS, Object, decode_kind
from validators.object_lookup import Lookup
from validators.options import OptionError
from webhooks import log
from webhooks.lookup.object_cache import Cache, CachedLookup
from webhooks.settings import Settings

WATCHED = tuple(each for kind in ("Workload", "PodGroup", "CompositePodGroup", "PriorityClass", "Node") for each in resources(kind))
"""Resources that are watched, of a kind those of all API groups."""
PODS = resources("Pod")
"""Watched only with ``watch_pods``."""


class CacheSink:
    """Sink (``apiserver.watch.Sink``) that updates one cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def replace(self, pages: Iterable[Page]) -> None:
        """See Sink."""
        self._cache.replace(each for page in pages for raw in page.items or () for each in self._decoded(raw))

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:  # noqa: ARG002
        """See Sink."""
        for each in self._decoded(content) if event != BOOKMARK else ():
            if event == "DELETED":
                self._cache.remove(each)
            else:
                self._cache.add_or_update(each)

    def set_status(self, status: WatchStatus, reason: str) -> None:
        """See Sink.  A failure is logged once, until the next contact; the cache becomes stale with time."""
        if status is WatchStatus.ACTIVE:
            self._cache.record_contact()
        elif status is WatchStatus.NOT_SERVED:
            self._cache.not_served()
        elif status is WatchStatus.RESTORED:
            # Versions are not compared.
            return
        else:
            if reason != self._cache.error:
                log.write("warning", "watch", {"kind": self._cache.name, "reason": reason[:300]})
            self._cache.error = reason

    def _decoded(self, raw: msgspec.Raw) -> Iterator[Object]:
        try:
            yield decode_kind(self._cache.kind, raw)
        except WrongShapeError as error:
            log.write("warning", "watch", {"kind": self._cache.name, "reason": f"an object is left out: {error}"[:300]})


def watcher(api: Api, watched: Resource, cache: Cache, stale_seconds: float) -> Watcher:
    """Return the watcher that keeps *cache* up to date: it discovers the kind's path, lists, watches, and retries."""

    def find() -> str:
        if not watched.group:
            return f"{base_path(watched.api_versions[0])}/{watched.resource}"
        return path_of(api, watched.resource, watched.api_versions)

    return Watcher(api, find, CacheSink(cache), silence=stale_seconds, name=watched.name)


class Cluster:
    """Source of a lookup over watched caches, which each worker starts after the fork."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection, self._settings = connection, settings
        self.caches: tuple[Cache, ...] = ()
        self.watchers: tuple[Watcher, ...] = ()

    def start(self) -> Lookup:
        """See webhooks.lookup.source.Source."""
        for kind in KINDS:
            decode_kind(kind, b"{}")
        seconds = self._settings.stale_seconds
        api = Api(self._connection)
        watched = (*WATCHED, *PODS) if self._settings.watch_pods else WATCHED
        self.caches = tuple(Cache(each.kind, seconds, name=each.name, group=each.group) for each in watched)
        self.watchers = tuple(watcher(api, each, cache, seconds) for each, cache in zip(watched, self.caches, strict=True))
        for each in self.watchers:
            each.start()
        return CachedLookup(self.caches)

    def unsynced(self) -> Sequence[str]:
        """Return the kinds that are not listed yet.  A stale cache is not among them: its objects are unknown."""
        return [
            f"{each.name} objects are not listed yet{f': {each.error}' if each.error else ''}"
            for each in self.caches
            if each.served and not each.listed
        ]


def connect(settings: Settings) -> Cluster:
    """Return the Source that connects as *settings* say.

    Raises:
        OptionError: there is no usable kubeconfig and no pod's service account.
    """
    try:
        connection = find_connection(settings.kubeconfig or None, settings.context or None)
    except ConnectError as error:
        where = f"{settings.kubeconfig}: " if settings.kubeconfig and settings.kubeconfig not in str(error) else ""
        raise OptionError(f"--cluster: there is no cluster to watch: {where}{error}; give --kubeconfig or --context") from None
    # One connection for each watcher is enough.
    return Cluster(dataclasses.replace(connection, pooled=len(WATCHED) + 2), settings)
