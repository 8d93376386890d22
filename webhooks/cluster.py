"""A Lookup from the API server: each kind is listed once and then watched, by a thread of its own.

Edge: kubernetes and msgspec.  The client's own models are not used: bytes become typed objects directly.
"""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Iterator, Sequence

import msgspec
import urllib3
from kubernetes import client, config

from validators.lookup import Lookup
from validators.model.decode import WrongShapeError, decode
from validators.model.objects import GROUP_OF, SCHEDULING, Object
from webhooks import journal
from webhooks.api_client import FAILURE, Api, ReplyError, lines
from webhooks.cache import Cache, CachedLookup
from webhooks.settings import SettingError, Settings

VERBS = ("get", "list", "watch")
VERSIONS = ("v1", "v1beta1", "v1alpha3")
"""Versions that are understood, the preferred first."""
PAGE = 500
WATCH_SECONDS = 240
FIRST_WAIT, LONGEST_WAIT, UNSERVED_WAIT = 0.5, 30.0, 60.0
GONE, NOT_FOUND = 410, 404


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """A kind that is watched, and the resource that it is in URLs and in RBAC."""

    kind: str
    resource: str

    @property
    def group(self) -> str:
        """Its API group."""
        return GROUP_OF[self.kind]


WATCHED = (
    Watched("Workload", "workloads"),
    Watched("PodGroup", "podgroups"),
    Watched("CompositePodGroup", "compositepodgroups"),
    Watched("PriorityClass", "priorityclasses"),
    Watched("Node", "nodes"),
)
PODS = Watched("Pod", "pods")
"""Watched only when asked for."""


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


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


# Made here and not on first use: msgspec must not look at a type for the first time in two threads at once.
_PAGE = msgspec.json.Decoder(_Page)
_EVENT = msgspec.json.Decoder(_Event)
_MARKED = msgspec.json.Decoder(_Marked)
_RESOURCES = msgspec.json.Decoder(_Resources)


class Watcher:
    """Keeps one cache: finds where the kind is served, lists, watches, and begins again when that fails."""

    def __init__(self, api: Api, watched: Watched, cache: Cache, stale_seconds: float) -> None:
        self._api, self._watched, self.cache, self._stale_seconds = api, watched, cache, stale_seconds
        self._stopped = threading.Event()
        self._wait = FIRST_WAIT
        self._path = ""
        self._version = ""

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self.run, name=f"watch-{self._watched.resource}", daemon=True).start()

    def stop(self) -> None:
        """End soon."""
        self._stopped.set()

    def run(self) -> None:
        """Keep the cache until stopped."""
        while not self._stopped.is_set():
            try:
                self._step()
            except ReplyError as error:
                if error.code in (GONE, NOT_FOUND):
                    # Too long ago to be watched from, or served elsewhere now: look again.
                    self._version = self._path = ""
                self._failed(str(error))
            except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
                self._failed(f"{type(error).__name__}: {error}")

    def _step(self) -> None:
        """Do the next thing that is to be done."""
        if not self._path:
            self._path = self._find()
        if not self._path:
            self.cache.not_served()
            self._stopped.wait(UNSERVED_WAIT)
            return
        if not self._version:
            self._list()
        self._watch()

    def _failed(self, reason: str) -> None:
        if reason != self.cache.complaint:
            journal.write("warning", "watch", {"kind": self.cache.kind, "reason": reason[:300]})
        self.cache.complaint = reason
        # Half of the wait is chance, so that workers and replicas do not come back all at once.
        self._stopped.wait(self._wait * random.uniform(0.5, 1.0))  # noqa: S311 - not for secrets
        self._wait = min(self._wait * 2, LONGEST_WAIT)

    def _well(self) -> None:
        self.cache.heard()
        self._wait = FIRST_WAIT

    def _find(self) -> str:
        """The path under which the kind is served, in the best version; empty if it is not."""
        if self._watched.group != SCHEDULING:
            return f"/api/v1/{self._watched.resource}"
        for version in VERSIONS:
            base = f"/apis/{SCHEDULING}/{version}"
            try:
                served = _RESOURCES.decode(self._api.read(base))
            except ReplyError as error:
                if error.code == NOT_FOUND:
                    continue
                raise
            if any(each.name == self._watched.resource for each in served.resources):
                return f"{base}/{self._watched.resource}"
        return ""

    def _list(self) -> None:
        found: list[Object] = []
        query = [("limit", str(PAGE))]
        while True:
            page = _PAGE.decode(self._api.read(self._path, query))
            found.extend(each for raw in page.items or () for each in self._decoded(raw))
            if not page.metadata.continue_:
                break
            query = [("limit", str(PAGE)), ("continue", page.metadata.continue_)]
        self.cache.replace(found)
        self._version = page.metadata.resource_version
        self._well()

    def _watch(self) -> None:
        """Follow changes until the server ends the watch, as it does after some minutes."""
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self._version),
            ("timeoutSeconds", str(WATCH_SECONDS + random.randrange(60))),  # noqa: S311 - not for secrets
        ]
        response = self._api.open(self._path, query, self._stale_seconds)
        try:
            self._well()
            for line in lines(response):
                self._take(_EVENT.decode(line))
                self._well()
                if self._stopped.is_set():
                    return
        finally:
            # The rest of the stream is of no use: the connection is not kept.
            response.close()

    def _take(self, event: _Event) -> None:
        if event.type == "ERROR":
            failure = FAILURE.decode(event.object)
            raise ReplyError(failure.code, failure.message)
        if event.type != "BOOKMARK":
            for each in self._decoded(event.object):
                if event.type == "DELETED":
                    self.cache.remove(each)
                else:
                    self.cache.put(each)
        self._version = _MARKED.decode(event.object).metadata.resource_version or self._version

    def _decoded(self, raw: msgspec.Raw) -> Iterator[Object]:
        try:
            yield decode(self.cache.kind, raw)
        except WrongShapeError as error:
            journal.write("warning", "watch", {"kind": self.cache.kind, "reason": f"an object is left out: {error}"[:300]})


class Cluster:
    """A Source for the server: the caches of one worker, started after the fork."""

    def __init__(self, configuration: client.Configuration, settings: Settings) -> None:
        self._configuration, self._settings = configuration, settings
        self.caches: tuple[Cache, ...] = ()
        self.watchers: tuple[Watcher, ...] = ()

    def start(self) -> Lookup:
        """See webhooks.server.Source."""
        for kind in GROUP_OF:
            decode(kind, b"{}")
        seconds = self._settings.stale_seconds
        api = Api(self._configuration)
        watched = (*WATCHED, PODS) if self._settings.watch_pods else WATCHED
        self.watchers = tuple(Watcher(api, each, Cache(each.kind, seconds), seconds) for each in watched)
        self.caches = tuple(each.cache for each in self.watchers)
        for each in self.watchers:
            each.start()
        return CachedLookup(self.caches)

    def unsynced(self) -> Sequence[str]:
        """Reasons to wait with the first reviews.  A cache that goes stale later is none: it counts as unknown."""
        return [
            f"{each.kind} objects are not listed yet{f': {each.complaint}' if each.complaint else ''}"
            for each in self.caches
            if each.served and not each.listed
        ]


def connect(settings: Settings) -> Cluster:
    """Where the API server is, and who we are to it.

    Raises:
        SettingError: neither a kubeconfig that can be used nor a pod's service account.
    """
    configuration = client.Configuration()
    try:
        if settings.kubeconfig:
            config.load_kube_config(settings.kubeconfig, client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError, ValueError, TypeError) as error:
        where = settings.kubeconfig or "the pod's service account"
        raise SettingError(f"--cluster: cannot use {where}: {' '.join(str(error).split())}") from None
    # The watchers try again by themselves, and one connection each is enough.
    configuration.retries = False
    configuration.connection_pool_maxsize = len(WATCHED) + 2
    return Cluster(configuration, settings)
