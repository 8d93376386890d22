"""Formatting of values: scalars and small mappings within an existing text, and whole new objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from validators.lint import scalars
from validators.reports.escape import printable

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]*")
_LOOKS_LIKE_NUMBER = re.compile(r"[0-9][0-9a-fA-FxXoO._eE+-]*")


def yaml(value: Json, quote: str = "") -> str:
    """Return a value on one line of YAML.  Strings are in *quote* if given, else quoted if they could be read as another type."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml(name)}: {yaml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(yaml(each) for each in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == "'" and value.isprintable() and "'" not in value:
        return f"'{value}'"
    # YAML must escape more than JSON does; printable() writes escapes that YAML reads.
    return value if not quote and _is_plain(value) else printable(json.dumps(value, ensure_ascii=False))


def yaml_lines(content: Json) -> Iterator[str]:
    """Yield a mapping as lines of YAML in block style."""
    for name, value in content.items():
        if isinstance(value, Mapping) and value:
            yield f"{yaml(name)}:"
            yield from (f"  {line}" for line in yaml_lines(value))
        elif isinstance(value, list) and value:
            yield f"{yaml(name)}:"
            for each in value:
                yield from _item(each)
        else:
            yield f"{yaml(name)}: {yaml(value)}"


def as_json(value: Json, *, compact: bool = False) -> str:
    """Return a value on one line of JSON, with or without blanks between its parts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))


def json_like(content: Json, sample: str, *, indentation: str, newline: str, compact: bool) -> str:
    """Return a mapping as JSON in the layout of the object *sample*, whose own line is indented by *indentation*."""
    match = re.match(r"\{[ \t]*(?:\r\n|\r|\n)([ \t]*)", sample)
    if match is None:
        return as_json(content, compact=compact)
    unit = match[1].removeprefix(indentation) or "  "
    return json.dumps(content, ensure_ascii=False, indent=unit).replace("\n", newline + indentation)


def _item(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for number, line in enumerate(yaml_lines(value)):
            yield f"  {line}" if number else f"- {line}"
    else:
        yield f"- {yaml(value)}"


def _is_plain(value: str) -> bool:
    if not _PLAIN.fullmatch(value) or _LOOKS_LIKE_NUMBER.fullmatch(value):
        return False
    return scalars.plain(value) == value
