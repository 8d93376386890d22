"""State of one worker process: application, key pair, metrics and readiness."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from webhooks import log
from webhooks.lookup.source import Source
from webhooks.server import tls
from webhooks.server.application import Application
from webhooks.server.lifespan import TICK_SECONDS, Lifespan
from webhooks.server.memory import Trim
from webhooks.server.metrics import Telemetry
from webhooks.settings import Settings

if TYPE_CHECKING:
    from webhooks.server.certificates import Managed

CreateApp = Callable[..., Callable[..., Iterable[bytes]]]
"""Creates the WSGI application from settings, lookup, telemetry and ``unready``; see ``webhooks.server.routes.create_app``."""
PROBE_BODY_BYTES, PROBES = 4096, 16
"""Largest body of a request to the plain port, and the number of such bodies; probes have none."""


class Worker:
    """One worker process, created after the fork."""

    def __init__(
        self,
        settings: Settings,
        live: tls.LivePair,
        source: Source,
        create_app: CreateApp,
        *,
        parent: int,
        draining: Callable[[], bool],
        alone: contextlib.AbstractContextManager[object] | None = None,
        managed: Managed | None = None,
    ) -> None:
        self._live, self._source, self._draining, self._managed = live, source, draining, managed
        self.telemetry = Telemetry(log.append)
        self._trim = Trim()
        self._set_validity()
        if managed is not None:
            managed.start(self.telemetry)
        wsgi: Any = create_app(settings, source.start(), self.telemetry, self.unready)
        lifespan = Lifespan(settings.stuck_seconds, parent=parent, tick=self.tick)
        self.application = Application(wsgi, settings, self.telemetry, lifespan, draining, alone)
        # An application of its own: probes are answered even if no thread is free for reviews.
        few = dataclasses.replace(settings, threads=1, body_bytes=PROBE_BODY_BYTES, total_body_bytes=PROBES * PROBE_BODY_BYTES)
        self.probes = Application(wsgi, few, self.telemetry, lifespan, draining)
        self._silent_limit = settings.request_seconds + 2 * TICK_SECONDS

    def tick(self) -> None:
        """Reload a changed key pair, report what has happened since the last tick, and trim memory; called by the event loop."""
        reason = self._live.refresh(time.monotonic())
        if reason == tls.RELOADED:
            self.telemetry.reloaded(taken=True)
            self._set_validity()
            log.write("info", "certificate", {"expires": log.stamp(self._live.pair.leaf_validity.expires)})
        elif reason:
            self.telemetry.reloaded(taken=False)
            log.write("error", "certificate", {"reason": reason, "serving": "the last good pair"})
        log.flush()
        self.telemetry.log_dropped(log.dropped())
        self.telemetry.bodies(self.application.bodies.figures())
        self._trim.tick(self.application.bodies.large.used)
        self.application.beat()

    def unready(self) -> list[str]:
        """Return the reasons why the API server should send its reviews elsewhere."""
        reasons = []
        if self._draining():
            reasons.append("draining: about to stop")
        if (silent := self.application.silent_seconds()) > self._silent_limit:
            reasons.append(f"no review could be answered for {silent:.0f} s: the event loop is blocked, or no thread is free")
        offset = 0.0 if self._managed is None else self._managed.clock_offset()
        if (end := self._live.pair.leaf_validity.expires) <= time.time() + offset:
            reasons.append(f"the serving certificate expired at {log.stamp(end)}")
        if self._live.unreadable:
            reasons.append(self._live.error)
        if self._managed is not None and (reason := self._managed.untrusted(self._live.pair.leaf)):
            reasons.append(reason)
        return [*reasons, *self._source.unsynced()]

    def _set_validity(self) -> None:
        pair = self._live.pair
        for kind, validity in (("leaf", pair.leaf_validity), ("ca", pair.ca_validity), ("client-ca", pair.client_ca_validity)):
            if validity is not None:
                self.telemetry.certificate(kind, *validity)
