"""Regular expressions, matched by RE2 as Go's regexp does: in time linear in the text."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from scheduler_core.cel.values import Fault, Value

if TYPE_CHECKING:
    import re2

_ANY_BYTE = re.compile(r"(?:[^\\]|\\(?:Q.*?(?:\\E|$)|[^CQ]))*\\C", re.DOTALL).match
_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
}
"""Errors of RE2, each with the words of Go."""


@functools.lru_cache(maxsize=512)
def compiled(pattern: str) -> re2._Regexp[str]:
    """Return a compiled pattern.

    Raises:
        Fault: it is not in the syntax of RE2.
    """
    # Imported on the first pattern: few selectors have one.
    import re2

    if _ANY_BYTE(pattern):
        # RE2 has it, Go does not: half a character is no text.
        raise Fault("error parsing regexp: invalid escape sequence: `\\C`")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        words, colon, part = reason.partition(": ")
        raise Fault(f"error parsing regexp: {_WORDS.get(words, words)}{colon}{f'`{part}`' if colon else ''}") from None


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _searched(pattern: str) -> re2._Regexp[str]:
    try:
        return compiled(pattern)
    except Fault as error:
        raise Fault(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    match = _searched(pattern).search(text)
    return "" if match is None else match.group()


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the first *limit* matches, all if it is negative; an empty match directly after another one does not count, as in Go."""
    found: list[str] = []
    previous = -1
    for match in _searched(pattern).finditer(text) if limit else ():
        if match.start() != match.end() or match.start() != previous:
            found.append(match.group())
        previous = match.end()
        if len(found) == limit:
            break
    return found


OVERLOADS: dict[str, Callable[..., Value]] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
