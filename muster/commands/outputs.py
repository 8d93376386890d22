"""Further outputs of a command: ``--output FORMAT=FILE``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from muster import standard_output
from muster.commands import options
from validators.reports.escape import printable_lines


def output_of(text: str, formats: Sequence[str]) -> tuple[str, str]:
    """Return format and file of ``--output FORMAT=FILE``.  Raises click.BadParameter."""
    form, equals, file = text.partition("=")
    if form not in formats or not equals or not file:
        raise click.BadParameter(f"{text!r} must be FORMAT=FILE, with FORMAT one of {', '.join(formats)}", param_hint="--output")
    return form, file


def to_file(file: str, text: str, form: str = "") -> None:
    """Write *text* in the format *form* to *file*; ``-`` is standard output.  Raises click.UsageError."""
    text = printable_lines(text) if form == "text" else text
    if file == options.STDOUT:
        standard_output.write(text)
        return
    try:
        Path(file).write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"{file!r} cannot be written: {(error.strerror or str(error)).lower()}") from None
