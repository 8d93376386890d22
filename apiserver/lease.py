"""Thread that acquires and renews a Lease; callers check ``leading`` before every write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

from apiserver.api import MERGE_PATCH, TRANSPORT, Api, ReplyError, micro_time
from apiserver.election import Election, Record

NOT_FOUND, CONFLICT = 404, 409
REQUEST_SECONDS = 3.0
TROUBLE_SECONDS = 15.0
"""Time for which the lease must be unreadable or unwritable to be reported; any leader has lost it by then."""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""Clock that only Linux has."""


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
    """One candidate for the lease *namespace*/*name*.

    *report* is called with a level (``info``, ``warning``) and a text for each change of leader or error, not for repetitions.
    """

    def __init__(
        self, api: Api, namespace: str, name: str, election: Election, report: Callable[[str, str], None] = lambda _level, _text: None
    ) -> None:
        self._api, self._namespace, self._name, self._election, self._report = api, namespace, name, election, report
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._stopped = threading.Event()
        self._last_reported = ""
        self._last_success = _now()
        self._error = ""
        self._released = True
        self._thread: threading.Thread | None = None

    def leading(self) -> bool:
        """Return True if writes are allowed now."""
        return self._election.leading(_now())

    def term(self) -> int:
        """Return the number of the current term of leadership, counted from 1; 0 if this candidate does not lead."""
        return self._election.term(_now())

    def remaining(self) -> float:
        """Return the seconds for which writes are allowed without another renewal; 0 if they are not."""
        return self._election.remaining(_now())

    def trouble(self) -> str:
        """Return the error that has kept the lease unreadable or unwritable for TROUBLE_SECONDS; empty if there is none."""
        return self._error if _now() - self._last_success > TROUBLE_SECONDS else ""

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self.run, name="lease", daemon=True)
        self._thread.start()

    def stop(self, *, release: bool = True) -> None:
        """Stop leading, and *release* the lease so that the next candidate starts at once; otherwise it does when the lease expires."""
        self._released = release
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(2 * REQUEST_SECONDS)

    def run(self) -> None:
        """Acquire and renew the lease until stopped; then release it."""
        while not self._stopped.is_set():
            self._guarded(self._step)
            self._stopped.wait(self._election.retry_seconds(_now()))
        if self.leading():
            self._election.record_loss()
            if self._released:
                self._guarded(self._release)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
            self._succeeded()
        except ReplyError as error:
            if error.code == CONFLICT:
                # Another candidate wrote first; the next step reads its record.
                self._succeeded()
            else:
                self._failed(str(error))
        except (ValueError, *TRANSPORT) as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _step(self) -> None:
        began = _now()
        lease = self._read()
        record = _record(lease)
        new_record = self._election.next_record(record, _now(), micro_time())
        if new_record is None:
            self._election.record_loss()
            self._report_once("info", f"{record.holder if record else ''} leads")
            return
        self._write(lease, new_record)
        self._election.record_write(new_record, began)
        self._report_once("info", f"{new_record.holder} leads")

    def _release(self) -> None:
        lease = self._read()
        record = _record(lease)
        if record is not None and record.holder == self._election.identity:
            self._write(lease, self._election.release(record))

    def _read(self) -> _Lease | None:
        try:
            return _LEASE.decode(self._api.send("GET", f"{self._path}/{self._name}", None, seconds=REQUEST_SECONDS))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def _write(self, current: _Lease | None, record: Record) -> None:
        spec = _Spec(record.holder, record.duration, record.acquired or None, record.renewed or None, record.transitions)
        if current is None:
            lease = _Lease(_Metadata(self._name, self._namespace), spec)
            self._api.send("POST", self._path, _ENCODE(lease), seconds=REQUEST_SECONDS)
        else:
            # With the resourceVersion that was read, the write fails if another candidate wrote first.
            lease = _Lease(_Metadata(self._name, self._namespace, current.metadata.resource_version), spec)
            self._api.send("PATCH", f"{self._path}/{self._name}", _ENCODE(lease), content_type=MERGE_PATCH, seconds=REQUEST_SECONDS)

    def _succeeded(self) -> None:
        self._last_success, self._error = _now(), ""

    def _failed(self, reason: str) -> None:
        self._error = f"the lease {self._namespace}/{self._name} cannot be read or written: {reason}"
        self._report_once("warning", self._error)

    def _report_once(self, level: str, text: str) -> None:
        if text != self._last_reported:
            self._last_reported = text
            self._report(level, text)


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
    """Return seconds of a monotonic clock that also counts while the machine is suspended, as the lease expires meanwhile."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
