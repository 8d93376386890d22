"""Watch streams that lie: a store behind a watcher must equal the truth once the server is honest again."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from apiserver.api import Api
from apiserver.pages import Page
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from scheduler_core.cluster.load import load
from scheduler_core.sidecar.cache.cache import RESOURCES, Cache
from tests.apiserver.fake import serving
from tests.apiserver.scripted_watch import Stopped, broken, error_event, failed, line, watched
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import DoesNotHoldError, Memory, attempt
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar.histories import Event, Server, raw, told

EXAMPLES = 600
SECONDS = 20.0
SILENCE = 0.05
"""Seconds after which the watcher gives up a silent watch."""
LIES, MOST_REQUESTS = 6, 40
"""Answers of each kind that can be lies, and requests after them within which the store must be complete."""
KINDS = ("Node", "PodGroup", "Pod")
FUTURE = 10**6
STALLED = b"stalled"
NONSENSE = (
    *(b"<html>\n", b"\xff\xfe\n", b"\n", b"null\n", b"[]\n", b"{}\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":null}\n', b'"' * 99 + b"\n"),
    *(b'{"type":"OTHER","object":{}}\n', b'{"type":"MODIFIED","object":{"metadata":[]}}\n', b'{"type":1,"object":{}}\n', b"[" * 5000 + b"\n"),
    *(b'{"type":"ADDED","object":{"metadata":{"resourceVersion":7}}}\n', b'{"type":"DELETED","object":{"kind":"Pod"}}\n', b'{"type":"ADDED","obj\n'),
    *(b'{"type":"BOOKMARK","object":{}}\n', b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"x"}}}\n', b'{"type":"ERROR","object":{}}\n'),
)  # fmt: skip
Answer = tuple[int, dict[str, Any], Any]


class Liar:
    """Server whose objects change while it answers, and whose first answers of each kind can be lies."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.server, self.kind = Server(), KINDS[0]
        self.lies, self.requests = 0, 0
        self._lock = threading.Lock()
        self.stopped = Stopped()
        self.seen: list[str] = []
        """Names of the lies that were told."""

    def change(self) -> None:
        """Put or delete some objects of the kind that is served."""
        for _ in range(self.chance.randint(0, 4)):
            there = sorted(name for name in self.server.objects if name[0] == self.kind)
            if there and self.chance.random() < 0.3:
                self.server.delete(self.chance.choice(there))
            else:
                self.server.put(self._thing())

    def _thing(self) -> Any:
        name, number = self.chance.choice("abcd"), self.chance.randint(1, 4)
        match self.kind:
            case "Node":
                return node(name, cpu=str(number))
            case "PodGroup":
                each = leaf(name, number)
                each["metadata"]["creationTimestamp"] = f"2026-08-01T00:00:0{number}Z"
                return each
            case _:
                return pod(name, self.chance.choice(("", "a", "b")), on=self.chance.choice(("", "a", "b")))

    def begin(self, kind: str) -> None:
        """Serve another kind, of which there may be objects."""
        self.kind, self.lies, self.requests = kind, self.chance.randint(0, LIES), 0
        self.stopped = Stopped()
        self.change()

    def answer(self, _: str, path: str, __: bytes) -> Answer:
        """Answer a list or a watch."""
        with self._lock:
            code, headers, content = self._answered(*urlsplit(path)[2:4])
        if content is STALLED:
            time.sleep(2 * SILENCE)
            content = b""
        return code, headers, content

    def _answered(self, path: str, query_string: str) -> Answer:
        if self.stopped.is_set() or not path.endswith(self.kind):
            # The client gave up this request, and has made others since.
            return failed(500)
        query = {key: values[0] for key, values in parse_qs(query_string).items()}
        self.requests += 1
        if self.requests > MOST_REQUESTS:
            self.stopped.set()
            return failed(500)
        is_lie = self.lies > 0
        self.lies -= is_lie
        if is_lie:
            self.change()
        if "watch" in query:
            version = query["resourceVersion"]
            return self._watch(int(version), is_lie=is_lie) if version.isdecimal() else failed(400)
        return self._lying_list() if is_lie and self.chance.random() < 0.6 else self._list(self.server.version)

    def _events(self) -> list[tuple[int, Event]]:
        return [
            (int(each["metadata"]["resourceVersion"]), (event, each)) for event, each in self.server.events if each["kind"] == self.kind
        ]

    def _list(self, version: int) -> Answer:
        there: dict[str, Any] = {}
        for number, (event, each) in self._events():
            if number <= version:
                there.pop(each["metadata"]["name"], None)
                there |= {} if event == "DELETED" else {each["metadata"]["name"]: each}
        return 200, {}, {"items": [*there.values()], "metadata": {"resourceVersion": str(version)}}

    def _lying_list(self) -> Answer:
        lies: dict[str, Callable[[], Answer]] = {
            "an old list": lambda: self._list(self.chance.randint(1, self.server.version) if self.server.version else 0),
            "a failed list": lambda: failed(self.chance.choice((500, 429, 410, 403, 503, 504))),
            "half a list": lambda: (200, {}, json.dumps(self._list(self.server.version)[2]).encode()[:-2]),
            "no list": lambda: (200, {}, self.chance.choice(NONSENSE)),
        }
        return self._told(lies)

    def _told(self, lies: dict[str, Callable[[], Answer]]) -> Answer:
        name = self.chance.choice(list(lies))
        self.seen.append(f"{self.kind}: {name}")
        return lies[name]()

    def _watch(self, version: int, *, is_lie: bool) -> Answer:
        if version > self.server.version:
            return error_event(504)
        lines = [line(event, each) for number, (event, each) in self._events() if number > version]
        if not is_lie or self.chance.random() < 0.2:
            if not is_lie and not lines and version == self.server.version:
                self.stopped.set()
            return watched(*lines, self._bookmark(self.server.version))
        return self._lying_watch(version, lines)

    def _bookmark(self, version: int) -> bytes:
        return line(BOOKMARK, {"kind": self.kind, "metadata": {"resourceVersion": str(version)}})

    def _lying_watch(self, version: int, lines: list[bytes]) -> Answer:
        # Events that the watcher would miss for ever are no part of a lie: no receiver could notice.
        some = lines[: self.chance.randint(0, len(lines))]
        past = [line(event, each) for number, (event, each) in self._events() if number <= version]
        old = self.chance.choices(past, k=self.chance.randint(1, 5)) if past else []
        again = self.chance.choices([*past, *some], k=self.chance.randint(1, 5)) if past or some else []
        lies: dict[str, Callable[[], Answer]] = {
            "repeated": lambda: watched(*(each for one in lines for each in [one] * self.chance.randint(1, 3))),
            "back in time": lambda: watched(*some, *again),
            "old events first": lambda: watched(*old, *lines),
            "back in time and gone": lambda: watched(*old, *lines, line("ERROR", {"kind": "Status", "code": 410})),
            "cut": lambda: broken(*some, *(each[: self.chance.randint(1, len(each) - 1)] for each in lines[len(some) : len(some) + 1])),
            "nonsense": lambda: watched(*some, self.chance.choice(NONSENSE), *lines[len(some) :]),
            "old bookmark": lambda: watched(*lines, self._bookmark(self.chance.randint(0, version))),
            "bookmark of the future": lambda: watched(*some, self._bookmark(self.server.version + FUTURE)),
            "error": lambda: self.chance.choice((error_event, failed))(self.chance.choice((410, 429, 500, 504, 403, 404))),
            "stall": lambda: (200, {}, STALLED),
            "nothing": watched,
        }
        return self._told(lies)


class StoreSink:
    """Gives a store what a watcher receives, as the sidecar's loop does."""

    def __init__(self, store: Cache, resource: str) -> None:
        self._store, self._resource = store, resource

    def replace(self, pages: Iterable[Page]) -> None:
        """See Sink."""
        first = True
        for page in pages:
            objects, last = [bytes(each) for each in page.items or ()], not page.metadata.continue_
            self._store.replace(self._resource, objects, page.metadata.resource_version, first=first, last=last)
            first = False

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:
        """See Sink."""
        if event != BOOKMARK:
            self._store.apply(self._resource, event, bytes(content))
        self._store.complete(self._resource, version)

    def set_status(self, status: WatchStatus, _reason: str) -> None:
        """See Sink."""
        if status is WatchStatus.RESTORED:
            self._store.forget_versions(self._resource)


def follow(api: Api, liar: Liar, make: Callable[[Cache, str], StoreSink] = StoreSink) -> Cache:
    """Return a store that has followed all kinds, each until its stream was honest and had nothing more to say."""
    store = Cache()
    for resource in set(RESOURCES) - set(KINDS):
        store.replace(resource, ())
    for kind in KINDS:
        liar.begin(kind)
        watcher = Watcher(api, f"/api/v1/{kind}".__str__, make(store, kind), silence=SILENCE, name=kind)
        watcher._stopped = liar.stopped  # type: ignore[assignment]
        watcher.run()
        if liar.requests > MOST_REQUESTS:
            raise DoesNotHoldError(f"{kind}: not complete after {MOST_REQUESTS} requests; lies: {liar.seen}")
    return store


def compare(liar: Liar, store: Cache) -> None:
    """Compare a store with the truth.  Raises DoesNotHoldError."""
    wanted, got = told(load([raw(each) for each in liar.server.objects.values()])), told(store.snapshot())
    if different := [key for key in wanted if wanted[key] != got[key]]:
        raise DoesNotHoldError(f"lies: {liar.seen}; {different[0]}: {got[different[0]]} instead of {wanted[different[0]]}")


_MEMORY = Memory()


def run(seed: int, count: int = EXAMPLES, make: Callable[[Cache, str], StoreSink] = StoreSink) -> Round:
    """Follow *count* servers, one after the other."""
    liars: list[Liar] = []
    with serving(lambda *request: liars[-1].answer(*request)) as (fake, api):  # noqa: PLW0108 - there is another liar for each example
        # The watcher closes connections that stall.
        fake.handle_error = lambda *_: None

        def check(number: int) -> None:
            fake.requests.clear()
            liars[:] = [Liar(seed * 1_000_000 + number)]
            compare(liars[-1], follow(api, liars[-1], make))

        return attempt(range(count), check, SECONDS, _MEMORY)


CAMPAIGN = Campaign(
    "watch",
    "watch streams that repeat, stall, break, go back in time, send nonsense and bookmarks out of order",
    "the sidecar's store equals the cluster once the stream is honest",
    20_000,
    run,
)
