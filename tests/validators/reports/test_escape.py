"""Escaping of text from manifests for display."""

from __future__ import annotations

import pytest

from validators.reports import escape


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain \u00e4\u4e2d", "plain \u00e4\u4e2d"),
        ("a\nb", "a\\x0ab"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp", "\\u202egnp"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_printable(text: str, want: str) -> None:
    assert want == escape.printable(text)


@pytest.mark.parametrize(("text", "want"), [("a\tb", "a\tb"), ("a\x00b", "a\\x00b"), ("\ufffe", "\\ufffe"), ("\U0001f600", "\U0001f600")])
def test_xml(text: str, want: str) -> None:
    assert want == escape.xml(text)


@pytest.mark.parametrize(
    ("text", "want"), [("a|b", "a\\|b"), ("<i>", "\\<i\\>"), ("a\nb", "a\\\\x0ab"), ("`x`", "\\`x\\`"), ("@me &c", "&#64;me &amp;c")]
)
def test_markdown(text: str, want: str) -> None:
    assert want == escape.markdown(text)
