"""Patches of long texts: they lead from one text to the other, and take time in proportion to the length."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Sequence

import pytest

from muster.commands.migrate import line_diff

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def patched(before: Sequence[str], patch: Sequence[str]) -> list[str]:
    """Return the lines of *before* after a patch; assert that its context and its line numbers are right."""
    result: list[str] = []
    at, left, added = 0, 0, 0
    assert [each[:4] for each in patch[:2]] == (["--- ", "+++ "] if patch else [])
    for line in patch[2:]:
        if match := _HUNK.fullmatch(line):
            assert (left, added) == (0, 0)
            left, added = (int(match[number] or "1") for number in (2, 4))
            start = int(match[1]) - (left > 0)
            result += before[at:start]
            at = start
            assert len(result) == int(match[3]) - (added > 0)
            continue
        if line[0] in " -":
            assert before[at] == line[1:]
            at, left = at + 1, left - 1
        if line[0] in " +":
            result.append(line[1:])
            added -= 1
    assert (left, added) == (0, 0)
    return [*result, *before[at:]]


@pytest.mark.parametrize("seed", range(60))
def test_a_patch_leads_from_one_text_to_the_other(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(line_diff, "_LONG", 0)
    rng = random.Random(seed)
    before = [f"{rng.randrange(rng.choice([3, 1000]))}\n" for _ in range(rng.randrange(80))]
    after = [each for each in before if rng.random() < 0.9]
    for _ in range(rng.randrange(6)):
        after.insert(rng.randrange(len(after) + 1), f"{rng.randrange(50)}\n")
    if rng.random() < 0.3:
        rng.shuffle(after)
    patch = [*line_diff.unified(before, after, "a", "b")]

    assert patched(before, patch) == after
    assert (before == after) == (len(patch) <= 2)


def test_a_patch_of_a_few_changes_is_that_of_difflib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_diff, "_LONG", 0)
    before = [line for number in range(40) for line in (f"name: g{number}\n", "spec:\n", "  minCoun: 3\n", "---\n")]
    after = [line.replace("minCoun:", "minCount:") if number % 24 == 2 else line for number, line in enumerate(before)]

    assert [*line_diff.unified(before, after, "a", "b")] == [*difflib.unified_diff(before, after, "a", "b")]


def test_repeated_lines_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_diff, "_LONG", 0)
    compared = 0
    original = difflib.SequenceMatcher.find_longest_match

    def counted(
        self: difflib.SequenceMatcher[str], alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        nonlocal compared
        compared += ((ahi or 0) - alo) * ((bhi or 0) - blo)
        return original(self, alo, ahi, blo, bhi)

    monkeypatch.setattr(difflib.SequenceMatcher, "find_longest_match", counted)

    def pairs(count: int) -> int:
        nonlocal compared
        compared = 0
        before = [line for number in range(count) for line in (f"name: g{number}\n", "spec:\n", "  minCoun: 3\n", "---\n")]
        after = [line.replace("minCoun:", "minCount:") for line in before]
        assert patched(before, [*line_diff.unified(before, after, "a", "b")]) == after
        return compared

    assert pairs(200) == 2 * pairs(100)
