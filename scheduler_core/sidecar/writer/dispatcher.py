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
TOGETHER = 4
"""Maximum number of writes that one thread carries out at the same time: fewer threads have to wake up."""
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
        self._in_flight = 0
        """Number of writes that are being carried out, at most that of the threads."""
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
        in_flight = any(each.is_alive() for each in self._threads)
        return not in_flight and time.monotonic() - self._lost_at > LOST_SECONDS

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
            # A thread that takes writes wakes up the next one.
            self._changed.notify()

    def _work(self) -> None:
        while tasks := self._next():
            results = self._attempt_all(tasks) if len(tasks) > 1 else [self._attempt(tasks[0])]
            self._finish([(task, *result) for task, result in zip(tasks, results, strict=True)])

    def _next(self) -> list[QueuedWrite]:
        """Return the writes that the calling thread carries out next; none: it must end."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                free = len(self._threads) - self._in_flight
                if free > 0 and (task := self._work_queue.get(now)) is not None:
                    tasks = [task]
                    if self._joins(task):
                        tasks += self._work_queue.get_more(now, min(TOGETHER, free) - 1, self._joins)
                    self._in_flight += len(tasks)
                    # There may be more than this thread takes.
                    self._changed.notify()
                    return tasks
                moment = self._work_queue.next_at() if free > 0 else None
                self._changed.wait(None if moment is None else max(0.0, moment - now))
            return []

    def _joins(self, task: QueuedWrite) -> bool:
        """Return whether a thread can carry out a task together with others."""
        return task.plan is None and not task.read_first and self._executor.is_one_request(task.write)

    def _finish(self, results: Sequence[tuple[QueuedWrite, WriteOutcome | None, str]]) -> None:
        """Record the outcomes of tasks; without an outcome a task is retried."""
        with self._changed:
            self._in_flight -= len(results)
            dry_runs = {id(task) for task, outcome, why in results if self._is_last(task, outcome, why)}
            # One more thread is enough: it wakes up the next one.
            self._changed.notify()
        for task, outcome, why in results:
            if task.plan is not None:
                if id(task) in dry_runs:
                    task.plan.on_done(task.plan.refused, task.plan.why)
            elif outcome is not None and not isinstance(task.write, RecordEvent):
                self._on_result(task.write, outcome, why)

    def _is_last(self, task: QueuedWrite, outcome: WriteOutcome | None, why: str) -> bool:
        """Record the outcome of a task, and return whether it is the last one of a dry run."""
        if outcome is None:
            wait = min(INITIAL_BACKOFF * 2 ** (task.tries - 1), MAX_BACKOFF) * random.uniform(0.5, 1.0)  # noqa: S311 - not for secrets
            self._work_queue.add_after(task, time.monotonic() + wait)
            return False
        self._work_queue.done(task)
        return task.plan is not None and _record_dry_run(task.plan, task.write, outcome, why)

    def _attempt_all(self, tasks: Sequence[QueuedWrite]) -> list[tuple[WriteOutcome | None, str]]:
        """Carry out tasks of one request each at the same time; results as of ``_attempt``."""
        for each in tasks:
            self._begin(each)
        current = [each for each in tasks if self._is_current(each)]
        errors = dict(zip(map(id, current), self._executor.execute_all([each.write for each in current]), strict=True))
        return [self._result(each, errors[id(each)]) if id(each) in errors else (WriteOutcome.DROPPED, _LOST) for each in tasks]

    def _attempt(self, task: QueuedWrite) -> tuple[WriteOutcome | None, str]:
        """Carry out a task and return its outcome and reason; without an outcome the task must be retried."""
        self._begin(task)
        try:
            return self._execute(task)
        except (ReplyError, NotLeadingError, KeyError, ValueError, *TRANSPORT) as error:
            return self._result(task, error)

    def _begin(self, task: QueuedWrite) -> None:
        if not task.tries:
            # The time limit starts with the first try: a write that waited long in the queue must not fail at its first error.
            task.until = time.monotonic() + WRITE_SECONDS
        task.tries += 1

    def _result(self, task: QueuedWrite, error: Exception | None) -> tuple[WriteOutcome | None, str]:
        """Return outcome and reason of a try that has raised *error*, or has succeeded."""
        match error:
            case None:
                return WriteOutcome.DONE, ""
            case ReplyError():
                return self._handle_error(task, error)
            case NotLeadingError():
                return WriteOutcome.DROPPED, _LOST
            case KeyError():
                return WriteOutcome.REFUSED, f"the API server does not serve {error}"
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
        if task.plan is None and not isinstance(task.write, RecordEvent):
            self._lost_at = time.monotonic()

    def _report_retry(self, task: QueuedWrite, why: str) -> None:
        if task.tries == 1 and task.plan is None and not isinstance(task.write, RecordEvent):
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

    def _is_current(self, task: QueuedWrite) -> bool:
        """Return whether this process leads in the term of a task; a dry run changes nothing, so its term does not matter."""
        return self._remaining() > 0 and (task.plan is not None or task.term == self._term())

    def _execute(self, task: QueuedWrite) -> tuple[WriteOutcome | None, str]:
        write = task.write
        if not self._is_current(task):
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
