"""The one thread that keeps the store and decides: hears the news, lets the scheduler try what is due, hands writes on.

Shell: the clock.  While another replica leads it hears all the same, so that it can begin at once.
"""

from __future__ import annotations

import dataclasses
import gc
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from scheduler_core.model.decision import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.informers import Changed, Listed, Unserved
from scheduler_core.sidecar.controllers.runner import ControllerRunner
from scheduler_core.sidecar.process.mailbox import Call, Done, DryRunDone, Mailbox, Message
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.write_failures import WriteFailures
from scheduler_core.sidecar.scheduling.scheduler import Attempt, Scheduler
from scheduler_core.sidecar.writer.dispatcher import Dispatcher
from scheduler_core.sidecar.writes import Evict, RecordEvent, Write, WriteOutcome

MAX_MESSAGES = 5000
"""News that are heard before anything is decided."""
IDLE_SECONDS = 1.0
SETTLE_SECONDS = 1.0
"""After leading begins: what the last leader wrote is to be seen first.  Whoever leads from the start has seen it in the lists."""
STUCK_SECONDS = 120.0
ANSWER_SECONDS = 5.0

Log = Callable[[str, str, Mapping[str, Any]], None]
"""Takes level, event and fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """Components of the loop.

    *scheduler* is None where nothing is placed; *term* tells which time this process leads, counted from 1, and 0 while it does not.
    """

    store: Cache
    scheduler: Scheduler | None
    controllers: ControllerRunner
    dispatcher: Dispatcher
    mailbox: Mailbox
    metrics: SidecarMetrics
    term: Callable[[], int]
    log: Log


class Loop:
    """Runs until stopped."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stopped = threading.Event()
        self._last_run = time.monotonic()
        self._frozen = False
        self._term = parts.term()
        self._leading_since = float("-inf")
        self._write_failures = WriteFailures()
        self._preempts = parts.scheduler is not None and parts.scheduler.preempts

    def run(self) -> None:
        """Turn after turn, in this thread."""
        wait = 0.0
        while not self._stopped.is_set():
            wait = self.run_once(wait)

    def stop(self) -> None:
        """End after this turn."""
        self._stopped.set()
        self._parts.mailbox.enqueue(None)

    def dead(self) -> tuple[str, ...]:
        """Return the reasons why the loop does not work; thread-safe."""
        silent = time.monotonic() - self._last_run
        return (f"the loop has been stuck for {silent:.0f} s",) if silent > STUCK_SECONDS else ()

    def call(self, function: Callable[[], Any]) -> Any:
        """Return the result of *look*, called by the loop's thread.  For other threads only.

        Raises:
            TimeoutError: it has no time for it.

        """
        answer: Future[Any] = Future()
        self._parts.mailbox.enqueue(Call(function, answer))
        return answer.result(ANSWER_SECONDS)

    def run_once(self, wait: float) -> float:
        """Hear what is new, waiting up to *wait* seconds for it, and do what is due; the seconds until more is."""
        parts = self._parts
        dry_runs = [each for each in map(self._handle, parts.mailbox.dequeue(wait, MAX_MESSAGES)) if each is not None]
        now = self._last_run = time.monotonic()
        leads = self._leads(now)
        if not leads or parts.scheduler is None:
            # Nobody asks what changed, and who begins to lead looks at everything: what is kept would only grow.
            parts.store.reporter.pop_changes()
        if not parts.store.synced:
            return IDLE_SECONDS
        if not self._frozen:
            # What was listed mostly stays: to search it for garbage takes long, and nothing is decided meanwhile.
            gc.freeze()
            self._frozen = True
        for each in dry_runs:
            self._dry_run_done(each, now)
        if not leads:
            return IDLE_SECONDS
        if now - self._leading_since < SETTLE_SECONDS:
            return SETTLE_SECONDS
        # What waits for a place waits for nothing else.
        self._place(now)
        self._submit(parts.controllers.wanted(time.monotonic()))
        return self._seconds_until_due(time.monotonic())

    def _leads(self, now: float) -> bool:
        term = self._parts.term()
        # Another may have led between two turns.
        if term not in (0, self._term):
            self._leading_since = now
            if self._parts.scheduler is not None:
                self._parts.scheduler.restart()
            self._parts.controllers.restart()
        self._term = term
        self._parts.metrics.leader.set(term > 0)
        return term > 0

    def _handle(self, message: Message) -> DryRunDone | None:
        store = self._parts.store
        match message:
            case Changed(kind, event, content):
                store.apply(kind, event, content)
                self._parts.metrics.events.labels(kind=kind).inc()
                self._parts.controllers.changed(kind)
            case Listed(kind, objects):
                store.replace(kind, objects)
                self._parts.controllers.changed(kind)
            case Unserved(kind):
                store.mark_unserved(kind)
                self._parts.controllers.changed(kind)
            case Done(write, outcome, why):
                self._done(write, outcome, why, time.monotonic())
            case Call(function, answer):
                answer.set_result(function())
            case DryRunDone():
                return message
        return None

    def _done(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> None:
        parts = self._parts
        parts.metrics.writes.labels(kind=type(write).__name__, outcome=outcome.value).inc()
        if (fields := self._write_failures.log_fields(write, outcome, why, now)) is not None:
            parts.log("warning", "write", fields)
        if parts.scheduler is not None:
            self._submit(parts.scheduler.done(write, outcome, why, now))

    def _dry_run_done(self, message: DryRunDone, now: float) -> None:
        scheduler = self._parts.scheduler
        if scheduler is None or not scheduler.awaits(message.root, message.plan):
            return
        if message.refused is not None:
            self._parts.metrics.preempted(message.root, 0)
            self._submit(scheduler.eviction_refused(message.root, message.refused.pod, message.why, now))
            return
        writes = scheduler.approve(message.root, now)
        self._parts.metrics.preempted(message.root, sum(isinstance(each, Evict) for each in writes))
        self._submit(writes)

    def _submit(self, writes: Iterable[Write]) -> None:
        """Hand on what was decided on in the term as it was when this turn began, whatever it is by now."""
        self._parts.dispatcher.submit(writes, self._term)

    def _place(self, now: float) -> None:
        """Try what is due."""
        parts = self._parts
        if parts.scheduler is None:
            return
        due = parts.scheduler.due(now)
        if due is not None and due <= now:
            began = time.monotonic()
            attempts = parts.scheduler.attempt(now, time.monotonic)
            seconds = time.monotonic() - began
            parts.metrics.decided([each.decision for each in attempts if each.decision is not None], seconds)
            parts.metrics.placements_evaluated(parts.scheduler.counters, seconds)
            for each in attempts:
                self._attempted(each, (time.monotonic() - began) / len(attempts))
        parts.metrics.waiting(parts.scheduler.counts())

    def _seconds_until_due(self, now: float) -> float:
        """The seconds until something is due."""
        due = self._parts.scheduler.due(now) if self._parts.scheduler is not None else None
        return max(0.0, min(self._parts.controllers.due(now), IDLE_SECONDS, IDLE_SECONDS if due is None else due - now))

    def _attempted(self, attempt: Attempt, seconds: float) -> None:
        parts = self._parts
        self._submit(attempt.writes)
        if attempt.plan:
            root, plan = attempt.root, attempt.plan
            parts.dispatcher.dry_run_evictions(plan, lambda refused, why: parts.mailbox.enqueue(DryRunDone(root, plan, refused, why)))
        if attempt.decision is not None:
            parts.metrics.attempted(attempt.decision, seconds, planned=bool(attempt.plan))
            # What becomes of a plan is told when its dry run has ended.
            if self._preempts and attempt.decision.status is Status.UNSCHEDULABLE and not attempt.plan:
                parts.metrics.preempted(attempt.root, 0)
            if not all(isinstance(each, RecordEvent) for each in attempt.writes):
                parts.log("info", "attempt", _fields(attempt))


def _fields(attempt: Attempt) -> dict[str, Any]:
    name, decision = attempt.root, attempt.decision
    return {
        "root": f"{name.kind} {name.namespace}/{name.name}",
        "status": decision.status.value if decision is not None else "",
        "pods": len(decision.assignments) if decision is not None else 0,
        "victims": len(attempt.plan),
        "message": decision.message[:500] if decision is not None else "",
    }
