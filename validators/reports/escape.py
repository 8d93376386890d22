"""Escaping of text from manifests: untrusted text must not control a terminal, a table or a parser."""

from __future__ import annotations

import re

_NOT_XML = r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
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


def xml(text: str) -> str:
    """Return *text* with escapes for characters that XML forbids; the XML writer escapes the rest."""
    return re.sub(_NOT_XML, lambda match: _escape(match.group()), text)


def markdown(text: str) -> str:
    """Return *text* on one line without meaning in Markdown, for a cell of a table."""
    return re.sub(_MARKDOWN, r"\\\1", printable(text)).replace("&", "&amp;").replace("@", "&#64;")


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
