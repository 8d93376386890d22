"""Parsing of YAML: the text of one document to JSON-like values, to places, or to the extents of its scalars.

All functions raise ``Fault`` with the offset of the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from validators.lint import scalars
from validators.lint.limits import Repeats
from validators.lint.places import Entry, Fault, Place
from validators.lint.yaml_events import Builder, Event, Frame, events, is_merge


def values(text: str, repeats: Repeats | None = None) -> list[object]:
    """Return the documents in *text* as JSON-like values; timestamps stay strings, merge keys are applied.

    *repeats* counts what aliases repeat in all texts of a file.
    """
    return _Values(text, repeats).documents()


def survey(text: str, number: int = 0) -> Place:
    """Return the places of one document in *text*, which ``values`` has read without error; *number* counts from 0."""
    place: Place = _Places(text).documents()[number]
    return place


def scalar_extents(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the content of each scalar, in order.  There, ``#`` does not begin a comment."""
    for event in events(text):
        if hasattr(event, "value"):
            start, end = event.start_mark.index, event.end_mark.index
            if event.style in {"|", ">"}:  # the rest of the line that holds the indicator may be a comment
                start = min(end, _line_end(text, start))
            yield start, end


def _line_end(text: str, offset: int) -> int:
    ends = [end for end in (text.find("\n", offset), text.find("\r", offset)) if end >= 0]
    return min(ends, default=len(text))


class _Values(Builder[Any]):
    """Builder of JSON-like values."""

    def scalar(self, event: Event) -> scalars.Scalar:
        text: str = event.value
        try:
            if event.tag is None:
                return scalars.plain(text) if event.implicit[0] else text
            return scalars.tagged(event.tag, text)
        except scalars.ScalarError as error:
            raise Fault(event.start_mark.index, str(error)) from None

    def key(self, event: Event) -> str:
        if event.value == "<<" and is_merge(event):
            return ""  # ``Frame.merges`` distinguishes it from an empty key
        name = scalars.key(self.scalar(event))
        if name is None:
            raise Fault(event.start_mark.index, "a key must be a string, not null")
        return name

    def mapping(self, frame: Frame[Any], end: Event) -> dict[str, object]:  # noqa: ARG002 - only places need the end
        names, members = frame.parts[::2], frame.parts[1::2]
        if frame.merges:
            return self._merge(frame)
        mapping = dict(zip(names, members, strict=True))
        if len(mapping) != len(names):
            self._refuse_duplicate(frame, names)
        return mapping

    def sequence(self, frame: Frame[Any], end: Event) -> list[object]:  # noqa: ARG002 - only places need the end
        return frame.parts

    def _merge(self, frame: Frame[Any]) -> dict[str, object]:
        """Return a mapping after merging: its own entries take precedence over merged ones, earlier merges over later ones."""
        written: dict[str, object] = {}
        merged: dict[str, object] = {}
        merges = {*frame.merges}
        for number, (offset, name, value) in enumerate(zip(frame.keys, frame.parts[::2], frame.parts[1::2], strict=True)):
            if number in merges:
                for source in value if isinstance(value, list) else [value]:
                    if not isinstance(source, dict):
                        raise Fault(offset, "<< must hold a mapping or a list of mappings")
                    for key, merged_value in source.items():
                        merged.setdefault(key, merged_value)
            elif name in written:
                raise _duplicate(offset, name)
            else:
                written[name] = value
        return merged | written

    def _refuse_duplicate(self, frame: Frame[Any], names: list[str]) -> None:
        seen: set[str] = set()
        for offset, name in zip(frame.keys, names, strict=True):
            if name in seen:
                raise _duplicate(offset, name)
            seen.add(name)


def _duplicate(offset: int, name: str) -> Fault:
    return Fault(offset, f"the key {name!r} must occur only once in its mapping; remove one of the two")


class _Key(NamedTuple):
    """Place of a key, and the key itself."""

    start: int
    end: int
    name: str


class _Places(Builder[Any]):
    """Builder of the places of a text that was read without error; of keys, a _Key."""

    def scalar(self, event: Event) -> Place:
        start, end = event.start_mark.index, event.end_mark.index
        return Place(start, end, start, end)

    def key(self, event: Event) -> _Key:
        return _Key(event.start_mark.index, event.end_mark.index, _key_text(event))

    def alias(self, event: Event, value: Place) -> Place:
        inside = value.inside
        first = (value.first, value.first_end) if inside else (event.start_mark.index, event.end_mark.index)
        return Place(event.start_mark.index, event.end_mark.index, first[0], first[1], inside, alias=True)

    def mapping(self, frame: Frame[Any], end: Event) -> Place:
        written: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        merges = {*frame.merges}
        for number, (key, value) in enumerate(zip(frame.parts[::2], frame.parts[1::2], strict=True)):
            if number in merges:
                for source in value.inside if isinstance(value.inside, tuple) else (value,):
                    for name, entry in source.inside.items() if isinstance(source.inside, dict) else ():
                        merged.setdefault(name, entry)
            else:
                written[key.name] = Entry(key.start, key.end, value)
        start = frame.event.start_mark.index
        first = (frame.parts[0].start, frame.parts[0].end) if frame.parts else (start, end.end_mark.index)
        return Place(start, end.end_mark.index, first[0], first[1], merged | written)

    def sequence(self, frame: Frame[Any], end: Event) -> Place:
        start, last = frame.event.start_mark.index, end.end_mark.index
        return Place(start, last, start, last, inside=tuple(frame.parts))


def _key_text(event: Event) -> str:
    text: str = event.value
    if text == "<<" and is_merge(event):
        return text
    if event.tag is not None:
        return scalars.key(scalars.tagged(event.tag, text)) or ""
    return scalars.key(scalars.plain(text) if event.implicit[0] else text) or ""
