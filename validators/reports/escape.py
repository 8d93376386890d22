"""Text from manifests made safe to show: what a stranger wrote must not steer a terminal, a table or a parser."""

from __future__ import annotations

import re

_NOT_XML = r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_MARKDOWN = r"([\\`*_{}\[\]<>#|~])"


def printable(text: str) -> str:
    """Control characters, those that turn the direction of text, and line ends as escapes: one line, as it is."""
    # Regular expressions are compiled where they are needed: start-up time is a feature, and this is the usual case.
    return text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text)


def xml(text: str) -> str:
    """Characters that XML does not know as escapes; the rest is the XML writer's business."""
    return re.sub(_NOT_XML, lambda match: _escape(match.group()), text)


def markdown(text: str) -> str:
    """Text that means nothing to Markdown and stays in its cell."""
    return re.sub(_MARKDOWN, r"\\\1", printable(text)).replace("&", "&amp;").replace("@", "&#64;")


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
