"""How much may be done to make a plan better: a count of steps, so that the same input always gets the same plan."""

from __future__ import annotations


class EffortSpentError(Exception):
    """The effort is spent; what was found so far stands."""


class Effort:
    """Steps that are left.

    Attributes:
        taken: how many have been taken altogether.

    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.taken = 0

    def spend(self, steps: int = 1) -> None:
        """Take *steps*.

        Raises:
            EffortSpentError: there are none left.

        """
        self._left -= steps
        self.taken += steps
        if self._left < 0:
            raise EffortSpentError

    def renew(self, steps: int) -> None:
        """Have *steps* left, however many there were."""
        self._left = steps
