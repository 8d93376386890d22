"""Events, each told once: equal ones raise a count, and an object that has too many is told no more for a while.

Sources: events.k8s.io/v1; the limits are those of Kubernetes' own clients (25 at once for an object, then one in five minutes).
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
from typing import Any

from scheduler_core.sidecar.writes import RecordEvent, Ref

BURST = 25
REFILL_SECONDS = 300.0
FORGET_SECONDS = 3600.0
REMEMBERED = 4096
"""Events and objects that are remembered; the oldest are forgotten first."""
_NOTE, _INSTANCE = 1024, 128
"""Bytes of an event's note, and of who reports it: the API server refuses an event that has more."""
_NAME = 200
"""Characters of an object's name that its events bear."""

Json = dict[str, Any]


@dataclasses.dataclass(slots=True)
class _Told:
    name: str
    count: int
    last: float


@dataclasses.dataclass(slots=True)
class _Bucket:
    left: float
    at: float


@dataclasses.dataclass(frozen=True, slots=True)
class Posting:
    """An event to be made (*count* 1), or to be counted."""

    name: str
    namespace: str
    count: int
    body: Json


class EventRecorder:
    """Decides what is posted; told the time, as seconds of a clock and as RFC 3339 with microseconds."""

    def __init__(self, controller: str, instance: str) -> None:
        self._controller, self._instance = controller, _within(instance, _INSTANCE)
        self._told: collections.OrderedDict[bytes, _Told] = collections.OrderedDict()
        self._buckets: collections.OrderedDict[Ref, _Bucket] = collections.OrderedDict()

    def posting(self, tell: RecordEvent, api_version: str, now: float, stamp: str) -> Posting | None:
        """Return the Event to post; None if the object has had too many."""
        if not self._may(tell.target, now):
            return None
        key = _key(tell)
        told = self._told.get(key)
        if told is not None and now - told.last < FORGET_SECONDS:
            told.count, told.last = told.count + 1, now
            self._told.move_to_end(key)
            body = {"series": {"count": told.count, "lastObservedTime": stamp}}
            return Posting(told.name, tell.target.namespace, told.count, body)
        # Each part of a name between dots ends with a letter or a digit.
        name = f"{tell.target.name[:_NAME].rstrip('-.')}.{_digest(tell, stamp)}"
        self._told[key] = _Told(name, 1, now)
        self._told.move_to_end(key)
        _forget(self._told)
        return Posting(name, tell.target.namespace, 1, self._event(tell, name, api_version, stamp))

    def forget_event(self, tell: RecordEvent) -> None:
        """The event is not there, or not any more: the next of its kind is a new one, and this one does not count."""
        self._told.pop(_key(tell), None)
        if (bucket := self._buckets.get(tell.target)) is not None:
            bucket.left = min(float(BURST), bucket.left + 1)

    def _may(self, target: Ref, now: float) -> bool:
        bucket = self._buckets.get(target)
        if bucket is None:
            bucket = self._buckets[target] = _Bucket(float(BURST), now)
        bucket.left = min(float(BURST), bucket.left + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        self._buckets.move_to_end(target)
        _forget(self._buckets)
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True

    def _event(self, tell: RecordEvent, name: str, api_version: str, stamp: str) -> Json:
        target = tell.target
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": target.namespace},
            "eventTime": stamp,
            "type": tell.type,
            "reason": tell.reason,
            "action": "Scheduling",
            "note": _within(tell.message, _NOTE),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "regarding": {
                "apiVersion": api_version,
                "kind": target.kind,
                "namespace": target.namespace,
                "name": target.name,
                "uid": target.uid,
            },
        }


def _key(tell: RecordEvent) -> bytes:
    """In place of the event itself, whose message may be long."""
    return hashlib.blake2b(repr(tell).encode(), digest_size=16).digest()


def _within(text: str, most: int) -> str:
    """The beginning of *text* that takes at most so many bytes."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _forget(remembered: collections.OrderedDict[Any, Any]) -> None:
    while len(remembered) > REMEMBERED:
        remembered.popitem(last=False)


def _digest(tell: RecordEvent, stamp: str) -> str:
    target = tell.target
    text = f"{target.kind}\n{target.uid}\n{tell.type}\n{tell.reason}\n{tell.message}\n{stamp}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
