"""YAML documents in the usual layout of manifests to values without positions, many times as fast as ``yaml_text``.

The library, yaml-rs, is optional.  It parses YAML 1.2, ``yaml_text`` YAML 1.1 as kubectl does; they differ in scalars such as
``on`` and ``0o17`` and in details of the grammar.  So a document is parsed here only if each of its lines has one of a few
simple forms, in which both agree: at most one key, and a value that ends on its line.  ``mapping`` returns None for all other
documents and for errors; the caller then calls ``yaml_text``.  Lines repeat within and between documents: a line is checked once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from validators.lint.limits import MOST_NODES

try:
    from yaml_rs import loads as _loads
except ImportError:
    _loads = None  # type: ignore[assignment]

_parse: Callable[..., object] | None = _loads

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_OTHER = "\1"
"""Stands for each character beyond ASCII, so that the patterns below are small."""
_ANY = rf"[\x20-\x7e{_OTHER}]"
_QUOTED = rf"'[\x20-\x26\x28-\x7e{_OTHER}]*'|\"[\x20\x21\x23-\x5b\x5d-\x7e{_OTHER}]*\""
_FLOW_WORD = r"[A-Za-z0-9_/.][A-Za-z0-9_/.+=@-]*"
_FLOW = rf"[\[{{](?:{_QUOTED}|[A-Za-z0-9_/.+=@:, \[\]{{}}-])*[\]}}]"
_PLAIN = r"(?:[A-Za-z0-9_/.]|-[A-Za-z0-9_/.=-])(?:[A-Za-z0-9_/.+=@%$()<>,;|!?&*^'\"\\\[\]{}~-]|:(?=[A-Za-z0-9_/.+=@%$-])| +(?=[^ #:]))*"
_KEY = rf"(?P<key>[A-Za-z_.][A-Za-z0-9_./-]{{0,250}})|{_QUOTED}"
_VALUE = rf"(?:(?P<plain>{_PLAIN})|{_QUOTED}|(?P<flow>{_FLOW}))"
_LINE = re.compile(
    rf" {{0,60}}(?:(?:- ){{0,5}}(?:{_KEY}):(?: +{_VALUE})?|(?:- ){{1,5}}{_VALUE.replace('P<', 'P<item_')})?(?: *| +#{_ANY}*)|---"
)
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
_LIKE_A_NUMBER = re.compile(r"[-+]?(?:0[xob][0-9a-f_]*|(?=.*[0-9])[0-9_.]*(?:e[-+0-9_.]*)?|\.(?:inf|nan))", re.ASCII | re.IGNORECASE)

_known: set[str] = {""}
_MOST_KNOWN = 20_000


def mapping(text: str) -> dict[str, object] | None:
    """Return the document in *text* if it is a mapping in the usual layout; its value equals that of ``yaml_text.values``.  Else None."""
    if _parse is None or len(text) > MOST_NODES:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    new = set(text.split("\n")) - _known
    if not all(map(_is_usual, new)):
        return None
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    _known.update(new)
    try:
        content = _parse(text, parse_datetime=False)
    except ValueError:
        return None
    return content if type(content) is dict else None


def _is_usual(line: str) -> bool:
    """Return whether a line has a usual form, with plain scalars that have one meaning."""
    if len(line) > _LONGEST_LINE or not line.isprintable():
        return False
    match = _LINE.fullmatch(line if line.isascii() else _NOT_ASCII.sub(_OTHER, line))
    if match is None:
        return False
    key, plain, flow = match["key"], match["plain"] or match["item_plain"], match["flow"] or match["item_flow"]
    if key is not None and not _has_one_meaning(key):
        return False
    if plain is not None and plain not in _BOOLEANS and not _has_one_meaning(plain):
        return False
    return flow is None or _is_usual_flow(flow)


def _is_usual_flow(text: str) -> bool:
    """Return whether lists and mappings in flow style are complete, and their words have one meaning."""
    words: list[str] = []

    def collect(match: re.Match[str]) -> str:
        words.append(match[2] or "")
        return "\0" if match[1] else match[2]

    text = _IN_FLOW.sub(collect, text)
    for _ in range(_DEEPEST_FLOW):
        text = _INNERMOST.sub("\0", text)
    return text == "\0" and all(not each or _has_one_meaning(each) for each in words)


def _has_one_meaning(plain: str) -> bool:
    """Return whether a plain scalar other than a boolean has the same value in all versions of YAML."""
    if _SAME_VALUE.fullmatch(plain):
        return True
    return plain.lower() not in _WORDS and _LIKE_A_NUMBER.fullmatch(plain) is None
