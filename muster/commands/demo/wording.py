"""Wording of the demonstration: answers as kubectl prints them, patches in words, line breaks.

Text in, text out.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 100
"""Width of the terminal in columns."""
LAST_COLUMN = 60
"""Largest first column of a hanging indent, so that folded text has enough columns."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_VERBS = {"add": "set to", "replace": "changed to", "remove": "removed"}


def fold(line: str, indent: str = "    ") -> str:
    """Return *line*, folded at spaces, with further lines indented.  Colour codes have no width.

    A word that is longer than a line stays whole.
    """
    folded, width = "", 0
    for number, word in enumerate(line.split(" ")):
        columns_needed = len(_ESCAPE.sub("", word))
        if width + 1 + columns_needed > WIDTH and not folded.endswith(" ") and folded:
            folded, width = f"{folded}\n{indent}{word}", len(indent) + columns_needed
        else:
            joint = " " if number else ""
            folded, width = f"{folded}{joint}{word}", width + len(joint) + columns_needed
    return folded


def hanging(line: str) -> int:
    """Return the indent of further lines of *line*: that of its last column, or a little more than its beginning."""
    starts = [match.end() for match in re.finditer(r"\S {2,}(?=\S)", line)]
    return starts[-1] if starts and starts[-1] <= LAST_COLUMN else len(line) - len(line.lstrip()) + len("    ")


def paragraph(text: str) -> str:
    """Return running text as folded lines."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def typed(command: str) -> str:
    """Return a command, folded before its options to fit behind a prompt."""
    folded = ""
    for part in re.split(r" (?=-)", command):
        last = folded.rpartition("\n")[2]
        if folded and len(f"$ {last} {part} \\") > WIDTH:
            folded += f" \\\n    {part}"
        else:
            folded += f" {part}" if folded else part
    return folded


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with aligned cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_kubectl(request: Mapping[str, Any], response: Mapping[str, Any]) -> Iterator[str]:
    """Return the output of kubectl: warnings, then the new object's name or the error."""
    kind, group = request["kind"]["kind"], request["kind"]["group"]
    yield from (f"Warning: {warning}" for warning in response.get("warnings", ()))
    if response["allowed"]:
        yield f"{kind.lower()}{f'.{group}' if group else ''}/{request['name']} created"
        return
    status = response["status"]
    causes = [f"{cause['field']}: {cause['message']}" for cause in status.get("details", {}).get("causes", ())]
    if status["reason"] != "Invalid" or not causes:
        yield f"Error from server ({status['reason']}): {status['message']}"
    elif len(causes) == 1:
        yield f'The {kind} "{request["name"]}" is invalid: {causes[0]}'
    else:
        yield f'The {kind} "{request["name"]}" is invalid:'
        yield from (f"* {cause}" for cause in causes)


def in_words(patch: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an RFC 6902 patch, a line for each operation: ``spec.disruptionMode set to {"single": {}}``."""
    for operation in patch:
        value = f" {json.dumps(operation['value'])}" if "value" in operation else ""
        yield f"{_field(operation['path'])} {_VERBS[operation['op']]}{value}"


def _field(pointer: str) -> str:
    """Return a JSON pointer as a field path."""
    path = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if name.isdigit():
            path += f"[{name}]"
        elif name == "-":
            path += "[new]"
        elif "." in name or "/" in name:
            path += f"[{name}]"
        else:
            path += f".{name}" if path else name
    return path
