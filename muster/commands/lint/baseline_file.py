"""Options ``--baseline`` and ``--write-baseline``."""

from __future__ import annotations

import collections
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from muster import standard_output
from muster.commands.outputs import to_file
from validators.lint import baseline, files, path_patterns
from validators.lint.finding import Finding, Report
from validators.reports.counts import counted
from validators.rules.base import Settings, Severity

_LARGEST = 100_000_000
"""Limit for the size of the file, in bytes; a longer one is cut, and then is not JSON."""


def write(report: Report, path: str, settings: Settings) -> None:
    """Write all findings of *report* to the file *path*, and report their number.

    Of a baseline that is there, the entries stay that *report* says nothing about: of rules that are off, and of other files.

    Raises:
        click.UsageError: the file exists and is no baseline, or cannot be written.

    """
    place, others = _place(path), baseline.Baseline()
    if os.path.lexists(path):
        others = baseline.without_judged(_read(path, "--write-baseline"), report, place, _off(settings))
        folder = Path(path).parent
        others = baseline.Baseline(collections.Counter({each: n for each, n in others.entries.items() if (folder / each[0]).exists()}))
    to_file(path, baseline.of_report(report, place, others))
    number = counted(report.summary.errors + report.summary.warnings, "finding")
    standard_output.report(f"muster lint: {number} written to {path}")


def without_known(report: Report, path: str, settings: Settings) -> Report:
    """Return *report* without the findings of the baseline in the file *path*; print how many of the baseline no longer exist.

    Raises:
        click.UsageError: the file cannot be read, or is no baseline.

    """
    remaining, stale = baseline.apply(report, _read(path, "--baseline"), _place(path), _off(settings))
    if stale:
        standard_output.report(
            f"muster lint: {path} is out of date: {counted(stale, 'finding')} no longer reported; write it again with --write-baseline"
        )
    return remaining


def hiding(path: str) -> Callable[[Sequence[Finding]], Sequence[Finding]]:
    """Return the function that returns findings without those of the baseline in the file *path*.

    Raises:
        click.UsageError: the file cannot be read, or is no baseline.

    """
    known, place = _read(path, "--baseline"), _place(path)
    return lambda findings: baseline.unknown(findings, known, place)[0]


def _read(path: str, option: str) -> baseline.Baseline:
    try:
        with Path(path).open("rb") as file:
            return baseline.read(file.read(_LARGEST + 1).decode("utf-8"))
    except FileNotFoundError:
        raise click.UsageError(f"{option} {path}: no such file or directory; --write-baseline writes one") from None
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeDecodeError, baseline.BaselineError) as error:
        raise click.UsageError(f"{option} {path}: {error}") from None


def _off(settings: Settings) -> frozenset[str]:
    """Return the rules that are off in all files."""
    return frozenset(rule for rule, severity in settings.severities if severity is Severity.OFF)


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
