"""Holds, or waits for, a Lease, in a thread; ``leading`` is asked before every write."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable

import msgspec

from apiserver.api import MERGE_PATCH, TRANSPORT, Api, ReplyError
from apiserver.election import RETRY_SECONDS, Election, Record

NOT_FOUND, CONFLICT = 404, 409
REQUEST_SECONDS = 3.0
TROUBLE_SECONDS = 15.0
"""Where the lease cannot be read or written for so long it is trouble; any leader has lost it by then."""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux has it."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    spec: _Spec = _Spec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


_LEASE = msgspec.json.Decoder(_Lease)
_ENCODE = msgspec.json.Encoder().encode


class Lease:
    """One candidate for the lease *namespace*/*name*."""

    def __init__(
        self, api: Api, namespace: str, name: str, election: Election, told: Callable[[str, str], None] = lambda _level, _text: None
    ) -> None:
        """*told* hears, once each, of what changes or goes wrong: ``info`` or ``warning``, and what."""
        self._api, self._namespace, self._name, self._election, self._told = api, namespace, name, election, told
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._stopped = threading.Event()
        self._last = ""
        self._well = _now()
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def leading(self) -> bool:
        """Whether a write may be made now."""
        return self._election.leading(_now())

    def term(self) -> int:
        """Which time it leads, counted from 1; 0 if no write may be made now."""
        return self._election.term(_now())

    def remaining(self) -> float:
        """Seconds for which writes may be made; 0 if they may not."""
        return self._election.remaining(_now())

    def trouble(self) -> str:
        """Why this one can neither lead nor know who does, if that has been so for long; empty if not."""
        return self._complaint if _now() - self._well > TROUBLE_SECONDS else ""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self.run, name="lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop leading and let the next one begin at once."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(2 * REQUEST_SECONDS)

    def run(self) -> None:
        """Hold the lease or wait for it until stopped; then give it up."""
        while not self._stopped.is_set():
            self._guarded(self._step)
            self._stopped.wait(RETRY_SECONDS)
        if self.leading():
            self._election.record_loss()
            self._guarded(self._release)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
            self._are_well()
        except ReplyError as error:
            if error.code == CONFLICT:
                # Somebody else was faster: what they wrote is seen at the next look.
                self._are_well()
            else:
                self._complain(str(error))
        except (ValueError, *TRANSPORT) as error:
            self._complain(f"{type(error).__name__}: {error}")

    def _step(self) -> None:
        began = _now()
        found = self._read()
        record = _record(found)
        wanted = self._election.wants(record, _now(), _stamp())
        if wanted is None:
            self._election.record_loss()
            self._tell("info", f"{record.holder if record else ''} leads")
            return
        self._write(found, wanted)
        self._election.record_write(wanted, began)
        self._tell("info", f"{wanted.holder} leads")

    def _release(self) -> None:
        found = self._read()
        record = _record(found)
        if record is not None and record.holder == self._election.identity:
            self._write(found, self._election.released(record))

    def _read(self) -> _Lease | None:
        try:
            return _LEASE.decode(self._api.send("GET", f"{self._path}/{self._name}", None, seconds=REQUEST_SECONDS))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def _write(self, found: _Lease | None, record: Record) -> None:
        spec = _Spec(record.holder, record.duration, record.acquired or None, record.renewed or None, record.transitions)
        if found is None:
            lease = _Lease(_Metadata(self._name, self._namespace), spec)
            self._api.send("POST", self._path, _ENCODE(lease), seconds=REQUEST_SECONDS)
        else:
            lease = _Lease(_Metadata(self._name, self._namespace, found.metadata.resource_version), spec)
            # The version of what was read makes it fail if another was faster.
            self._api.send("PATCH", f"{self._path}/{self._name}", _ENCODE(lease), content_type=MERGE_PATCH, seconds=REQUEST_SECONDS)

    def _are_well(self) -> None:
        self._well, self._complaint = _now(), ""

    def _complain(self, reason: str) -> None:
        self._complaint = f"the lease {self._namespace}/{self._name} cannot be read or written: {reason}"
        self._tell("warning", self._complaint)

    def _tell(self, level: str, text: str) -> None:
        if text != self._last:
            self._last = text
            self._told(level, text)


def _record(lease: _Lease | None) -> Record | None:
    if lease is None:
        return None
    spec = lease.spec
    return Record(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time or "",
        spec.renew_time or "",
        spec.lease_transitions or 0,
    )


def _now() -> float:
    """Seconds of a clock that does not jump, and that counts while the machine sleeps: a lease runs out meanwhile."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def _stamp() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
