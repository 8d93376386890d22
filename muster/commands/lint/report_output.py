"""Reports of ``muster lint``: formats, files, standard output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster import standard_output
from muster.commands import options

if TYPE_CHECKING:
    from validators.lint.finding import Report

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")


def rendered(report: Report, form: str, *, in_colour: bool = False) -> str:
    """Return the report in the format *form*."""
    if in_colour:
        from validators.reports import text

        return text.render_in_colour(report)
    from validators import reports

    return reports.renderer(form)(report)


def output_of(text: str) -> tuple[str, str]:
    """Return format and file of ``--output FORMAT=FILE``.  Raises click.BadParameter."""
    form, equals, file = text.partition("=")
    if form not in FORMATS or not equals or not file:
        raise click.BadParameter(f"{text!r} must be FORMAT=FILE, with FORMAT one of {', '.join(FORMATS)}", param_hint="--output")
    return form, file


def to_file(file: str, text: str) -> None:
    """Write *text* to *file*; ``-`` is standard output.  Raises click.UsageError."""
    if file == options.STDOUT:
        standard_output.write(text)
        return
    try:
        Path(file).write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"{file!r} cannot be written: {(error.strerror or str(error)).lower()}") from None
