"""``muster lint``: findings in manifests."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import device_selectors, options
from validators.reports.counts import counted

if TYPE_CHECKING:
    from validators.lint.discovery import Discovered, Filters
    from validators.lint.finding import Report
    from validators.lint.path_patterns import PathPatterns
    from validators.rules.base import Settings

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
_LONG_WORK = 2000
"""Minimum number of files for which progress is printed on a terminal."""
EXIT_ERRORS = 1
NOTHING_READ = 2
"""Exit status if PATH has no manifest."""


@click.command(
    short_help="Find mistakes in manifests.",
    epilog="Example: muster lint deploy/ --objects cluster.yaml --output sarif=muster.sarif",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@options.outputs(FORMATS, "Write a report to a file as well (repeatable); FILE - is standard output.")
@options.judging
@options.objects
@options.exclude
@options.include
@click.option("--fix", is_flag=True, help="Apply safe fixes to the files: only a key or value is replaced; then lint the result.")
@click.option("--diff", is_flag=True, help="With --fix: write no file, print the changes as a patch.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: apply fixes too that may not be what you want.")
@click.option("--quiet", "-q", is_flag=True, help="Write nothing to standard output, only set the exit status.")
@options.no_color
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
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    fix: bool,
    diff: bool,
    unsafe_fixes: bool,
    quiet: bool,
    no_color: bool,
) -> int:
    """Find mistakes in the manifests at PATH: files, directories (.yaml .yml .json below them), or - for standard input.

    Below a directory, files that git ignores, hidden files, vendor folders and environments are left out. Files of other tools,
    such as templates of a Helm chart, patches of a kustomization or package.json, are skipped and counted. A file that is named is read.

    To hide a finding, add the annotation muster.dev/ignore ("rule-id: reason") to its object, or a comment
    "# muster: ignore[rule-id] reason" on its line or alone on the line above.

    Exit status: 0 no errors (warnings are possible), 1 errors, 2 something could not be read, PATH has no manifest, or the command line is
    wrong, 3 both 1 and 2. With --fix, errors that were fixed do not count; with --diff, a change counts as an error.
    """
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    files = [_output(each) for each in outputs]
    settings = options.settings_of(profile, kubernetes, gates, rules=rules, linting=True)
    settings = dataclasses.replace(settings, selectors=device_selectors.installed_selectors())
    selection = filters(exclude, include)
    inputs, known = discovered(paths, selection), discovered(objects, selection).files
    _check_fix(paths, files, fix=fix, diff=diff, unsafe=unsafe_fixes)
    if fix:
        report, is_changed = _fixed(inputs, known, settings, diff=diff, unsafe=unsafe_fixes, quiet=quiet)
    else:
        report, is_changed = _report(inputs, known, settings), False
    if not quiet:
        _print_skipped(report.skipped)
    if not quiet and not diff and not any(file == options.STDOUT for _, file in files):
        _to_stdout(_rendered(report, form, in_colour=form == "text" and not no_color and _is_colourful()))
    for name, file in files:
        _to_file(file, _rendered(report, name))
    status = report.exit_status if report.files or report.skipped else NOTHING_READ
    return status | EXIT_ERRORS if diff and is_changed else status


def _check_fix(paths: Sequence[str], outputs: Sequence[tuple[str, str]], *, fix: bool, diff: bool, unsafe: bool) -> None:
    if (diff or unsafe) and not fix:
        raise click.UsageError(f"{'--diff' if diff else '--unsafe-fixes'} needs --fix")
    if fix and not diff and "-" in paths:
        raise click.UsageError("--fix needs files: standard input cannot be fixed; with --diff the changes are printed")
    if diff and any(file == options.STDOUT for _, file in outputs):
        raise click.UsageError("--output: standard output has the patch; give a file")


def filters(exclude: Sequence[str], include: Sequence[str], bases: Sequence[str] = (".",)) -> Filters:
    """Return the filters for the patterns of ``--exclude`` and ``--include``, which are relative to each of *bases*.

    Raises:
        click.BadParameter: a pattern has no meaning.

    """
    from validators.lint.discovery import Filters

    return Filters(_patterns("--exclude", exclude, bases), _patterns("--include", include, bases))


def _patterns(option: str, globs: Sequence[str], bases: Sequence[str]) -> tuple[PathPatterns, ...]:
    from validators.lint import path_patterns

    try:
        return tuple(path_patterns.patterns(globs, base) for base in bases) if globs else ()
    except path_patterns.PatternError as error:
        raise click.BadParameter(f"{error}: must be a line of .gitignore", param_hint=option) from None


def discovered(paths: Sequence[str], filters: Filters) -> Discovered:
    """Return the manifests at *paths*.

    Raises:
        click.UsageError: a path does not exist.

    """
    from validators.lint import discovery, files

    try:
        return discovery.discover(paths, filters)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None


def _report(inputs: Discovered, objects: Sequence[str], settings: Settings) -> Report:
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


def _fixed(inputs: Discovered, objects: Sequence[str], settings: Settings, *, diff: bool, unsafe: bool, quiet: bool) -> tuple[Report, bool]:
    """Apply fixes to the files, or print them as a patch; return the report of the result, and whether something changed."""
    from muster.commands import fix_files
    from validators.lint import files

    stdin = sys.stdin.buffer
    known = files.read_manifests(objects, stdin, leave_out=map(files.identity, inputs.files))
    fixed = fix_files.fix(list(files.sources(inputs.files, stdin)), known, settings, unsafe=unsafe)
    if diff:
        _to_stdout(fix_files.patch(fixed))
    else:
        fix_files.write(fixed)
    if fixed.files and not quiet:
        would = "would be " if diff else ""
        click.echo(f"muster lint: {counted(fixed.fixes, 'finding')} {would}fixed in {counted(len(fixed.files), 'file')}", err=True)
    return dataclasses.replace(fixed.report, skipped=inputs.skipped), bool(fixed.files)


def _print_skipped(skipped: Mapping[str, int]) -> None:
    if skipped:
        tools = ", ".join(f"{tool} {number:,}" for tool, number in sorted(skipped.items()))
        number = counted(sum(skipped.values()), "file")
        click.echo(f"muster lint: {number} of other tools skipped ({tools}); name a file, or use --include, to read it", err=True)


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
    if file == options.STDOUT:
        _to_stdout(text)
        return
    try:
        Path(file).write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"{file!r} cannot be written: {(error.strerror or str(error)).lower()}") from None
