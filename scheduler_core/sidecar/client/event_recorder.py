"""Event recorder: equal events increase a count, and the events of each object are rate-limited.

Sources: events.k8s.io/v1; the limits are those of client-go (a burst of 25 for an object, then one every five minutes).
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
MAX_REMEMBERED = 4096
"""Maximum number of cached events and of cached objects; the oldest are removed first."""
_NOTE, _INSTANCE = 1024, 128
"""Maximum bytes of ``note`` and ``reportingInstance``: the API server refuses longer values."""
_NAME = 200
"""Maximum characters of the object's name in the name of an event."""

Json = dict[str, Any]


@dataclasses.dataclass(slots=True)
class _Recorded:
    name: str
    count: int
    last: float


@dataclasses.dataclass(slots=True)
class _Bucket:
    left: float
    at: float


@dataclasses.dataclass(frozen=True, slots=True)
class EventRequest:
    """Event to create (*count* 1), or to update with a new count."""

    name: str
    namespace: str
    count: int
    body: Json


class EventRecorder:
    """Aggregates and rate-limits events; the time is an argument, as monotonic seconds and as RFC 3339 with microseconds."""

    def __init__(self, controller: str, instance: str) -> None:
        self._controller, self._instance = controller, _truncate(instance, _INSTANCE)
        self._recorded: collections.OrderedDict[bytes, _Recorded] = collections.OrderedDict()
        self._buckets: collections.OrderedDict[Ref, _Bucket] = collections.OrderedDict()

    def event_request(self, event: RecordEvent, api_version: str, now: float, stamp: str) -> EventRequest | None:
        """Return the Event to create or update; None if the object has reached its limit."""
        if not self._take_token(event.target, now):
            return None
        key = _key(event)
        recorded = self._recorded.get(key)
        if recorded is not None and now - recorded.last < FORGET_SECONDS:
            recorded.count, recorded.last = recorded.count + 1, now
            self._recorded.move_to_end(key)
            body = {"series": {"count": recorded.count, "lastObservedTime": stamp}}
            return EventRequest(recorded.name, event.target.namespace, recorded.count, body)
        # Each part of a name between dots ends with a letter or a digit.
        name = f"{event.target.name[:_NAME].rstrip('-.')}.{_digest(event, stamp)}"
        self._recorded[key] = _Recorded(name, 1, now)
        self._recorded.move_to_end(key)
        _prune(self._recorded)
        return EventRequest(name, event.target.namespace, 1, self._event(event, name, api_version, stamp))

    def forget_event(self, event: RecordEvent) -> None:
        """Remove an event that does not exist: the next equal event is created anew, and the limit is not charged."""
        self._recorded.pop(_key(event), None)
        if (bucket := self._buckets.get(event.target)) is not None:
            bucket.left = min(float(BURST), bucket.left + 1)

    def _take_token(self, target: Ref, now: float) -> bool:
        bucket = self._buckets.get(target)
        if bucket is None:
            bucket = self._buckets[target] = _Bucket(float(BURST), now)
        bucket.left = min(float(BURST), bucket.left + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        self._buckets.move_to_end(target)
        _prune(self._buckets)
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True

    def _event(self, event: RecordEvent, name: str, api_version: str, stamp: str) -> Json:
        target = event.target
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": target.namespace},
            "eventTime": stamp,
            "type": event.type,
            "reason": event.reason,
            "action": "Scheduling",
            "note": _truncate(event.message, _NOTE),
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


def _key(event: RecordEvent) -> bytes:
    """Return a short digest of the event, whose message can be long."""
    return hashlib.blake2b(repr(event).encode(), digest_size=16).digest()


def _truncate(text: str, most: int) -> str:
    """Truncate *text* to *most* bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _prune(cached: collections.OrderedDict[Any, Any]) -> None:
    while len(cached) > MAX_REMEMBERED:
        cached.popitem(last=False)


def _digest(event: RecordEvent, stamp: str) -> str:
    target = event.target
    text = f"{target.kind}\n{target.uid}\n{event.type}\n{event.reason}\n{event.message}\n{stamp}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
