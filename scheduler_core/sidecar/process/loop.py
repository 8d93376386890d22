"""Main loop: one thread that applies events to the cache, runs the scheduler and the controllers, and submits writes.

Shell: the clock.  It applies events even while another replica leads, so that it can take over at once.
"""

from __future__ import annotations

import dataclasses
import gc
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from kubeapi.versions.served_versions import kind_of
from scheduler_core.causes.live import PlacementDeviated
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import FROM_START, Cache
from scheduler_core.sidecar.cache.informers import Bookmark, Changed, CurrentVersion, Listed, NotListed, Restored, Unserved
from scheduler_core.sidecar.controllers.runner import ControllerRunner
from scheduler_core.sidecar.process.mailbox import Done, DryRunDone, LoopCall, Mailbox, Message, Retried, Returned
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.version_check import MembersCheck, VersionCheck
from scheduler_core.sidecar.process.write_failures import WriteFailures
from scheduler_core.sidecar.scheduling.scheduler import Attempt, Scheduler
from scheduler_core.sidecar.writer.dispatcher import Dispatcher
from scheduler_core.sidecar.writes import Evict, RecordEvent, Write, WriteOutcome
from scheduler_core.wording import decision_words
from scheduler_core.wording.live_words import live_words

MAX_MESSAGES = 5000
"""Maximum number of messages handled before the next scheduling attempt."""
PAUSE_SECONDS = 0.003
"""Pause after each iteration without further work: the messages that arrive meanwhile cost one iteration, not one each."""
IDLE_SECONDS = 1.0
PREPARE_INTERVALS = 10
"""Interval of preparations while another replica leads, relative to the time that one takes."""
LATE_SECONDS = 5.0
"""Time after which it is logged that a term waits for a kind."""
STUCK_SECONDS = 120.0
ANSWER_SECONDS = 5.0

Log = Callable[[str, str, Mapping[str, Any]], None]
"""Function that writes a log line: level, event, fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """Components of the loop.

    *scheduler* is None if no mode places pods; *term* returns the number of the term as leader, from 1; 0 while not leading;
    *term_check* is not used if the first term is the only one; *members_check* is the one of the scheduler's options; *watch* starts to
    watch kinds; *find_left_over* starts to look for claims that an earlier process has left annotated, None: no mode annotates claims.
    """

    cache: Cache
    scheduler: Scheduler | None
    controllers: ControllerRunner
    dispatcher: Dispatcher
    mailbox: Mailbox
    metrics: SidecarMetrics
    term: Callable[[], int]
    term_check: VersionCheck
    members_check: MembersCheck
    log: Log
    watch: Callable[[Iterable[str]], None]
    find_left_over: Callable[[], None] | None = None


class Loop:
    """Loop that runs until it is stopped."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stopped = threading.Event()
        self._last_run = time.monotonic()
        self._known: set[str] = set()
        """Resources that were listed before."""
        self._freeze = False
        self._lease_term = self._term = parts.term()
        """Term as leader, and the term that has begun: 0 until the cache is complete.  A kind that is listed later interrupts decisions only:
        a term that began again would forget what it has assumed, while its writes go on."""
        self._waits = False
        self._late = False
        self._searched_term = 0
        """Term at whose start claims were looked for that an earlier process has left annotated."""
        self._write_failures = WriteFailures()
        parts.metrics.show_cache(parts.cache.counts)
        self._prepared, self._prepare_at = parts.scheduler is None, 0.0
        """Whether the first leader could decide at once, and the time of the next preparation."""
        self._preempts = parts.scheduler is not None and parts.scheduler.preempts

    def run(self) -> None:
        """Run iterations in this thread until stopped."""
        wait = 0.0
        while not self._stopped.is_set():
            wait = self.run_once(wait)
            if wait > PAUSE_SECONDS:
                time.sleep(PAUSE_SECONDS)
                wait -= PAUSE_SECONDS

    def stop(self) -> None:
        """Stop after the current iteration."""
        self._stopped.set()
        self._parts.mailbox.enqueue(None)

    def dead(self) -> tuple[str, ...]:
        """Return the reasons why the loop does not work; thread-safe."""
        silent = time.monotonic() - self._last_run
        return (f"the loop has been stuck for {silent:.0f} s",) if silent > STUCK_SECONDS else ()

    def unready(self) -> tuple[str, ...]:
        """Return the reasons why a new leader could not decide at once; thread-safe."""
        unread = (each for each in sorted(FROM_START) if not self._parts.cache.is_listed(each))
        reasons = tuple(f"{each} objects are listed and not read yet" for each in unread)
        return reasons or (() if self._prepared else ("pods are not counted on their nodes yet",))

    def call(self, function: Callable[[], Any]) -> Any:
        """Return the result of *function*, called in the loop's thread.  For other threads only.

        Raises:
            TimeoutError: the loop did not answer in time.

        """
        answer: Future[Any] = Future()
        self._parts.mailbox.enqueue(LoopCall(function, answer))
        return answer.result(ANSWER_SECONDS)

    def run_once(self, wait: float) -> float:
        """Run one iteration: handle messages, waiting up to *wait* seconds, then do the due work; return the seconds until the next."""
        parts = self._parts
        dry_runs = [each for each in map(self._handle, parts.mailbox.dequeue(wait, MAX_MESSAGES)) if each is not None]
        now = self._last_run = time.monotonic()
        leads = self._leads(now)
        if not self._term or parts.scheduler is None:
            # Changes are not used here, and a new leader starts from the whole cache: without this they would accumulate.
            parts.cache.reporter.pop_changes()
        if kinds := parts.cache.needed.newly_needed():
            parts.watch(kinds)
        if not parts.cache.synced:
            return IDLE_SECONDS
        if self._freeze:
            # Most listed objects are long-lived: garbage collection over them would block the loop for long.
            gc.freeze()
            self._freeze = False
        for each in dry_runs:
            self._dry_run_done(each, now)
        if not (leads and self._prepared):
            self._prepare(now)
        if not leads:
            return IDLE_SECONDS
        self._find_left_over()
        parts.members_check.advance(now)
        # Scheduling comes before the controllers.
        self._place(now)
        self._submit(parts.controllers.wanted(time.monotonic()))
        return self._seconds_until_due(time.monotonic())

    def _prepare(self, now: float) -> None:
        """Let the scheduler prepare for a term, in a small part of the time: with many pods it takes seconds after each new node."""
        if (scheduler := self._parts.scheduler) is not None and now >= self._prepare_at:
            scheduler.prepare()
            self._prepare_at = now + PREPARE_INTERVALS * (time.monotonic() - now)
            self._prepared = True

    def _leads(self, now: float) -> bool:
        """Return whether this replica leads, and its cache has every change from before its term."""
        parts, term = self._parts, self._parts.term()
        if term != self._lease_term:
            # Another replica may have led between two iterations.
            self._lease_term, self._term, self._late = term, 0, False
            if term:
                parts.term_check.begin(now)
            else:
                parts.term_check.end()
                parts.metrics.term_waits((), 0.0)
        parts.metrics.leads(leading=term > 0)
        if blocking := parts.term_check.blocking():
            self._report_waiting(blocking, now)
            return False
        if self._waits:
            self._waits = False
            parts.metrics.term_waits((), 0.0)
        if term != self._term and parts.cache.synced:
            self._begin(term, now)
        return self._term > 0

    def _report_waiting(self, kinds: Collection[str], now: float) -> None:
        parts = self._parts
        seconds = now - parts.term_check.since
        self._waits = True
        parts.metrics.term_waits(kinds, seconds)
        if seconds > LATE_SECONDS and not self._late:
            self._late = True
            parts.log("warning", "term", {"reason": "; ".join(parts.term_check.reasons(now))})

    def _begin(self, term: int, now: float) -> None:
        parts = self._parts
        self._term = term
        parts.log("info", "term", {"term": term, "waited_seconds": round(now - parts.term_check.since, 3)})
        if parts.scheduler is not None:
            parts.scheduler.restart()
        parts.controllers.restart()

    def _find_left_over(self) -> None:
        """Start the search for claims of an earlier process once in a term, unless all claims are watched."""
        find, searched = self._parts.find_left_over, self._searched_term
        self._searched_term = self._term
        if find is not None and searched != self._term and not self._parts.cache.needed.is_watched("PersistentVolumeClaim"):
            find()

    def _handle(self, message: Message) -> DryRunDone | None:
        match message:
            case Done(write, outcome, why):
                self._done(write, outcome, why, time.monotonic())
            case Retried(write, why):
                self._retried(write, why, time.monotonic())
            case LoopCall(function, answer):
                answer.set_result(function())
            case CurrentVersion(check, resource, version):
                self._parts.term_check.set_version(check, resource, version)
                self._parts.members_check.check.set_version(check, resource, version)
            case DryRunDone():
                # The plan is checked against all events until then.
                return message
            case _:
                self._apply(message)
        return None

    def _apply(self, message: Listed | Changed | Bookmark | Restored | Unserved | NotListed | Returned) -> None:
        """Apply what a watch or the response to a write shows."""
        cache = self._parts.cache
        match message:
            case Changed(resource, event, content, version):
                cache.apply(resource, event, content)
                cache.complete(resource, version)
                self._parts.metrics.received(resource)
                self._parts.controllers.changed(kind_of(resource))
            case Bookmark(resource, version):
                cache.complete(resource, version)
            case Restored(resource):
                cache.forget_versions(resource)
            case Listed():
                self._apply_page(message)
            case Unserved(resource):
                cache.mark_unserved(resource)
                self._parts.controllers.changed(kind_of(resource))
            case NotListed(resource, failure):
                cache.mark_unlisted(resource, failure)
            case Returned(kind, content):
                cache.apply(kind, "MODIFIED", content)

    def _apply_page(self, page: Listed) -> None:
        cache = self._parts.cache
        cache.replace(page.resource, page.objects, page.version, first=page.first, last=page.last)
        page.applied()
        # A list of all pods can take minutes.
        self._last_run = time.monotonic()
        if page.last:
            self._freeze |= page.resource not in self._known
            self._known.add(page.resource)
        self._parts.controllers.changed(kind_of(page.resource))

    def _done(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> None:
        parts = self._parts
        parts.metrics.written(type(write).__name__, outcome)
        if (fields := self._write_failures.log_fields(write, outcome, why, now)) is not None:
            parts.log("warning", "write", fields)
        if parts.scheduler is not None:
            self._submit(parts.scheduler.done(write, outcome, why, now))

    def _retried(self, write: Write, why: str, now: float) -> None:
        parts = self._parts
        if (fields := self._write_failures.log_fields(write, None, why, now)) is not None:
            parts.log("warning", "write", fields)
        if parts.scheduler is not None:
            parts.scheduler.retried(write, why, now)

    def _dry_run_done(self, message: DryRunDone, now: float) -> None:
        scheduler = self._parts.scheduler
        if scheduler is None or not scheduler.awaits(message.root, message.plan):
            return
        if message.refused is not None:
            self._parts.log(
                "warning", "preemption", {"root": _root(message.root), "victim": message.refused.pod.key, "reason": message.why}
            )
            self._parts.metrics.preempted(message.root, 0)
            self._submit(scheduler.eviction_refused(message.root, message.refused.pod, message.why, now))
            return
        writes = scheduler.approve(message.root, now)
        # Its evictions follow when its nominations are written, unless the plan is outdated.
        pending = scheduler.awaits(message.root, message.plan)
        self._parts.metrics.preempted(message.root, len(message.plan) if pending else sum(isinstance(each, Evict) for each in writes))
        self._submit(writes)

    def _submit(self, writes: Iterable[Write]) -> None:
        """Submit writes with the term in which they were decided; those of term 0 are dropped."""
        self._parts.dispatcher.submit(writes, self._term)

    def _place(self, now: float) -> None:
        """Run a scheduling attempt if one is due."""
        parts = self._parts
        if parts.scheduler is None:
            return
        due = parts.scheduler.due(now)
        if due is not None and due <= now:
            began = time.monotonic()
            attempts = parts.scheduler.attempt(now, time.monotonic)
            seconds = time.monotonic() - began
            parts.metrics.decided(
                [each.decision for each in attempts if each.decision is not None and each.decision.status is not Status.WAIT], seconds
            )
            parts.metrics.placements_evaluated(parts.scheduler.counters, seconds)
            for each in attempts:
                self._attempted(each, (time.monotonic() - began) / len(attempts))
        parts.metrics.waiting(parts.scheduler.counts())

    def _seconds_until_due(self, now: float) -> float:
        due = self._parts.scheduler.due(now) if self._parts.scheduler is not None else None
        return max(0.0, min(self._parts.controllers.due(now), IDLE_SECONDS, IDLE_SECONDS if due is None else due - now))

    def _attempted(self, attempt: Attempt, seconds: float) -> None:
        parts = self._parts
        self._submit(attempt.writes)
        if attempt.deviating:
            for each in attempt.deviating:
                parts.metrics.deviations.labels(each.deviation.value).inc()
            message = live_words(PlacementDeviated(attempt.deviating))
            parts.log("warning", "deviation", {"root": _root(attempt.root), "pods": len(attempt.deviating), "message": message})
        if attempt.plan:
            root, plan = attempt.root, attempt.plan
            parts.dispatcher.dry_run_evictions(plan, lambda refused, why: parts.mailbox.enqueue(DryRunDone(root, plan, refused, why)))
        if attempt.decision is not None:
            parts.metrics.attempted(attempt.decision, seconds, planned=bool(attempt.plan))
            # The result of a plan is counted after its dry run.
            if self._preempts and attempt.decision.status is Status.UNSCHEDULABLE and not attempt.plan:
                parts.metrics.preempted(attempt.root, 0)
            if not all(isinstance(each, RecordEvent) for each in attempt.writes):
                parts.log("info", "attempt", _fields(attempt))


def _root(name: Name) -> str:
    return f"{name.kind} {name.namespace}/{name.name}"


def _fields(attempt: Attempt) -> dict[str, Any]:
    decision = attempt.decision
    return {
        "root": _root(attempt.root),
        "status": decision.status.value if decision is not None else "",
        "pods": len(decision.assignments) if decision is not None else 0,
        "victims": len(attempt.plan),
        "message": decision_words.message(decision)[:500] if decision is not None else "",
    }
