"""Texts in device selectors: values of attributes that an expression compares, as string literals.

Names of attributes, and arguments of functions such as ``quantity("10Gi")``, are no values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_LITERALS = re.compile(r"""(?P<before>[\w\]](?<!\bin)\[\s*|\w\s*\(\s*)?(?P<literal>[rR]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))""")
_ORDINARY = frozenset({"quantity", "semver", "isQuantity", "isSemver", "has", "in"})
"""Functions whose arguments are no parts of an attribute's value."""
_UNREAD = ("\\", '"""', "'''")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_COMPARED_OTHERWISE = re.compile(r"[<>]|\+")
_METHODS_OF_NUMBERS = frozenset({"compareTo", "isGreaterThan", "isLessThan", "add", "sub", "asInteger", "sign", "major", "minor", "patch"})


def literals(expression: str) -> Iterator[str]:
    """Yield the values in *expression*."""
    for match in _LITERALS.finditer(expression):
        if match["before"] is None and (text := _content(match["literal"])) is not None:
            yield text


def renamed(expression: str, rename: Callable[[str], str]) -> str:
    """Return *expression* with its values renamed."""

    def replaced(match: re.Match[str]) -> str:
        text = _content(match["literal"]) if match["before"] is None else None
        return match[0] if text is None or (new := rename(text)) == text else f'"{new}"'

    return _LITERALS.sub(replaced, expression)


def compares_parts(expression: str) -> bool:
    """Return whether *expression* reads more of a value than if it equals another one, so that values must not change.

    This is assumed of an expression with texts that ``literals`` does not read: with escapes, or in triple quotes.
    """
    if any(each in expression for each in _UNREAD):
        return True
    bare = _LITERALS.sub("", expression)
    return bool(set(_CALLED.findall(expression)) - _ORDINARY - _METHODS_OF_NUMBERS or _COMPARED_OTHERWISE.search(bare))


def all_texts(expression: str) -> Iterator[str]:
    """Yield all string literals of *expression*, also arguments of functions."""
    for match in _LITERALS.finditer(expression):
        if (text := _content(match["literal"])) is not None:
            yield text


def words(expression: str) -> frozenset[str]:
    """Return the words of *expression*, among them the names of the attributes that it reads."""
    return frozenset(re.findall(r"[\w.-]+|\w+", expression)) | frozenset(re.findall(r"\w+", expression))


def _content(literal: str) -> str | None:
    """Return the text of a literal; None if it has escapes."""
    raw = literal[0] in "rR"
    text = literal[2:-1] if raw else literal[1:-1]
    return None if "\\" in text and not raw else text
