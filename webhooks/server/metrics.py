"""What the webhook server tells about itself: counts, durations, and one log line for each review.

Edge: prometheus_client.  Where PROMETHEUS_MULTIPROC_DIR names a directory (``muster serve`` makes one for each start),
all workers' figures are told by whichever is asked.  Labels take a fixed set of values: no client can add to them.
The object under review is never logged.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import prometheus_client
from prometheus_client import multiprocess

from validators.model.objects import KINDS
from webhooks import log as journal
from webhooks.admission.review import AdmissionRequest

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds.  The API server waits at most 30 s, by default 10 s, for our webhooks 3 s."""
LONGEST = 300
"""Characters of a text from a request in a log line; a Kubernetes name has at most 253."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a review: the verdict, the code of its Status, rule ids, and seconds that it took."""

    allowed: bool
    code: int
    rules: tuple[str, ...]
    warnings: int
    seconds: float


class Telemetry:
    """Figures and log lines of one process."""

    def __init__(self, log: Callable[[str, str, Mapping[str, Any]], None] = journal.write) -> None:
        """*log* takes level, event and fields."""
        self._log = log
        self._registry = registry = prometheus_client.CollectorRegistry()
        self._reviews = prometheus_client.Counter(
            "muster_reviews",
            "Reviews answered.",
            ("path", "kind", "operation", "outcome"),
            registry=registry,
        )
        self._seconds = prometheus_client.Histogram(
            "muster_review_duration_seconds",
            "Time from the whole request to the answer.",
            ("path",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._warnings = prometheus_client.Counter("muster_review_warnings", "Warnings sent with answers.", ("path",), registry=registry)
        self._rules = prometheus_client.Counter(
            "muster_rule_hits",
            "Reviews in which a rule spoke, by what became of them.",
            ("rule", "outcome"),
            registry=registry,
        )
        # Finding a child by its labels costs more than counting: keep those at hand.
        self._count = functools.cache(self._reviews.labels)
        self._time = functools.cache(self._seconds.labels)
        self._about_the_server(registry)

    def _about_the_server(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._refused = prometheus_client.Counter(
            "muster_requests_refused",
            "Requests that are no review: where they were refused, and the HTTP code (0: closed unanswered).",
            ("where", "code"),
            registry=registry,
        )
        self._faults = prometheus_client.Counter("muster_faults", "Internal errors; each has a traceback in the log.", registry=registry)
        self._flight = prometheus_client.Gauge(
            "muster_reviews_in_flight", "Reviews being judged.", registry=registry, multiprocess_mode="livesum"
        )
        self._expiry = prometheus_client.Gauge(
            "muster_certificate_not_after_seconds",
            "When the serving certificates expire, in seconds since the epoch.",
            ("kind",),
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._reloads = prometheus_client.Counter(
            "muster_certificate_reloads",
            "New key pairs found, by whether they were taken.",
            ("outcome",),
            registry=registry,
        )

    def began(self) -> None:
        """A review is being judged."""
        self._flight.inc()

    def ended(self) -> None:
        """It is not any more."""
        self._flight.dec()

    def review(self, path: str, request: AdmissionRequest, outcome: Outcome) -> None:
        """Count a review and write its log line."""
        verdict = "allowed" if outcome.allowed else "denied"
        kind = request.kind if request.kind in KINDS else "other"
        self._count(path, kind, request.operation, verdict).inc()
        self._time(path).observe(outcome.seconds)
        if outcome.warnings:
            self._warnings.labels(path).inc(outcome.warnings)
        for rule in outcome.rules:
            self._rules.labels(rule, verdict).inc()
        self._log(
            "info",
            "review",
            {
                "uid": request.uid[:LONGEST],
                "path": path,
                "kind": request.kind[:LONGEST],
                "namespace": request.namespace[:LONGEST],
                "name": request.name[:LONGEST],
                "operation": request.operation,
                "subresource": request.subresource[:LONGEST],
                "dryRun": request.dry_run,
                "allowed": outcome.allowed,
                "code": outcome.code,
                "rules": outcome.rules,
                "duration": round(outcome.seconds, 6),
            },
        )

    def refused(self, where: str, code: int, reason: str = "") -> None:
        """Count a request that is no review; with *reason*, tell it."""
        self._refused.labels(where, str(code)).inc()
        if reason:
            self._log("warning", "refused", {"path": where, "code": code, "reason": reason[:LONGEST]})

    def fault(self) -> None:
        """Count an internal error."""
        self._faults.inc()

    def certificate(self, leaf: float, ca: float | None) -> None:
        """Set when the certificates expire, in seconds since the epoch."""
        self._expiry.labels("leaf").set(leaf)
        if ca is not None:
            self._expiry.labels("ca").set(ca)

    def reloaded(self, *, taken: bool) -> None:
        """Count a new key pair."""
        self._reloads.labels("taken" if taken else "kept-old").inc()

    def render(self) -> bytes:
        """All figures, in Prometheus' text format, over all processes."""
        if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            return prometheus_client.generate_latest(self._registry)
        registry = prometheus_client.CollectorRegistry()
        _AllProcesses(registry)
        return prometheus_client.generate_latest(registry)


class _AllProcesses(multiprocess.MultiProcessCollector):
    """Figures of all processes, without files that hold nothing yet: the library cannot read what a starting process just made."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        super().__init__(registry)  # type: ignore[no-untyped-call]

    def collect(self) -> Any:
        """See MultiProcessCollector."""
        files = [str(file) for file in sorted(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob("*.db")) if _holds_something(file)]
        return self.merge(files, accumulate=True)  # type: ignore[no-untyped-call]


def _holds_something(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        # Its process has just ended.
        return False


def process_ended(pid: int) -> None:
    """Forget the gauges of a process that has ended; its counts stay."""
    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
