"""Escaping of text from manifests: untrusted text must not control a terminal, a table or a parser."""

from __future__ import annotations

import json
import re

_CI_COMMANDS = ("::", "##[")
"""Beginnings of a line that a runner of GitHub obeys, also behind spaces."""
_MARKDOWN = r"([\\`*_{}\[\]<>#|~])"


def printable(text: str) -> str:
    """Return *text* on one line, with escapes for control characters, line ends and characters that change text direction."""
    # Text without such characters is the usual case.  No regular expression, because compiling one delays start-up.
    return text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text)


def printable_lines(text: str) -> str:
    """Return *text* with the escapes of ``printable``, except for line ends and the colours of a terminal; no line is a command of a CI."""
    if not text.replace("\n", "").isprintable():
        parts = re.split(r"(\n|\x1b\[[0-9;]*m)", text)
        text = "".join(part if number % 2 else printable(part) for number, part in enumerate(parts))
    if any(each in text for each in _CI_COMMANDS):
        text = re.sub(rf"(?m)^( *)(?={'|'.join(map(re.escape, _CI_COMMANDS))})", r"\1\\", text)
    return text


def json_text(content: object, indent: int | None = None) -> str:
    """Return *content* as JSON with a line end, for people too: letters of any script are readable, and no character controls a terminal."""
    return json_escapes(json.dumps(content, ensure_ascii=False, indent=indent)) + "\n"


def json_escapes(text: str) -> str:
    """Return *text*, JSON, with escapes of JSON for the characters for which ``printable`` has some, but for line ends."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def markdown(text: str) -> str:
    """Return *text* on one line without meaning in Markdown, for a cell of a table."""
    return re.sub(_MARKDOWN, r"\\\1", printable(text)).replace("&", "&amp;").replace("@", "&#64;")


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
