"""Metrics of the webhook server, and one log line for each review.

Edge: prometheus_client.  Labels have a fixed set of values, which clients cannot extend.  The reviewed object is never logged.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import prometheus_client
from prometheus_client.metrics import MetricWrapperBase

from validators.model.objects import KINDS
from webhooks import log as journal
from webhooks.admission.review import AdmissionRequest
from webhooks.server import multiprocess_metrics

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds.  The API server waits 10 s by default and at most 30 s; for the webhooks of ``deploy/`` 3 s."""
_LOADED, _REJECTED = "taken", "kept-old"
LONGEST = 300
"""Limit for a text from a request in a log line, in characters; a Kubernetes name has at most 253."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a review: the verdict, the code of its Status, ids of rules with errors or warnings and of those not enforced, seconds."""

    allowed: bool
    code: int
    rules: tuple[str, ...]
    warnings: int
    seconds: float
    unenforced: tuple[str, ...] = ()


class Telemetry:
    """Metrics and log lines of one process; *log* is called with level, event and fields."""

    def __init__(self, log: Callable[[str, str, Mapping[str, Any]], None] = journal.append) -> None:
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
            "Reviews in which a rule reported an error or a warning, by outcome.",
            ("rule", "outcome"),
            registry=registry,
        )
        self._unenforced = prometheus_client.Counter(
            "muster_errors_not_enforced",
            "Reviews in which an error of a rule did not refuse the object because of the mode of enforcement.",
            ("rule", "kind"),
            registry=registry,
        )
        # Finding a child by its labels costs more than counting, so the children are cached.
        self._count = functools.cache(self._reviews.labels)
        self._time = functools.cache(self._seconds.labels)
        self._add_server_metrics(registry)

    def _add_server_metrics(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._refused = prometheus_client.Counter(
            "muster_requests_refused",
            "Requests that are not a valid review, by path or connection, and HTTP code (0: closed without an answer).",
            ("where", "code"),
            registry=registry,
        )
        self._faults = prometheus_client.Counter("muster_faults", "Internal errors; each has a traceback in the log.", registry=registry)
        self._flight = prometheus_client.Gauge(
            "muster_reviews_in_flight", "Reviews in progress.", registry=registry, multiprocess_mode="livesum"
        )
        self._expiry = prometheus_client.Gauge(
            "muster_certificate_not_after_seconds",
            "Expiry time of the serving certificates, in seconds since the epoch.",
            ("kind",),
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._begin = prometheus_client.Gauge(
            "muster_certificate_not_before_seconds",
            "Begin of the validity of the serving certificates, in seconds since the epoch.",
            ("kind",),
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._reloads = prometheus_client.Counter(
            "muster_certificate_reloads",
            "New key pairs in the certificate files, by outcome: loaded (taken) or rejected (kept-old).",
            ("outcome",),
            registry=registry,
        )
        # Prometheus sees an increase only from a value before it.
        for outcome in (_LOADED, _REJECTED):
            self._reloads.labels(outcome)

        self._add_load_metrics(registry)
        self._add_rotation_metrics(registry)

    def _add_load_metrics(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._body_bytes = prometheus_client.Gauge(
            "muster_request_body_bytes",
            "Bytes claimed by request bodies under way, by share: small (up to 64 KiB) or large.",
            ("share",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._body_waiting = prometheus_client.Gauge(
            "muster_request_bodies_waiting",
            "Request bodies that wait for a part of the limit on all bodies, by share.",
            ("share",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._log_dropped = prometheus_client.Counter(
            "muster_log_lines_dropped", "Log lines dropped because standard error was not read in time.", registry=registry
        )
        self._dropped_lines = 0

    def _add_rotation_metrics(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._steps = prometheus_client.Counter(
            "muster_certificate_rotation_steps",
            "Steps of rotations of the managed certificate that this replica has made.",
            ("step",),
            registry=registry,
        )
        self._failures = prometheus_client.Counter(
            "muster_certificate_failures",
            "Failed attempts to read or renew the managed certificate, by reason; counted again while the failure lasts.",
            ("reason",),
            registry=registry,
        )
        self._failing = prometheus_client.Gauge(
            "muster_certificate_failing",
            "1 if the last attempt of this replica to read or renew the managed certificate failed, by reason.",
            ("reason",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._leader = prometheus_client.Gauge(
            "muster_certificate_leader",
            "1 if this replica renews the managed certificate.",
            ("certificate",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._offset = prometheus_client.Gauge(
            "muster_certificate_clock_offset_seconds",
            "Time of the API server minus that of this machine, with a managed certificate.",
            ("certificate",),
            registry=registry,
            multiprocess_mode="livemostrecent",
        )

    def described(self) -> list[tuple[str, tuple[str, ...], str]]:
        """Return name, labels and help of every metric, by name."""
        rows = []
        for metric in vars(self).values():
            if isinstance(metric, MetricWrapperBase):
                (family,) = metric.describe()
                suffix = "_total" if family.type == "counter" else ""
                labels = tuple(metric._labelnames)  # noqa: SLF001 - nothing public has them
                rows.append((f"{family.name}{suffix}", labels, family.documentation))
        return sorted(rows)

    def began(self) -> None:
        """Count a review in flight."""
        self._flight.inc()

    def ended(self) -> None:
        """Stop counting a review as in flight."""
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
        for rule in outcome.unenforced:
            self._unenforced.labels(rule, kind).inc()
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
                **({"notEnforced": outcome.unenforced} if outcome.unenforced else {}),
                "duration": round(outcome.seconds, 6),
            },
        )

    def refused(self, where: str, code: int, reason: str = "") -> None:
        """Count a request that is no review; if *reason* is not empty, log it."""
        self._refused.labels(where, str(code)).inc()
        if reason:
            self._log("warning", "refused", {"path": where, "code": code, "reason": reason[:LONGEST]})

    def fault(self) -> None:
        """Count an internal error."""
        self._faults.inc()

    def certificate(self, kind: str, begins: float, expires: float) -> None:
        """Set the validity of a certificate, the leaf, the ca or the client-ca, in seconds since the epoch."""
        self._begin.labels(kind).set(begins)
        self._expiry.labels(kind).set(expires)

    def rotations_begin(self, steps: Iterable[str], reasons: Iterable[str]) -> None:
        """Start the counters of steps and failures at zero: Prometheus sees an increase only from a value before it."""
        for step in steps:
            self._steps.labels(step)
        for reason in reasons:
            self._failures.labels(reason)

    def rotation_step(self, step: str) -> None:
        """Count a step of a rotation."""
        self._steps.labels(step).inc()

    def certificate_failure(self, reason: str) -> None:
        """Count a failed attempt to read or renew the managed certificate."""
        self._failures.labels(reason).inc()

    def certificate_failing(self, reason: str, *, failing: bool) -> None:
        """Set whether the last attempt failed for this reason."""
        self._failing.labels(reason).set(failing)

    def certificate_leader(self, *, leading: bool) -> None:
        """Set whether this replica renews the managed certificate."""
        self._leader.labels("managed").set(leading)

    def clock_offset(self, seconds: float) -> None:
        """Set the time of the API server minus that of this machine."""
        self._offset.labels("managed").set(seconds)

    def bodies(self, shares: Mapping[str, tuple[int, int]]) -> None:
        """Set the bytes and the number of waiting bodies of each share."""
        for share, (size, waiting) in shares.items():
            self._body_bytes.labels(share).set(size)
            self._body_waiting.labels(share).set(waiting)

    def log_dropped(self, lines: int) -> None:
        """Set the number of log lines that this process has dropped."""
        self._log_dropped.inc(lines - self._dropped_lines)
        self._dropped_lines = lines

    def reloaded(self, *, taken: bool) -> None:
        """Count a new key pair; *taken* is False if the old one stays in use."""
        self._reloads.labels(_LOADED if taken else _REJECTED).inc()

    def render(self) -> bytes:
        """Return the metrics of all processes in Prometheus' text format."""
        return multiprocess_metrics.render(self._registry)
