"""How much a search may do: a count of steps, so that the same input always gets the same answer."""

from __future__ import annotations

DEFAULT = 20_000
"""About 50 ms for a root on the machines that this was measured on."""


class SpentError(Exception):
    """The budget is spent before the answer was found."""


class Budget:
    """Steps that are left."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.explored = 0

    def step(self, count: int = 1) -> None:
        """Take *count* steps.

        Raises:
            SpentError: there are none left.

        """
        self.explored += count
        if self.explored > self._steps:
            raise SpentError
