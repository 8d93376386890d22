"""Changes of objects as an observer has seen them: by watches of the API server itself, past every proxy."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.cluster.api import GONE, Api, ApiError
from tests.cluster.follower import Follower
from tests.cluster.resources import Manifest

KINDS = ("Pod", "Node", "PodGroup", "CompositePodGroup", "ResourceClaim", "Event", "Lease")
WATCH_SECONDS = 3.0
Key = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One change.

    Attributes:
        order: resourceVersion: one number counts the changes of all kinds.
        gone: whether the object was deleted.
        object: the object after the change, the last state if it was deleted.
        at: seconds of a monotonic clock at which it was seen.

    """

    order: float
    gone: bool
    object: Manifest
    at: float = 0.0

    @property
    def key(self) -> Key:
        return key_of(self.object)


def key_of(each: Manifest) -> Key:
    return each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]


class History:
    """Changes of all kinds; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._last: dict[str, dict[Key, Manifest]] = {}

    def add(self, what: str, each: Manifest) -> None:
        """Record an event of a watch."""
        with self._lock:
            self._record(Seen(float(each["metadata"]["resourceVersion"]), what == "DELETED", each, time.monotonic()))

    def add_list(self, kind: str, listed: Iterable[Manifest], since: float) -> None:
        """Record a list, after the watch was ended at version *since*: what came in between is not known.

        What changed counts as absent from *since* on until its own version: so nothing is seen on a node longer than it was.
        """
        with self._lock:
            there = {key_of(each): each for each in listed}
            last = dict(self._last.get(kind, {}))
            changed = [key for key in last if key not in there or _version(last[key]) != _version(there[key])]
            for key in changed:
                self._record(Seen(since + 0.5, True, last[key], time.monotonic()))
            for key, each in there.items():
                if key not in last or key in changed:
                    self._record(Seen(float(_version(each)), False, each, time.monotonic()))

    def _record(self, seen: Seen) -> None:
        self._seen.append(seen)
        last = self._last.setdefault(seen.key[0], {})
        if seen.gone:
            last.pop(seen.key, None)
        else:
            last[seen.key] = seen.object

    def ordered(self) -> list[Seen]:
        """Return all changes in their order."""
        with self._lock:
            return sorted(self._seen, key=lambda each: each.order)

    def last_change(self, kinds: Sequence[str]) -> float:
        """Return the version of the last change of these kinds that was seen."""
        with self._lock:
            return max((each.order for each in self._seen if each.object["kind"] in kinds), default=0.0)

    def write(self, path: Path) -> None:
        """Write all changes, one JSON document a line."""
        lines = (json.dumps({"order": each.order, "gone": each.gone, "object": each.object, "at": each.at}) for each in self.ordered())
        path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")


def read(path: Path) -> Iterator[Seen]:
    """Yield the changes of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield Seen(**json.loads(line))


def _version(each: Manifest) -> str:
    version: str = each["metadata"]["resourceVersion"]
    return version


class Observer(Follower):
    """Watch of one kind, which goes on where it was broken; a context manager."""

    def __init__(self, api: Api, kind: str, history: History) -> None:
        super().__init__(api)
        self.kind, self._history, self._since = kind, history, ""  # type: ignore[misc]
        self._ended_at = 0.0

    def saw(self, what: str, each: Manifest) -> None:
        """Record an event."""
        self._history.add(what, {"kind": self.kind, **each})

    def _follow(self) -> None:
        if not self._since:
            listed, since = self._api.listed(self.kind)
            self._history.add_list(self.kind, listed, self._ended_at)
            self._since = since
        try:
            for what, each in self._api.watch(self.kind, since=self._since, seconds=WATCH_SECONDS, allowWatchBookmarks="true"):
                self._since = each["metadata"]["resourceVersion"]
                if what != "BOOKMARK":
                    self.saw(what, each)
                if self._stopped.is_set():
                    return
        except ApiError as error:
            if error.code != GONE:
                raise
            self._ended_at, self._since = float(self._since), ""
