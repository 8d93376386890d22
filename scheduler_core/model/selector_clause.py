"""One expression of a label selector; imports no numpy, because causes have it and are read where numpy is not installed."""

from __future__ import annotations

import re
from typing import NamedTuple

_is_whole = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII).fullmatch
_LIMIT = 2**63


class SelectorClause(NamedTuple):
    """One valid expression about one label.

    Attributes:
        key: the label.
        operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
        values: for In and NotIn, at least one; otherwise empty.
        bound: for Gt and Lt.

    """

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    bound: int = 0

    @property
    def only_value(self) -> str | None:
        """Return the only value that matches; None if several can."""
        return next(iter(self.values)) if self.operator == "In" and len(self.values) == 1 else None

    def admits(self, value: str | None) -> bool:
        """Return whether a label with *value* (None: no such label) matches."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                number = None if value is None else parse_integer(value)
                return number is not None and (number > self.bound if self.operator == "Gt" else number < self.bound)


def parse_integer(text: str) -> int | None:
    """Return a 64-bit integer as Go's strconv.ParseInt reads it in base 10; None if *text* is not one."""
    if (match := _is_whole(text)) is None:
        return None
    number = int(match[1] + match[2])
    return number if -_LIMIT <= number < _LIMIT else None
