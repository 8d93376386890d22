"""Options ``--baseline`` and ``--write-baseline``."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import click

from muster.commands.lint.report_output import to_file
from validators.lint import baseline, files, path_patterns
from validators.lint.finding import Report
from validators.reports.counts import counted
from validators.rules.base import Settings, Severity

_LARGEST = 100_000_000
"""Limit for the size of the file, in bytes; a longer one is cut, and then is not JSON."""


def write(report: Report, path: str) -> None:
    """Write all findings of *report* to the file *path*, and report their number."""
    to_file(path, baseline.of_report(report, _place(path)))
    number = counted(report.summary.errors + report.summary.warnings, "finding")
    click.echo(f"muster lint: {number} written to {path}", err=True)


def without_known(report: Report, path: str, settings: Settings) -> Report:
    """Return *report* without the findings of the baseline in the file *path*; print how many of the baseline no longer exist.

    Raises:
        click.UsageError: the file cannot be read, or is no baseline.

    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        off = {rule for rule, severity in settings.severities if severity is Severity.OFF}
        remaining, stale = baseline.apply(report, baseline.read(content.decode("utf-8")), _place(path), off)
    except OSError as error:
        raise click.UsageError(f"--baseline {path}: {(error.strerror or str(error)).lower()}; --write-baseline writes one") from None
    except (UnicodeDecodeError, baseline.BaselineError) as error:
        raise click.UsageError(f"--baseline {path}: {error}") from None
    if stale:
        click.echo(
            f"muster lint: {path} is out of date: {counted(stale, 'finding')} no longer reported; write it again with --write-baseline",
            err=True,
        )
    return remaining


def _place(path: str) -> Callable[[str], str]:
    """Return the function from the name of a file to its path below the directory of the baseline *path*, with slashes."""
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - links stay as written

    @functools.cache
    def place(file: str) -> str:
        if file == files.STDIN_NAME:
            return file
        path = os.path.abspath(file)  # noqa: PTH100 - likewise
        return (path_patterns.below(path, folder) or os.path.relpath(path, folder)).replace(os.sep, "/")

    return place
