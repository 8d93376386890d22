"""Budget of a search, counted in steps: the same input always gives the same answer.

A step is about 2.5 µs of work where it was measured.  Work on larger arrays counts as more steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

DEFAULT = 20_000
"""Steps for a root, about 50 ms."""


class StepsSpentError(Exception):
    """The budget is spent before the answer is known."""


class StepBudget:
    """Steps that are left."""

    def __init__(self, steps: int) -> None:
        self._last = steps
        self.explored = 0

    @property
    def left(self) -> int:
        """Number of steps that are left."""
        return self._last - self.explored

    def step(self, count: int = 1) -> None:
        """Use *count* steps.

        Raises:
            StepsSpentError: fewer steps are left.

        """
        self.explored += count
        if self.explored > self._last:
            self.explored = self._last
            raise StepsSpentError

    @contextlib.contextmanager
    def part(self, steps: int) -> Iterator[None]:
        """Limit the steps that can be used inside the context to *steps*."""
        last = self._last
        self._last = min(last, self.explored + steps)
        try:
            yield
        finally:
            self._last = last
