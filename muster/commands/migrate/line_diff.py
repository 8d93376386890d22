"""Differences of two texts as a patch, in time in proportion to their length.

The algorithm of ``difflib`` takes time with the square of the length if lines repeat, as those of manifests do.  A long text is cut at
lines that occur once in both texts, such as names of objects, and only what is between them is compared.
"""

from __future__ import annotations

import bisect
import collections
import difflib
from collections.abc import Iterator, Sequence

_LONG = 2_000
"""Lines of a text that is cut."""
_CONTEXT = 3
_Opcode = tuple[str, int, int, int, int]


def unified(before: Sequence[str], after: Sequence[str], old: str, new: str) -> Iterator[str]:
    """Yield the lines of a patch from *before* to *after*, with the names of both files."""
    if max(len(before), len(after)) <= _LONG:
        yield from difflib.unified_diff(before, after, old, new)
        return
    yield from (f"--- {old}\n", f"+++ {new}\n")
    for group in _CutMatcher(before, after).get_grouped_opcodes(_CONTEXT):
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for tag, low, high, other_low, other_high in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[low:high])
                continue
            yield from (f"-{line}" for line in before[low:high])
            yield from (f"+{line}" for line in after[other_low:other_high])


def _range(start: int, stop: int) -> str:
    """Return a range of lines as patches have it: the first line, counted from 1, and the number of lines if it is not 1."""
    length = stop - start
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


class _CutMatcher(difflib.SequenceMatcher[str]):
    """Matcher that compares only what is between lines that occur once in both texts."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, (), ())  # without an index of all lines
        self._before = before
        self._after = after

    def get_opcodes(self) -> list[_Opcode]:  # type: ignore[override]
        """Return the changes, see difflib; each equal part is as long as possible."""
        listed: list[_Opcode] = []
        low, other_low = 0, 0
        for at, other in [*_anchors(self._before, self._after), (len(self._before), len(self._after))]:
            part = difflib.SequenceMatcher(None, self._before[low:at], self._after[other_low:other], autojunk=False)
            listed += [(tag, i + low, j + low, k + other_low, m + other_low) for tag, i, j, k, m in part.get_opcodes()]
            if at < len(self._before):
                listed.append(("equal", at, at + 1, other, other + 1))
            low, other_low = at + 1, other + 1
        return _joined(listed)


def _joined(opcodes: Sequence[_Opcode]) -> list[_Opcode]:
    """Return the changes with equal parts that follow each other as one."""
    joined: list[_Opcode] = []
    for each in opcodes:
        if joined and joined[-1][0] == each[0] == "equal":
            joined[-1] = ("equal", joined[-1][1], each[2], joined[-1][3], each[4])
        else:
            joined.append(each)
    return joined


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the numbers of lines that occur once in each text: the longest sequence in the order of both."""
    counts, other_counts = collections.Counter(before), collections.Counter(after)
    places = {line: number for number, line in enumerate(after) if other_counts[line] == 1}
    pairs = [(number, places[line]) for number, line in enumerate(before) if counts[line] == 1 and line in places]
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect.bisect_left(ends, place)
        previous.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[length], last[length] = place, number
    chosen: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = previous[number]
    return chosen[::-1]
