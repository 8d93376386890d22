"""Rounds of examples that are tried one after the other: each has a limit of time, and memory must not grow from round to round."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.reliability.campaign import Round

MOST_FAILURES = 5
"""Failures of a round that are kept; a fault that falls often falls in other rounds too."""
GROWTH_BYTES = 100 * 1024 * 1024
"""Growth over all rounds of a process but the first two, which fill caches."""


class DoesNotHoldError(AssertionError):
    """Something does not hold for an example; the text gives what."""


class TooLongError(BaseException):
    """An example took longer than its limit.  Not an Exception, so that nothing catches it before ``attempt``."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError in this thread, which must be the main one, after *seconds* of processor time, or ten times as long in all.

    Processor time does not depend on what else the machine does; what waits for ever uses none.
    """

    def raise_error(*_: object) -> None:
        raise TooLongError(f"not ended within {seconds:g} s")

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, 10 * seconds)}
    handlers = {each: signal.signal(each, raise_error) for each in timers}
    # A timer of the test runner goes on where it was.
    before = {timer: signal.setitimer(timer, after) for timer, after in timers.values()}
    try:
        yield
    finally:
        for each, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(each, handlers[each])
            signal.setitimer(timer, *before[timer])


@dataclasses.dataclass(slots=True)
class Memory:
    """Growth of the resident memory of this process over the rounds of one campaign, in bytes."""

    rounds: int = 0
    grown: int = 0
    _before: int = 0

    def began(self) -> None:
        """Record the memory before a round."""
        self._before = resident()

    def ended(self, growth: int = GROWTH_BYTES) -> Iterator[str]:
        """Record the memory after a round; yield a failure if all rounds together have grown by more than *growth*."""
        self.rounds += 1
        if self.rounds > 2:
            self.grown += resident() - self._before
        if self.grown > growth:
            yield f"memory grew by {self.grown >> 20} MB over {self.rounds - 2} rounds"
            self.grown = 0


def resident() -> int:
    """Return the resident memory of this process in bytes, without what can be given back.

    ``muster simulate`` freezes what it has read, as its process ends after it.
    """
    gc.unfreeze()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def attempt(examples: Iterable[Any], check: Callable[[Any], object], seconds: float, memory: Memory | None = None) -> Round:
    """Call *check* on each example: nothing may be raised, and each call must end within *seconds*."""
    tried, failures = 0, []
    if memory is not None:
        memory.began()
    for tried, example in enumerate(examples, 1):  # noqa: B007 - the count is the result
        try:
            with limit(seconds):
                check(example)
        except (Exception, TooLongError) as error:  # noqa: BLE001 - each is a failure
            if len(failures) < MOST_FAILURES:
                failures.append(f"{_brief(error)}; example: {_shown(example)}")
    if memory is not None:
        failures += memory.ended()
    return Round(tried, tuple(failures))


def _brief(error: BaseException) -> str:
    if isinstance(error, DoesNotHoldError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def _shown(example: Any) -> str:
    return repr(example)
