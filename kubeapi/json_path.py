"""Paths to values inside JSON objects, in the notation of ``kubectl --output jsonpath`` as far as it names places.

A path is a list of names, such as ``spec.groups[*].template``: names in brackets are quoted (``['example.com/a']``), ``[2]`` is an entry
of a list, ``[*]`` stands for all entries of a list or an object.  Filters, ranges and functions are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubeapi.base_structs import Record, replaced
from kubeapi.decode import Json

Step = str | int | None
"""Name of a field, or index of an entry; None: all entries."""
Place = tuple[str | int, ...]
"""Names and indexes from an object down to a value in it."""
_STEP = re.compile(
    r"""\.?\[(?P<index>-?\d{1,9})\] | \.?\[(?P<all>\*)\] | \.(?P<every>\*)
    | \.?\['(?P<single>(?:[^'\\]|\\.)+)'\] | \.?\["(?P<double>(?:[^"\\]|\\.)+)"\] | \.(?P<name>(?:[^.\[\]'"\\*{}\s]|\\.)+)""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


class JsonPath(Record, frozen=True):
    """Path as steps from an object down."""

    text: str
    steps: tuple[Step, ...]

    @property
    def wildcards(self) -> int:
        """The number of steps that stand for all entries."""
        return self.steps.count(None)

    def matches(self, content: Json) -> Iterator[tuple[Place, Json]]:
        """Yield each value at the path in *content*, with its place; none where a step is missing."""
        yield from _matches(content, self.steps, ())

    def entries_of(self, place: Place) -> Iterator[str | int]:
        """Yield the names and indexes at *place* that its wildcards stand for."""
        return (part for part, step in zip(place, self.steps, strict=True) if step is None)

    def with_entries(self, entries: Iterator[str | int]) -> JsonPath:
        """Return the path with *entries* in place of its wildcards, in their order."""
        return replaced(self, steps=tuple(next(entries) if step is None else step for step in self.steps))


def parse_path(text: str) -> JsonPath:
    """Return the path that *text* writes; braces around it, and ``$`` or a dot before it, may be left out.

    Raises:
        ValueError: the text is no such path.

    """
    bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    bare = bare.removeprefix("$")
    bare = bare if bare.startswith((".", "[")) else f".{bare}"
    steps: list[Step] = []
    at = 0
    while at < len(bare):
        step = _STEP.match(bare, at)
        if step is None:
            raise ValueError(f"{text!r} is no path of names, [NUMBER] and [*], such as spec.groups[*].template: {bare[at:]!r} is not read")
        steps.append(_step(step))
        at = step.end()
    return JsonPath(text, tuple(steps))


def _step(matched: re.Match[str]) -> Step:
    groups = matched.groupdict()
    if groups["index"] is not None:
        return int(groups["index"])
    if groups["all"] or groups["every"]:
        return None
    return _ESCAPED.sub(r"\1", groups["single"] or groups["double"] or groups["name"] or "")


def _matches(content: Json, steps: tuple[Step, ...], place: Place) -> Iterator[tuple[Place, Json]]:
    if not steps:
        yield place, content
        return
    step, further = steps[0], steps[1:]
    for entry, value in _entries(content, step):
        yield from _matches(value, further, (*place, entry))


def _entries(content: Json, step: Step) -> Iterator[tuple[str | int, Json]]:
    """Yield the entries of an object or a list that a step names."""
    if isinstance(content, Mapping):
        if step is None:
            yield from ((str(name), value) for name, value in content.items())
        elif isinstance(step, str) and step in content:
            yield step, content[step]
    elif isinstance(content, list):
        if step is None:
            yield from enumerate(content)
        elif isinstance(step, int) and -len(content) <= step < len(content):
            yield step % len(content), content[step]
