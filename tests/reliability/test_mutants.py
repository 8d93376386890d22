"""A mutant that no test sees is told, and no other."""

from __future__ import annotations

import random

from tests.reliability.source_mutants import measured_tests, sites, trial
from tests.reliability.source_mutants.sites import Mutant
from tests.reliability.source_mutants.trial import Outcome

FILE = "scheduler_core/placement/feasibility.py"
TESTS = "tests/scheduler_core/placement/test_feasibility.py"


PLACES = """\
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 1

@functools.lru_cache(maxsize=2)
def total(one: int | None, other: int | None) -> int | None:
    numbers: list[int | None] = [each for each, _ in zip((one, other), (one, other), strict=True)]
    return numbers[0] is None
"""


def planted(old: str, new: str, *, in_function: bool = True) -> Mutant:
    source = (measured_tests.ROOT / FILE).read_text(encoding="utf-8")
    before, found, _ = source.partition(old)
    assert found
    line = before.count("\n") + 1
    return Mutant(FILE, new, source.replace(old, new, 1), (line, line), (line, line) if in_function else None)


def test_each_mutant_has_its_outcome(tmp_path, monkeypatch):
    """In the body of a function, and at the level of the module, whose tests are collected again."""
    monkeypatch.setattr(measured_tests, "CACHE", tmp_path)
    tests, not_measured = measured_tests.measured([TESTS])
    expected = {
        planted("if scheduled >= minimum", "if scheduled < minimum"): Outcome.KILLED,
        planted("if not self.by_document", "if self.by_document is False"): Outcome.SURVIVED,
        planted("self.unresolvable += 1\n\n", "self.unresolvable += sum(iter(lambda: 1, 0))\n\n"): Outcome.TIMED_OUT,
        planted("scheduled: int = 0\n", "scheduled: int = 1\n", in_function=False): Outcome.KILLED,
        planted("Children counted", "Children, counted", in_function=False): Outcome.SURVIVED,
        planted("slots=True", "slots=True, slots_=1", in_function=False): Outcome.NOT_IMPORTED,
    }

    assert list(expected.values()) == [outcome for outcome, _ in trial.outcomes(list(expected), tests)]
    assert [] == not_measured


def test_a_file_that_cannot_be_measured_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(measured_tests, "CACHE", tmp_path)
    monkeypatch.setattr(measured_tests, "LONGEST", 0.5)

    assert ({}, [TESTS]) == measured_tests.measured([TESTS])


def test_a_line_that_no_test_executes_has_no_test():
    assert [(Outcome.NO_TEST, "")] == trial.outcomes([planted("scheduled >= minimum", "scheduled < minimum")], {})


def test_no_mutant_changes_what_cannot_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(sites, "ROOT", tmp_path)
    (tmp_path / "places.py").write_text(PLACES)
    drawn = {mutant.name for seed in range(200) if (mutant := sites.draw(random.Random(seed), "places.py"))}

    line = "places.py total: return numbers[0] is None ->"
    assert {f"{line} return numbers[ 1] is None", f"{line} return numbers[0] is not None"} < drawn
    assert [] == [each for each in drawn if not each.startswith(line)]
    assert not any("==" in each for each in drawn)
