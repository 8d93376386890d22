"""Budget of a search for plans, counted in steps: the same input always gives the same plan."""

from __future__ import annotations


class EffortSpentError(Exception):
    """The effort is spent; the best plan so far is valid."""


class Effort:
    """Steps that are left.

    Attributes:
        taken: number of steps used altogether.

    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.taken = 0

    def spend(self, steps: int = 1) -> None:
        """Use *steps*.

        Raises:
            EffortSpentError: fewer steps are left.

        """
        self._left -= steps
        self.taken += steps
        if self._left < 0:
            raise EffortSpentError

    def renew(self, steps: int) -> None:
        """Set the number of steps that are left to *steps*."""
        self._left = steps
