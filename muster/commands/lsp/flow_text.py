"""Collections in flow style, ``{...}`` and ``[...]``, and JSON, in a text that need not end them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Sequence

from kubeapi.field_path import Part

ITEM: Part = 0
"""Part of a path for any item of a list."""
_TOKEN = re.compile(
    r"""(?P<space>\s+|(?<!\S)\#[^\r\n]*)
    |(?P<mark>[{}\[\],]|(?<=["']):|:(?=[\s,\[\]{}]|$))
    |(?P<scalar>"(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\r\n]|'')*'?|(?:[^\s,\[\]{}:]|:(?![\s,\[\]{}]|$))+)""",
    re.VERBOSE,
)


_BRACKET = re.compile(r"""(?<![^\s,\[\]{}:])(?:"(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\r\n]|'')*'?)|(?<!\S)\#[^\r\n]*|[{}\[\]]""")


def unquoted(text: str) -> str:
    """Return the value of a scalar that may have quotes; a missing closing quote is added."""
    if text[:1] == '"':
        closed = text if len(text) > 1 and text.endswith('"') else f'{text}"'
        try:
            return str(json.loads(closed))
        except ValueError:  # an escape of YAML
            return closed[1:-1]
    return text[1:].removesuffix("'").replace("''", "'") if text[:1] == "'" else text


@dataclasses.dataclass(slots=True)
class FlowCollection:
    """Mapping or list, as far as it was read: the single values and collections of a mapping by key."""

    is_list: bool
    key: str | None = None
    """Key whose value is read."""
    word: str = ""
    """Last scalar."""
    entries: dict[str, str | FlowCollection] = dataclasses.field(default_factory=dict)

    def keys(self) -> list[str]:
        """Return the keys."""
        return [*self.entries]

    def text(self, *keys: str) -> str:
        """Return a single value below some keys; empty if it is absent or a collection."""
        value = self.entries.get(keys[0], "")
        if isinstance(value, FlowCollection):
            return value.text(*keys[1:]) if len(keys) > 1 else ""
        return value if len(keys) == 1 else ""


@dataclasses.dataclass(frozen=True, slots=True)
class FlowPlace:
    """Place inside a flow: the collections that are open there, and the extent of the scalar at it."""

    open: Sequence[FlowCollection]
    path: tuple[Part, ...]
    start: int
    end: int
    is_key: bool = dataclasses.field(kw_only=True)


def flow_at(text: str, start: int, at: int) -> FlowPlace | None:
    """Return the place at an offset of the flow that begins at *start*; None if the flow ends before, or if a comment is there.

    The collections have the keys before the place, the innermost one also those after it: up to its end, or that of the line.
    """
    begins = _open_brackets(text, start, at)
    if not begins:
        return None
    open_now: list[FlowCollection] = []
    for begin, end in itertools.pairwise(begins):
        if text[begin] == "[":
            open_now.append(FlowCollection(is_list=True))  # a list has no keys, and can be long
        else:
            for token in _TOKEN.finditer(text, begin, end):
                _read(open_now, token)
    return _in_innermost(text, begins[-1], at, open_now)


def _open_brackets(text: str, start: int, at: int) -> list[int]:
    """Return the offsets of the brackets that are open at an offset; none if the first one, at *start*, is closed before."""
    begins: list[int] = []
    for match in _BRACKET.finditer(text, start, at):
        mark = text[match.start()]
        if mark in "{[":
            begins.append(match.start())
        elif mark in "}]":
            begins.pop()
            if not begins:
                break
    return begins


def _in_innermost(text: str, begin: int, at: int, open_now: list[FlowCollection]) -> FlowPlace | None:
    """Return the place in the collection that begins at *begin*, below those that are open."""
    place: FlowPlace | None = None
    stop = len(text)
    for token in _TOKEN.finditer(text, begin):
        if place is None and (token.end() > at or (token["scalar"] and token.end() == at)):
            if text.startswith("#", token.start()) and token["space"]:
                return None
            place = _place(open_now, *(token.span() if token["scalar"] else (at, at)))
            stop = next(each for each in (text.find("\n", at), len(text)) if each >= 0)
        if place is not None and (token.start() >= stop or len(open_now) < len(place.open)):
            break
        _read(open_now, token)
    return place or _place(open_now, at, at)


def _place(open_now: Sequence[FlowCollection], start: int, end: int) -> FlowPlace:
    inner = open_now[-1]
    path = [ITEM if each.is_list else each.key or "" for each in open_now[:-1]]
    if inner.is_list:
        path.append(ITEM)
    elif inner.key is not None:
        path.append(inner.key)
    return FlowPlace(tuple(open_now), tuple(path), start, end, is_key=inner.is_list or inner.key is None)


def _read(open_now: list[FlowCollection], token: re.Match[str]) -> None:
    """Change the open collections by the next token."""
    text = token.group()
    if token["space"]:
        return
    if text in {"{", "["}:
        inner = FlowCollection(text == "[")
        if open_now and open_now[-1].key is not None:
            open_now[-1].entries[open_now[-1].key] = inner
        open_now.append(inner)
    elif not open_now:
        return
    elif text in {"}", "]"}:
        open_now.pop()
    elif text == ",":
        open_now[-1].key, open_now[-1].word = None, ""
    elif text == ":" and token["mark"]:
        if not open_now[-1].is_list and open_now[-1].key is None:
            open_now[-1].key = open_now[-1].word
            open_now[-1].entries.setdefault(open_now[-1].word, "")
    else:
        open_now[-1].word = unquoted(text)
        if open_now[-1].key is not None:
            open_now[-1].entries[open_now[-1].key] = open_now[-1].word
