"""Lines of YAML documents in the usual layout of manifests: at most one key, and a value that ends on its line.

Versions of YAML and their parsers differ in scalars such as ``on`` and ``0o17`` and in details of the grammar.  ``read`` accepts only lines
that mean the same in all of them, whatever the lines around them, if these are accepted too.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from validators.lint import scalars

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_OTHER = "\1"
"""Stands for each character beyond ASCII, so that the patterns below are small."""
_ANY = rf"[\x20-\x7e{_OTHER}]"
_QUOTED = rf"'[\x20-\x26\x28-\x7e{_OTHER}]*'|\"[\x20\x21\x23-\x5b\x5d-\x7e{_OTHER}]*\""
_FLOW_WORD = r"[A-Za-z0-9_/.][A-Za-z0-9_/.+=@-]*"
_FLOW = rf"[\[{{](?:{_QUOTED}|[A-Za-z0-9_/.+=@:, \[\]{{}}-])*[\]}}]"
_PLAIN = r"(?:[A-Za-z0-9_/.]|-[A-Za-z0-9_/.=-])(?:[A-Za-z0-9_/.+=@%$()<>,;|!?&*^'\"\\\[\]{}~-]|:(?=[A-Za-z0-9_/.+=@%$-])| +(?=[^ #:]))*"
_KEY = rf"(?:(?P<key>[A-Za-z_.][A-Za-z0-9_./-]{{0,250}})|(?P<quoted_key>{_QUOTED}))"
_VALUE = rf"(?P<value>(?P<plain>{_PLAIN})|(?P<quoted>{_QUOTED})|(?P<flow>{_FLOW}))"
_LINE = re.compile(rf" {{0,60}}(?:(?P<dashes>(?:- ){{0,5}})(?:{_KEY}:(?: +|(?![^ ])))?{_VALUE}?(?: *| +#{_ANY}*)|#{_ANY}*)")
_LETTERS = "A-DF-Za-df-z"
"""Those with which no number begins."""
_WORD = rf"[{_LETTERS}/][A-Za-z0-9_/.-]*(?::[A-Za-z0-9_/.-]+)*"
_FREQUENT = re.compile(rf"( {{0,60}})((?:- ){{0,5}})([{_LETTERS}][A-Za-z0-9_./-]{{0,250}}):(?: ({_WORD}))?")
"""Part of what ``_LINE`` matches, without anything of several meanings but ``_WORDS``."""
_IN_FLOW = re.compile(rf"({_QUOTED})|({_FLOW_WORD})")
_FLOW_ITEM = rf"(?:\0|{_FLOW_WORD})"
_FLOW_ENTRY = rf"(?:\0|[A-Za-z_.][A-Za-z0-9_/.-]*): {_FLOW_ITEM}"
_INNERMOST = re.compile(rf"\[(?:{_FLOW_ITEM}(?:, ?{_FLOW_ITEM})*)?\]|\{{(?:{_FLOW_ENTRY}(?:, ?{_FLOW_ENTRY})*)?\}}")
"""List or mapping in flow style without another one inside; \\0 is an item."""
_DEEPEST_FLOW = 8
_LONGEST_LINE = 1000
"""Parsers limit the length of keys to 1024 characters."""

_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
"""Words with a value of their own in a version of YAML, in lower case."""
_BOOLEANS = frozenset(["true", "True", "TRUE", "false", "False", "FALSE"])
_SAME_VALUE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})|-?(?:0|[1-9][0-9]{0,9})\.[0-9]{0,9}[1-9]|[0-9]+(?:\.[0-9]+){2,}", re.ASCII)
"""Plain scalars with the same value in all versions: integers, fractions; and versions or addresses, which are strings."""
_NUMBER_STARTS = frozenset("-+.0123456789_eE")
_LIKE_A_NUMBER = re.compile(r"[-+]?(?:0[xob][0-9a-f_]*|(?=.*[0-9])[0-9_.]*(?:e[-+0-9_.]*)?|\.(?:inf|nan))", re.ASCII | re.IGNORECASE)


class LineForm:
    """Form of a line, after its dashes.  The numbers are plain ones, which are faster to compare than those of an Enum."""

    ENTRY = 0
    """Key and scalar."""
    OPEN = 1
    """Key without a value."""
    FLOW_ENTRY = 2
    """Key, and a list or mapping in flow style."""
    ITEM = 3
    """Scalar that is an item of a list."""
    FLOW_ITEM = 4
    """List or mapping in flow style that is an item of a list."""


_SCALAR, _FLOW_STYLE = (LineForm.ITEM, LineForm.ENTRY), (LineForm.FLOW_ITEM, LineForm.FLOW_ENTRY)
"""Forms without a key and with one."""


class LineColumns(NamedTuple):
    """Columns of a line, from 0: ends of the key, with its quotes, and of the value, and the start of the value.

    Without a value, it is empty after the colon.
    """

    key_end: int
    value: int
    value_end: int


Fields = tuple[int, int, int, str]
"""Line without its value.

The level is that of the mapping or list that the line belongs to: twice the indent; one more with dashes, because the items of a list can have
the indent of its key; negative for a line with a comment or nothing.  Then the number of dashes, each with a space after it; the
``LineForm`` of what follows them; and the key, empty without one.
"""
Line = tuple[Fields, object]
"""Line in the usual layout, with its value: an example of it if it is in flow style, because each use needs its own."""

_EMPTY: Line = ((-1, 0, LineForm.OPEN, ""), None)


def read(text: str) -> Line | None:
    """Return a line of a document, with plain scalars that have one meaning; None if it has no usual form."""
    frequent = _FREQUENT.fullmatch(text) if len(text) <= _LONGEST_LINE else None
    if frequent is None:
        return _read(text)
    indent, dashes, key, value = frequent.groups()
    if key.lower() in _WORDS or (value and value.lower() in _WORDS):
        return _read(text)
    level = 2 * len(indent) + (1 if dashes else 0)
    return (level, len(dashes) // 2, LineForm.OPEN if value is None else LineForm.ENTRY, key), value


def _read(text: str) -> Line | None:
    match = _matched(text)
    if match is None:
        return None
    groups: Sequence[str | None] = match.groups()
    if not text.isascii():
        groups = [None if start < 0 else text[start:end] for start, end in match.regs[1:]]
    before, key, quoted_key, written, plain, quoted, flow = groups
    dashes = len(before or "") // 2
    if not dashes and not key and not quoted_key:
        return None if written else _EMPTY
    if (key and not _has_one_meaning(key)) or (plain and plain not in _BOOLEANS and not _has_one_meaning(plain)):
        return None
    has_key = bool(key or quoted_key)
    form = LineForm.OPEN
    value: object = None
    if plain:
        form, value = _SCALAR[has_key], scalars.plain(plain)
    elif quoted:
        form, value = _SCALAR[has_key], quoted[1:-1]
    elif flow:
        form, value = _FLOW_STYLE[has_key], _flow_value(flow)
    if (flow and value is None) or (form == LineForm.OPEN and not has_key):
        return None
    level = 2 * match.start(1) + (1 if dashes else 0)
    return (level, dashes, form, key or (quoted_key or "")[1:-1]), value


@functools.lru_cache(maxsize=4096)
def columns(text: str) -> LineColumns:
    """Return the columns of a line that ``read`` accepts and that has a key or a value."""
    match = _matched(text)
    if match is None:
        raise ValueError(f"{text!r} is not in the usual layout")
    key_end = max(match.end("key"), match.end("quoted_key"))
    start, end = match.span("value")
    return LineColumns(key_end, start, end) if start >= 0 else LineColumns(key_end, key_end + 1, key_end + 1)


def _matched(text: str) -> re.Match[str] | None:
    if len(text) > _LONGEST_LINE or not text.isprintable():
        return None
    return _LINE.fullmatch(text if text.isascii() else _NOT_ASCII.sub(_OTHER, text))


def _flow_value(text: str) -> list[object] | dict[str, object] | None:
    """Return the value of a list or mapping in flow style; None if it is not complete, or a word has several meanings."""
    if text == "{}":
        return {}
    words: list[str] = []

    def collect(match: re.Match[str]) -> str:
        words.append(match[2] or "")
        return "\0" if match[1] else match[2]

    rest = _IN_FLOW.sub(collect, text)
    for _ in range(_DEEPEST_FLOW):
        rest = _INNERMOST.sub("\0", rest)
    if rest != "\0" or not all(not each or _has_one_meaning(each) for each in words):
        return None
    try:
        value: list[object] | dict[str, object] = json.loads(_IN_FLOW.sub(_as_json, text), object_pairs_hook=_unique)
    except ValueError:
        return None
    return value


def _as_json(match: re.Match[str]) -> str:
    return json.dumps(match[1][1:-1] if match[1] else scalars.plain(match[2]))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def _has_one_meaning(plain: str) -> bool:
    """Return whether a plain scalar other than a boolean has the same value in all versions of YAML."""
    if plain.lower() in _WORDS:
        return False
    return plain[0] not in _NUMBER_STARTS or _SAME_VALUE.fullmatch(plain) is not None or _LIKE_A_NUMBER.fullmatch(plain) is None
