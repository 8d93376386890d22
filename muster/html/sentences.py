"""Wording of a page: long explanations in parts, amounts, results of roots."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from kubeapi.problem import Problem
from muster.render.phrases import bare, natural
from muster.render.problem_words import grouped, object_words, problem_words
from scheduler_core.model.resource_values import Resource
from scheduler_core.model.status import Status
from scheduler_core.wording import phrases
from scheduler_core.wording.sentences import Sentence, ended

MARKS = {Status.SUCCESS: "✓", Status.WAIT: "○"}
AWAITS = "→"
NAMED = 8
"""Limit of names in a list."""
_WHOLE_CORES = 100_000
"""Millicores from which only whole cores are shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class CountedSentence:
    """A sentence, with the items of an enumeration separate."""

    lead: str
    points: tuple[str, ...] = ()

    @property
    def opening(self) -> str:
        """Return the lead with the mark at its end."""
        return f"{self.lead}:" if self.points else ended(self.lead)


def mark(status: Status) -> str:
    """Return the sign of a status."""
    return MARKS.get(status, "✗")


def counted_sentence(sentence: Sentence) -> CountedSentence:
    """Return *sentence* with its clauses as points if there are several."""
    points = tuple(each.text for each in sentence.clauses if not each.is_further)
    if len(points) > 1 and sentence.lead:
        return CountedSentence(sentence.lead, points)
    return CountedSentence(sentence.text)


def some(names: Iterable[str], most: int = NAMED) -> str:
    """Return names, and the number of others."""
    listed = list(names)
    more = len(listed) - most
    return ", ".join(listed if more <= 1 else listed[:most]) + (f" and {more:,} more" if more > 1 else "")


def tallied(counts: Mapping[str, int], most: int = NAMED) -> str:
    """Return names, each with its count if not one."""
    ordered = sorted(counts.items(), key=lambda each: (natural(each[0]), each[0]))
    return some((name if count == 1 else f"{name} ×{count:,}" for name, count in ordered), most)  # noqa: RUF001 - as meant


def bare_names(keys: Iterable[str]) -> Iterator[str]:
    """Yield names of pods without their namespace."""
    return (bare(key) for key in keys)


def size_text(resource: Resource, value: int) -> str:
    """Return an amount for people: ``1.81Pi``, ``12,400`` cores or devices; from 100 cores, fractions of a core are left out."""
    if resource == "cpu" and value >= _WHOLE_CORES:
        value -= value % 1000
    text = phrases.size_of(resource, value)
    return f"{int(text):,}" if text.isdecimal() else text


def amount_text(resource: Resource, value: int) -> str:
    """Return an amount with its resource: ``1,200 cpu``, ``1.81Pi memory``."""
    return f"{size_text(resource, value)} {phrases.noun_of(resource, value)}"


def of_whole(resource: Resource, free: int, whole: int) -> str:
    """Return ``8 of 32``; cpu in cores, memory in binary units."""
    return f"{size_text(resource, free)} of {size_text(resource, whole)}"


def short(resource: str, resources: Iterable[str]) -> str:
    """Return a short name: ``gpu`` for ``nvidia.com/gpu`` if no other resource has that ending."""
    last = resource.rpartition("/")[2]
    alike = sum(each.rpartition("/")[2] == last for each in resources)
    return last if alike == 1 else resource


def problems(listed: Iterable[Problem]) -> list[tuple[str, str]]:
    """Return the objects of each problem, and its message."""
    return [(some([*map(object_words, alike)]), problem_words(alike[0])) for alike in grouped(listed)]
