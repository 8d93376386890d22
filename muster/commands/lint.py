"""``muster lint``: findings in manifests."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options

if TYPE_CHECKING:
    from validators.lint.finding import Report
    from validators.rules.base import Settings

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
_LONG_WORK = 2000
"""Minimum number of files for which progress is printed on a terminal."""


@click.command(
    short_help="Find mistakes in manifests.",
    epilog="Example: muster lint deploy/ --objects cluster.yaml --output sarif=muster.sarif",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@options.outputs(FORMATS, "Write a report to a file as well (repeatable).")
@options.judging
@options.objects
@click.option("--quiet", "-q", is_flag=True, help="Write nothing to standard output, only set the exit status.")
@click.option("--no-color", is_flag=True, help="No colours. This is the default if NO_COLOR is set or the output is not a terminal.")
def lint(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    form: str,
    outputs: tuple[str, ...],
    profile: str,
    kubernetes: str,
    gates: tuple[str, ...],
    rules: tuple[str, ...],
    objects: tuple[str, ...],
    quiet: bool,
    no_color: bool,
) -> int:
    """Find mistakes in the manifests at PATH: files, directories (.yaml .yml .json below them), or - for standard input.

    To hide a finding, add the annotation muster.dev/ignore ("rule-id: reason") to its object, or a comment
    "# muster: ignore[rule-id] reason" on its line or alone on the line above.

    Exit status: 0 no errors (warnings are possible), 1 errors, 2 something could not be read or the command line is wrong,
    3 both 1 and 2.
    """
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    files = [_output(each) for each in outputs]
    settings = options.settings_of(profile, kubernetes, gates, rules=rules, linting=True)
    report = _report(paths, objects, settings)
    if not quiet:
        _to_stdout(_rendered(report, form, in_colour=form == "text" and not no_color and _is_colourful()))
    for name, file in files:
        _to_file(file, _rendered(report, name))
    return report.exit_status


def _report(paths: Sequence[str], objects: Sequence[str], settings: Settings) -> Report:
    from validators.lint import files, lint_files

    stdin = sys.stdin.buffer
    try:
        inputs = files.identities(paths)
        if len(inputs) >= _LONG_WORK and sys.stderr.isatty():
            click.echo(f"muster lint: reading {len(inputs):,} files", err=True)
        manifests = files.read_manifests(paths, stdin)
        known = files.read_manifests(objects, stdin, leave_out=inputs)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    if not manifests:
        # Not an error, as for other tools; but perhaps the path is wrong.
        click.echo(f"muster lint: no {', '.join(files.SUFFIXES)} file in {', '.join(paths)}", err=True)
    return lint_files.run(manifests, known, settings=settings)


def _rendered(report: Report, form: str, *, in_colour: bool = False) -> str:
    if in_colour:
        from validators.reports import text

        return text.render_in_colour(report)
    from validators import reports

    return reports.renderer(form)(report)


def _output(text: str) -> tuple[str, str]:
    form, equals, file = text.partition("=")
    if form not in FORMATS or not equals or not file:
        raise click.BadParameter(f"{text!r} must be FORMAT=FILE, with FORMAT one of {', '.join(FORMATS)}", param_hint="--output")
    return form, file


def _is_colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _to_stdout(text: str) -> None:
    # UTF-8 whatever the locale: a report is read by tools, and names can be in any script.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _to_file(file: str, text: str) -> None:
    try:
        Path(file).write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"{file!r} cannot be written: {(error.strerror or str(error)).lower()}") from None
