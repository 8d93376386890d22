"""Lines of YAML documents in the usual layout of manifests: at most one key, and a value that ends on its line.

Versions of YAML and their parsers differ in scalars such as ``on`` and ``0o17`` and in details of the grammar.  ``read`` accepts only lines
that mean the same in all of them, whatever the lines around them, if these are accepted too.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Collection
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


class Form(enum.IntEnum):
    """Form of a line, after its dashes."""

    ENTRY = 0
    """Key and scalar.  The only one that is false."""
    OPEN = 1
    """Key without a value."""
    FLOW_ENTRY = 2
    """Key, and a list or mapping in flow style."""
    ITEM = 3
    """Scalar that is an item of a list."""
    FLOW_ITEM = 4
    """List or mapping in flow style that is an item of a list."""


class Columns(NamedTuple):
    """Columns of a line, from 0: ends of the key, with its quotes, and of the value, and the start of the value."""

    key_end: int
    value: int
    value_end: int


class Line(NamedTuple):
    """Line in the usual layout.

    Attributes:
        level: that of the mapping or list that the line belongs to: twice the indent; one more with dashes, because the items
            of a list can have the indent of its key; negative for a line with a comment or nothing.
        dashes: number of dashes, each with a space after it.
        form: what follows them.
        key: the key; empty without one.
        value: the value; an example of it if it is in flow style, because each use needs its own.

    """

    level: int
    dashes: int
    form: int
    key: str
    value: object
    columns: Columns


_EMPTY = Line(-1, 0, int(Form.OPEN), "", None, Columns(0, 0, 0))


def read(text: str) -> Line | None:
    """Return a line of a document, with plain scalars that have one meaning; None if it has no usual form."""
    match = _matched(text)
    if match is None:
        return None
    key, quoted_key, plain = (_part(text, match, name) for name in ("key", "quoted_key", "plain"))
    if not _has_one_meaning(key, ()) or not _has_one_meaning(plain, _BOOLEANS):
        return None
    dashes = len(match["dashes"] or "") // 2
    key_end = match.end("key" if key else "quoted_key")
    start, end = match.span("value")
    if key_end < 0 and not dashes:
        return _EMPTY if start < 0 else None
    value: object = None
    if start < 0:
        if key_end < 0:
            return None
        form, start, end = Form.OPEN, key_end + 1, key_end + 1  # after the colon
    elif match["flow"]:
        form, value = Form.FLOW_ITEM if key_end < 0 else Form.FLOW_ENTRY, _flow_value(text[start:end])
        if value is None:
            return None
    else:
        form, value = Form.ITEM if key_end < 0 else Form.ENTRY, scalars.plain(plain) if plain else text[start + 1 : end - 1]
    level = 2 * match.start("dashes") + (1 if dashes else 0)
    return Line(level, dashes, int(form), key or quoted_key[1:-1], value, Columns(key_end, start, end))


def _matched(text: str) -> re.Match[str] | None:
    if len(text) > _LONGEST_LINE or not text.isprintable():
        return None
    return _LINE.fullmatch(text if text.isascii() else _NOT_ASCII.sub(_OTHER, text))


def _part(text: str, match: re.Match[str], name: str) -> str:
    start, end = match.span(name)
    return text[start:end] if start >= 0 else ""


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
    if rest != "\0" or not all(_has_one_meaning(each, ()) for each in words):
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


def _has_one_meaning(plain: str, allowed: Collection[str]) -> bool:
    """Return whether a plain scalar has the same value in all versions of YAML, or is *allowed*, or empty."""
    if not plain or plain in allowed:
        return True
    if plain.lower() in _WORDS:
        return False
    return plain[0] not in _NUMBER_STARTS or _SAME_VALUE.fullmatch(plain) is not None or _LIKE_A_NUMBER.fullmatch(plain) is None
