"""Escaping of text from manifests for display."""

from __future__ import annotations

import json

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


@pytest.mark.parametrize("text", ["plain \u00e4\u4e2d", "a\nb\t", "\x1b[2J", "\x9b2J\x7f", "\u202e", "\U000e0001", "\ud800", '"\\'])
@pytest.mark.parametrize("indent", [None, 1])
def test_json(text: str, indent: int | None) -> None:
    written = escape.json_text({text: [text]}, indent)

    assert {text: [text]} == json.loads(written)
    assert written.replace("\n", "").isprintable()


def test_json_of_people_is_readable() -> None:
    assert '{"\u00e4\u4e2d": "\\u202e"}\n' == escape.json_text({"\u00e4\u4e2d": "\u202e"})


@pytest.mark.parametrize(
    ("text", "want"), [("a|b", "a\\|b"), ("<i>", "\\<i\\>"), ("a\nb", "a\\\\x0ab"), ("`x`", "\\`x\\`"), ("@me &c", "&#64;me &amp;c")]
)
def test_markdown(text: str, want: str) -> None:
    assert want == escape.markdown(text)
