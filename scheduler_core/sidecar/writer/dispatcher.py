"""Carries out writes: the only writer to the API server.

Edge: a pool of threads.  The lease is checked before each request.  Writes of an earlier term are dropped, even if this process is
the leader again, because another replica may have led in between.  Transient errors are retried; after a lost response the object is
read to see whether the write was carried out.  A Retry-After of the server pauses all writes.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from apiserver.api import TRANSPORT, Api, ReplyError
from scheduler_core.sidecar.client.errors import (
    AUTH_ERRORS,
    FIRST_SERVER_ERROR,
    TOO_MANY,
    WITH_RETRY_AFTER,
    NextStep,
    next_step,
    outcome_from_object,
)
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writer.executor import REQUEST_SECONDS, Executor, NotLeadingError, ObjectHandler
from scheduler_core.sidecar.writer.work_queue import EvictionDryRun, QueuedWrite, WorkQueue
from scheduler_core.sidecar.writes import Evict, RecordEvent, Write, WriteOutcome

WRITE_SECONDS = 60.0
FORBIDDEN_SECONDS = 10.0
"""Time for which a forbidden write is retried: a server that has just started does not know all roles yet."""
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 5.0
LOST_SECONDS = 15.0
"""Time for which a request without a response may still be carried out by the API server, or by a proxy before it."""
MAX_PAUSE = 30.0
"""Maximum pause of all writes, even if the server requests a longer one."""
_LOST = "another replica leads"

ResultHandler = Callable[[Write, WriteOutcome, str], None]
"""Called once with the outcome of each write and the reason, from a worker thread; not for events and duplicates."""
RetryHandler = Callable[[Write, str], None]
"""Called with the error of the first try of a write that is retried, from a worker thread; not for conflicts, events and dry runs."""


class Dispatcher:
    """Worker threads that carry out writes.

    *remaining* returns the seconds for which this process is allowed to write, 0 if it is not.  *term* returns the number of its term
    as leader.  *on_forbidden* is called after each request that the API server does not authorize.
    """

    def __init__(  # noqa: PLR0913 - one function for each kind of report
        self,
        api: Api,
        paths: Paths,
        on_done: ResultHandler,
        *,
        remaining: Callable[[], float],
        term: Callable[[], int],
        recorder: EventRecorder,
        on_retry: RetryHandler = lambda _write, _why: None,
        on_forbidden: Callable[[], None] = lambda: None,
        on_object: ObjectHandler = lambda _kind, _text: None,
    ) -> None:
        self._on_result, self._remaining, self._term = on_done, remaining, term
        self._on_retry, self._on_forbidden = on_retry, on_forbidden
        self._executor = Executor(api, paths, recorder, remaining, on_object)
        self._work_queue = WorkQueue()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._stopped = False
        self._lost_at = float("-inf")
        """Time of the last request whose effect is not known."""

    def start(self, workers: int) -> None:
        """Start *workers* threads."""
        self._threads = [threading.Thread(target=self._work, name=f"publish-{number}", daemon=True) for number in range(workers)]
        for each in self._threads:
            each.start()

    def stop(self, seconds: float = REQUEST_SECONDS) -> bool:
        """Start no more writes, and wait up to *seconds* for those in flight; return False if a request may still take effect."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        until = time.monotonic() + seconds
        for each in self._threads:
            each.join(max(0.0, until - time.monotonic()))
        return not any(each.is_alive() for each in self._threads) and self.settled()

    def settled(self) -> bool:
        """Return whether no request that was sent can take effect any more: each was answered, or is too old."""
        with self._changed:
            return not self._work_queue.in_flight and time.monotonic() - self._lost_at > LOST_SECONDS

    def submit(self, writes: Iterable[Write], term: int | None = None) -> None:
        """Queue *writes*: those of one object are carried out in order, others concurrently.

        *term* is the term in which they were decided (None: the current one); in another term they are dropped.
        """
        decided = self._term() if term is None else term
        self._enqueue(QueuedWrite(each, term=decided) for each in writes)

    def dry_run_evictions(self, writes: Sequence[Evict], on_done: Callable[[Evict | None, str], None]) -> None:
        """Send the evictions *writes* as a dry run.

        *on_done* is called once, after all responses, with the refused eviction that is first by name and the reason; None if none is refused.
        """
        if not writes:
            on_done(None, "")
            return
        plan = EvictionDryRun(on_done, len(writes))
        self._enqueue(QueuedWrite(each, plan=plan) for each in writes)

    @property
    def requests(self) -> int:
        """Approximate number of requests so far."""
        return self._executor.requests

    @property
    def pending(self) -> int:
        """Number of writes that are not done, without events."""
        with self._changed:
            return self._work_queue.pending

    def _enqueue(self, tasks: Iterable[QueuedWrite]) -> None:
        new = tuple(tasks)
        if not new:
            return
        with self._changed:
            for each in new:
                self._work_queue.add(each)
            self._changed.notify(len(new))

    def _work(self) -> None:
        while (task := self._next()) is not None:
            self._finish(task, *self._attempt(task))

    def _next(self) -> QueuedWrite | None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                if (task := self._work_queue.get(now)) is not None:
                    return task
                moment = self._work_queue.next_at()
                self._changed.wait(None if moment is None else max(0.0, moment - now))
            return None

    def _finish(self, task: QueuedWrite, outcome: WriteOutcome | None, why: str) -> None:
        """Record the outcome of a task; without an outcome the task is retried."""
        with self._changed:
            if outcome is None:
                wait = min(INITIAL_BACKOFF * 2 ** (task.tries - 1), MAX_BACKOFF) * random.uniform(0.5, 1.0)  # noqa: S311 - not for secrets
                self._work_queue.add_after(task, time.monotonic() + wait)
                self._changed.notify()
                return
            self._work_queue.done(task)
            finished = task.plan is None or _record_dry_run(task.plan, task.write, outcome, why)
            # One more thread is enough for the next write of this object.
            self._changed.notify()
        if task.plan is not None:
            if finished:
                task.plan.on_done(task.plan.refused, task.plan.why)
        elif not isinstance(task.write, RecordEvent):
            self._on_result(task.write, outcome, why)

    def _attempt(self, task: QueuedWrite) -> tuple[WriteOutcome | None, str]:
        """Carry out a task and return its outcome and reason; without an outcome the task must be retried."""
        if not task.tries:
            # The time limit starts with the first try: a write that waited long in the queue must not fail at its first error.
            task.until = time.monotonic() + WRITE_SECONDS
        task.tries += 1
        try:
            return self._execute(task)
        except ReplyError as error:
            return self._handle_error(task, error)
        except NotLeadingError:
            return WriteOutcome.DROPPED, _LOST
        except KeyError as error:
            return WriteOutcome.REFUSED, f"the API server does not serve {error}"
        except (ValueError, *TRANSPORT) as error:
            task.read_first = True
            self._mark_maybe_done(task)
            self._report_retry(task, f"{type(error).__name__}: {error}")
            return self._retry(task, f"{type(error).__name__}: {error}")

    def _handle_error(self, task: QueuedWrite, error: ReplyError) -> tuple[WriteOutcome | None, str]:
        match next_step(error.code, error.causes, task.write):
            case NextStep.GONE:
                return WriteOutcome.GONE, str(error)
            case NextStep.GIVE_UP:
                return WriteOutcome.REFUSED, str(error)
            case NextStep.CHECK_UID:
                return self._check_uid(task, error)
            case NextStep.READ_OBJECT:
                task.read_first = True
            case NextStep.RETRY:
                self._report_retry(task, str(error))
                if error.retry_after is not None and error.code in WITH_RETRY_AFTER:
                    self._pause(min(error.retry_after, MAX_PAUSE))
                if error.code in AUTH_ERRORS:
                    self._on_forbidden()
                    task.until = min(task.until, time.monotonic() + FORBIDDEN_SECONDS)
                task.read_first |= error.code != TOO_MANY
                if error.code >= FIRST_SERVER_ERROR:
                    self._mark_maybe_done(task)
        certain = error.code in AUTH_ERRORS and not task.maybe_done
        return self._retry(task, str(error), WriteOutcome.REFUSED if certain else WriteOutcome.FAILED)

    def _mark_maybe_done(self, task: QueuedWrite) -> None:
        """Record that the request of *task* may still be carried out."""
        task.maybe_done = True
        if task.changes_objects:
            self._lost_at = time.monotonic()

    def _report_retry(self, task: QueuedWrite, why: str) -> None:
        if task.tries == 1 and task.changes_objects:
            self._on_retry(task.write, why)

    def _pause(self, seconds: float) -> None:
        with self._changed:
            # Concurrent requests can get different values of Retry-After; the longest is used.
            self._work_queue.paused_until = max(self._work_queue.paused_until, time.monotonic() + seconds)

    def _check_uid(self, task: QueuedWrite, error: ReplyError) -> tuple[WriteOutcome | None, str]:
        """Read the object after HTTP 422: another uid means that the object is gone, else the write itself is invalid."""
        try:
            outcome = outcome_from_object(task.write, self._executor.get_object(task.write))
        except (ReplyError, NotLeadingError, ValueError, *TRANSPORT):
            return self._retry(task, str(error))
        return outcome if outcome is not None and outcome[0] is WriteOutcome.GONE else (WriteOutcome.REFUSED, str(error))

    def _retry(self, task: QueuedWrite, why: str, otherwise: WriteOutcome = WriteOutcome.FAILED) -> tuple[WriteOutcome | None, str]:
        return (None, why) if time.monotonic() < task.until else (otherwise, why)

    def _execute(self, task: QueuedWrite) -> tuple[WriteOutcome | None, str]:
        write = task.write
        # A dry run changes nothing, so its term does not matter.
        if self._remaining() <= 0 or (task.plan is None and task.term != self._term()):
            return WriteOutcome.DROPPED, _LOST
        if task.read_first and not isinstance(write, RecordEvent):
            task.read_first = False
            if (outcome := outcome_from_object(write, self._executor.get_object(write))) is not None:
                return outcome
            task.maybe_done = False
        return self._executor.execute(write, dry_run=task.plan is not None)


def _record_dry_run(plan: EvictionDryRun, write: Write, outcome: WriteOutcome, why: str) -> bool:
    """Record the dry run of one eviction of a plan, and return whether it was the last."""
    plan.waiting -= 1
    # A victim that is already gone counts as allowed.
    refused = outcome not in (WriteOutcome.DONE, WriteOutcome.GONE)
    # The first by name, whichever response comes first: the message about it does not change from one dry run to the next.
    if refused and isinstance(write, Evict) and (plan.refused is None or write.pod.key < plan.refused.pod.key):
        plan.refused, plan.why = write, why
    return plan.waiting == 0
