"""Files that ``muster lint`` reads, and the report on them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muster.commands.lint import configuration

if TYPE_CHECKING:
    from validators.lint.discovery import Discovered, Filters
    from validators.lint.finding import Report
    from validators.lint.path_patterns import PathPatterns
    from validators.rules.base import Settings

_LONG_WORK = 2000
"""Minimum number of files for which progress is printed on a terminal."""


def filters(exclude: Sequence[str], include: Sequence[str], bases: Sequence[str] = (".",)) -> Filters:
    """Return the filters for the patterns of ``--exclude`` and ``--include``.

    They are relative to each of *bases*, or to the configuration file if they are written there.

    Raises:
        click.BadParameter: a pattern is invalid.

    """
    from validators.lint.discovery import Filters

    return Filters(
        _patterns("--exclude", exclude, configuration.bases("exclude", bases)),
        _patterns("--include", include, configuration.bases("include", bases)),
    )


def _patterns(option: str, globs: Sequence[str], bases: Sequence[str]) -> tuple[PathPatterns, ...]:
    from validators.lint import path_patterns

    try:
        return tuple(path_patterns.patterns(globs, base) for base in bases) if globs else ()
    except path_patterns.PatternError as error:
        raise click.BadParameter(f"{error}: must be a line of .gitignore", param_hint=option) from None


def discovered(paths: Sequence[str], filters: Filters) -> Discovered:
    """Return the files at *paths*.

    Raises:
        click.UsageError: a path does not exist.

    """
    from validators.lint import discovery, files

    try:
        return discovery.discover(paths, filters)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None


def report_on(inputs: Discovered, objects: Sequence[str], settings: Settings) -> Report:
    """Return the report on the files in *inputs*; those in *objects* are looked up only."""
    from validators.lint import files, lint_files

    stdin = sys.stdin.buffer
    if len(inputs.files) >= _LONG_WORK and sys.stderr.isatty():
        click.echo(f"muster lint: reading {len(inputs.files):,} files", err=True)
    manifests = files.read_manifests(inputs.files, stdin)
    known = files.read_manifests(objects, stdin, leave_out=map(files.identity, inputs.files))
    if not manifests:
        click.echo(f"muster lint: no {', '.join(files.SUFFIXES)} file in {', '.join(inputs.paths)}", err=True)
    report = lint_files.run(manifests, known, settings=settings)
    return dataclasses.replace(report, skipped=inputs.skipped)
