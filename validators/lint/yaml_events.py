"""Events of the YAML library, and a builder of one value for each document.

No other module uses the YAML library, of which only the events are used.  Values are built here without recursion, so
that neither deep nesting nor nested aliases can crash the process.  All functions raise ``Fault`` with the offset of the
error.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import yaml

from validators.lint.limits import DEEPEST, MOST_NODES, MOST_REPEATED, REPEATED_TEXT, Repeats
from validators.lint.places import Fault

# PyYAML without libyaml is slower but has the same events.
_PARSER: Callable[[str], Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = TypeVar("Value")
Event = Any
"""The events of the library have no static types."""

_MERGE = "tag:yaml.org,2002:merge"
_TAB = re.compile(r"[ ]*\t")


def events(text: str) -> Iterator[Event]:
    """Yield the events of a text.

    Raises:
        Fault: the text is not YAML.

    """
    try:
        parser = _PARSER(text)
        while True:
            event = parser.get_event()
            if type(event) is yaml.StreamEndEvent:
                return
            yield event
    except yaml.reader.ReaderError as error:
        character = chr(error.character)
        raise Fault(max(0, text.find(character)), f"must not contain the control character U+{error.character:04X}") from None
    except yaml.MarkedYAMLError as error:
        raise _fault_of(text, error) from None


def _fault_of(text: str, error: yaml.MarkedYAMLError) -> Fault:
    mark: Any = error.problem_mark or error.context_mark
    offset = min(mark.index, len(text)) if mark is not None else 0
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    if _TAB.match(text, start):
        return Fault(offset, "must be YAML: a tab cannot indent; use spaces")
    message = ", ".join(part for part in (error.problem, error.context) if part)
    return Fault(offset, f"must be YAML: {message}")


class _Anchored(NamedTuple, Generic[Value]):
    """Value with an anchor: its values and levels, its characters, and the event of a scalar without its marks, which are large."""

    value: Value
    size: int
    height: int
    length: int
    scalar: tuple[str | None, tuple[bool, bool], str] | None = None


class Frame(Generic[Value]):
    """Mapping or sequence that is being read.

    Attributes:
        parts: the items of a sequence, or the keys and values of a mapping in turn.
        keys: offset of each key.
        merges: numbers of the keys that are merge keys.
        size: number of values in it.
        height: levels of nesting.
        length: characters of the scalars in it.

    """

    __slots__ = ("anchor", "event", "height", "is_mapping", "keys", "length", "merges", "parts", "size")

    def __init__(self, event: Event, is_mapping: bool) -> None:  # noqa: FBT001 - called twice below
        self.event = event
        self.is_mapping = is_mapping
        self.anchor: str | None = event.anchor
        self.parts: list[Value] = []
        self.keys: list[int] = []
        self.merges: list[int] = []
        self.size = 1
        self.height = 1
        self.length = 0


class Builder(abc.ABC, Generic[Value]):
    """Builder of one value for each document from events.  A subclass defines the values.

    *repeats* counts what aliases repeat in this text and others of the same file.
    """

    def __init__(self, text: str, repeats: Repeats | None = None) -> None:
        self._text = text
        self._repeats = repeats or Repeats()
        self._stack: list[Frame[Value]] = []
        self._anchors: dict[str, _Anchored[Value] | None] = {}
        self._documents: list[Value] = []
        self._steps: dict[type, Callable[[Event], None]] = {
            yaml.ScalarEvent: self._on_scalar,
            yaml.AliasEvent: self._on_alias,
            yaml.MappingStartEvent: self._on_start_mapping,
            yaml.SequenceStartEvent: self._on_start_sequence,
            yaml.MappingEndEvent: self._on_end,
            yaml.SequenceEndEvent: self._on_end,
            yaml.DocumentStartEvent: self._on_document,
        }

    def documents(self) -> list[Value]:
        """Return one value for each document of the text."""
        steps = self._steps
        for event in events(self._text):
            step = steps.get(type(event))
            if step is not None:
                step(event)
        return self._documents

    @abc.abstractmethod
    def scalar(self, event: Event) -> Value:
        """Return the value of a scalar that is not a key."""

    @abc.abstractmethod
    def key(self, event: Event) -> Value:
        """Return the value of a key."""

    @abc.abstractmethod
    def mapping(self, frame: Frame[Value], end: Event) -> Value:
        """Return the value of a complete mapping."""

    @abc.abstractmethod
    def sequence(self, frame: Frame[Value], end: Event) -> Value:
        """Return the value of a complete list."""

    def alias(self, event: Event, value: Value) -> Value:  # noqa: ARG002 - overridden for places
        """Return the value of an alias of *value*."""
        return value

    def _on_document(self, _: Event) -> None:
        self._anchors = {}

    def _on_scalar(self, event: Event) -> None:
        stack = self._stack
        is_key = False
        if stack:
            frame = stack[-1]
            is_key = frame.is_mapping and not len(frame.parts) & 1
            if is_key:
                if event.value == "<<" and is_merge(event):
                    frame.merges.append(len(frame.keys))
                frame.keys.append(event.start_mark.index)
        value = self.key(event) if is_key else self.scalar(event)
        if event.anchor is not None:
            scalar = event.tag, event.implicit, event.value
            self._anchors[event.anchor] = _Anchored(self.scalar(event) if is_key else value, 1, 0, len(event.value), scalar)
        if not stack:
            self._documents.append(value)
            return
        frame.parts.append(value)
        frame.size += 1
        frame.length += len(event.value)
        if frame.size > MOST_NODES:
            raise Fault(event.start_mark.index, f"must have at most {MOST_NODES:,} values")

    def _on_alias(self, event: Event) -> None:
        if event.anchor not in self._anchors:
            raise Fault(event.start_mark.index, f"*{event.anchor} must name an anchor that is defined before it")
        known = self._anchors[event.anchor]
        if known is None:
            raise Fault(event.start_mark.index, f"*{event.anchor} must not be used inside the value of its anchor")
        self._count(event, known)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.is_mapping and not len(frame.parts) & 1:
            if known.scalar is None:
                raise Fault(event.start_mark.index, "a key must be a single value, not a mapping or a list")
            self._on_scalar(yaml.ScalarEvent(None, *known.scalar, event.start_mark, event.end_mark))
            return
        self._append(self.alias(event, known.value), known.size, known.height, known.length, event)

    def _count(self, event: Event, known: _Anchored[Value]) -> None:
        self._repeats.count += known.size + known.length // REPEATED_TEXT
        if self._repeats.count > MOST_REPEATED:
            raise Fault(event.start_mark.index, f"aliases must repeat at most {MOST_REPEATED:,} values in a file; use fewer aliases")

    def _on_start_mapping(self, event: Event) -> None:
        self._start(event, Frame(event, is_mapping=True))

    def _on_start_sequence(self, event: Event) -> None:
        self._start(event, Frame(event, is_mapping=False))

    def _start(self, event: Event, frame: Frame[Value]) -> None:
        if self._stack:
            outer = self._stack[-1]
            if outer.is_mapping and not len(outer.parts) & 1:
                raise Fault(event.start_mark.index, "a key must be a single value, not a mapping or a list")
            if len(self._stack) >= DEEPEST:
                raise Fault(event.start_mark.index, f"must be nested at most {DEEPEST} deep")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(frame)

    def _on_end(self, event: Event) -> None:
        frame = self._stack.pop()
        value = self.mapping(frame, event) if frame.is_mapping else self.sequence(frame, event)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(value, frame.size, frame.height, frame.length)
        self._append(value, frame.size, frame.height, frame.length, event)

    def _append(self, value: Value, size: int, height: int, length: int, event: Event) -> None:
        if not self._stack:
            self._documents.append(value)
            return
        frame = self._stack[-1]
        frame.parts.append(value)
        frame.size += size
        frame.length += length
        frame.height = max(frame.height, height + 1)
        if frame.size > MOST_NODES:
            raise Fault(event.start_mark.index, f"must have at most {MOST_NODES:,} values; the values of an alias count at each use")
        if len(self._stack) + height > DEEPEST:
            raise Fault(event.start_mark.index, f"must be nested at most {DEEPEST} levels deep, including the values of aliases")


def is_merge(event: Event) -> bool:
    """Return whether a key is the merge key ``<<``, whose value is merged into the mapping."""
    return bool(event.value == "<<" and (event.implicit[0] if event.tag is None else event.tag == _MERGE))
