"""How much a search may do: a count of steps, so that the same input always gets the same answer.

A step is about 2.5 µs of work on the machines that this was measured on, whatever is done in it: who does more at once takes more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

DEFAULT = 20_000
"""About 50 ms for a root."""


class StepsSpentError(Exception):
    """The budget is spent before the answer was found."""


class StepBudget:
    """Steps that are left."""

    def __init__(self, steps: int) -> None:
        self._last = steps
        self.explored = 0

    @property
    def left(self) -> int:
        """How many more there are."""
        return self._last - self.explored

    def step(self, count: int = 1) -> None:
        """Take *count* steps.

        Raises:
            StepsSpentError: there are none left.

        """
        self.explored += count
        if self.explored > self._last:
            self.explored = self._last
            raise StepsSpentError

    @contextlib.contextmanager
    def part(self, steps: int) -> Iterator[None]:
        """Within it, only so many *steps* can be taken."""
        last = self._last
        self._last = min(last, self.explored + steps)
        try:
            yield
        finally:
            self._last = last
