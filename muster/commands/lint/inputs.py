"""Manifests that ``muster lint`` and ``muster tree`` read, the report on them, and its exit status."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kubeapi.meta import replaced
from kubeapi.names import CLUSTER_SCOPED
from muster import standard_output
from muster.commands import options as shared
from muster.commands.lint import configuration, rendering
from muster.commands.lint.rendering import Tools
from muster.commands.options import Command
from muster.commands.progress import Progress
from validators.rules.base import Severity

if TYPE_CHECKING:
    from muster.commands.lint.live import Live
    from validators.lint.discovery import Discovered, Filters
    from validators.lint.documents import Manifest
    from validators.lint.finding import Report
    from validators.lint.path_patterns import PathPatterns
    from validators.rules.base import Settings

_NO_TOOLS = Tools()

_FAILING = {"error": (Severity.ERROR,), "warning": (Severity.ERROR, Severity.WARNING), "never": ()}
"""Severities of findings with which the exit status is 1, by the value of ``--fail-on``."""
NOTHING_READ = 2
"""Exit status if PATH has no manifest."""

fail_on = click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="Lowest severity of findings with which the exit status is 1.",
)


def options(command: Command) -> Command:
    """Add the options about the rules, the files and the configuration."""
    for option in (configuration.options, shared.include, shared.exclude, shared.objects, shared.judging):
        command = option(command)
    return command


def complete_kinds(objects: Sequence[str]) -> frozenset[str]:
    """Return the cluster-scoped kinds of which all objects are known with ``--objects``, which are those of a cluster; none without it."""
    return CLUSTER_SCOPED if objects else frozenset()


def chosen(
    paths: Sequence[str], objects: Sequence[str], exclude: Sequence[str], include: Sequence[str], own: Iterable[str | None] = ()
) -> tuple[Discovered, Discovered]:
    """Return the files at *paths*, and the files at *objects* whose objects are only looked up.

    Files in *own*, which have other purposes, are read only if they are named.

    Raises:
        click.UsageError: a path does not exist, or a pattern is invalid.

    """
    from validators.lint import files

    selection = replaced(filters(exclude, include), own=frozenset(files.identity(each) for each in own if each))
    return _discovered(paths, selection), _discovered(objects, selection)


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


def _discovered(paths: Sequence[str], filters: Filters) -> Discovered:
    from validators.lint import discovery, files

    try:
        return discovery.discover(paths, filters)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None


def linted(
    inputs: Discovered,
    objects: Discovered,
    settings: Settings,
    against: str | None = None,
    tools: Tools = _NO_TOOLS,
    live: Live | None = None,
) -> tuple[Sequence[Manifest], Report]:
    """Return the manifests in *inputs* and the report on them; the files in *objects* are looked up only.

    *against* is the value of ``--against``.  The manifests that each of *tools* renders are linted by themselves, with the others to look
    up: charts and kustomizations often are the same objects for several clusters.  The objects of a *live* cluster are looked up too.

    Raises:
        click.UsageError: the old objects cannot be read.

    """
    from muster.commands.lint import against as old_objects
    from validators.lint import lint_files

    compared = None if against is None else old_objects.before(against, inputs.paths, tools)
    rendered = list(rendering.render(inputs, tools))
    progress = shown_progress()
    manifests, known = _read(inputs, objects, progress)
    if live and not inputs.paths:
        # The API server has accepted these objects.
        manifests, settings = live.manifests, dataclasses.replace(settings, whole_documents=False)
    elif live:
        known = (*known, *live.manifests)
    listed = live.listed if live else frozenset[str]()
    if not rendered and inputs.paths:
        warn_without_files(inputs, len(manifests))
    others = [*known, *(_readable(each) for part in rendered for each in part.manifests)]
    before = None if compared is None else compared.files
    report = lint_files.run(manifests, others, settings=settings, before=before, listed=listed, watch=validating(progress))
    progress.end()
    if rendered:
        others = [_readable(each) for each in (*known, *manifests)]
        report = report.joined(
            lint_files.run(
                part.manifests,
                others,
                settings=settings,
                before=None if compared is None else compared.before_rendering(part.folder),
                listed=listed,
            )
            for part in rendered
        )
    for problem in live.problems if live else ():
        standard_output.report(f"{click.get_current_context().command_path}: {problem}")
    unread = report.has_unreadable or bool(live and live.problems)
    return manifests, replaced(report.with_skipped(inputs.skipped), has_unreadable=unread)


def _read(named: Discovered, objects: Discovered, progress: Progress) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
    """Return the parsed files *named*, and those in *objects* that are not among them."""
    from validators.lint import files

    stdin = sys.stdin.buffer
    sources = files.sources(named.files, stdin, given=named.paths, unnamed=named.unnamed)
    further = files.sources(objects.files, stdin, leave_out=map(files.identity, named.files), given=objects.paths, unnamed=objects.unnamed)
    read = progress.over(sources, len(named.files), "reading files")
    known = progress.over(further, len(objects.files), "reading --objects")
    return tuple(each.manifest() for each in read), tuple(each.manifest() for each in known)


def shown_progress() -> Progress:
    """Return the progress of this command, which is removed from the terminal at the latest when the command ends."""
    context = click.get_current_context()
    progress = Progress(str(context.info_name))
    context.call_on_close(progress.end)
    return progress


def validating(progress: Progress) -> Callable[[Sequence[Manifest]], Iterator[Manifest]]:
    """Return a function that yields manifests, and prints how many are validated."""
    return lambda manifests: progress.over(manifests, len(manifests), "validating")


def _readable(manifest: Manifest) -> Manifest:
    """Return the file without what cannot be read, which one report has."""
    from validators.lint.documents import Unreadable

    return replaced(manifest, parts=tuple(part for part in manifest.parts if not isinstance(part, Unreadable)))


def warn_without_files(inputs: Discovered, count: int) -> None:
    """Print that there is nothing to read, if *count* is 0."""
    from validators.lint import files

    if not (count or inputs.skipped):
        command = click.get_current_context().command_path
        standard_output.report(f"{command}: no {', '.join(files.SUFFIXES)} file in {', '.join(inputs.paths)}")


def print_skipped(report: Report) -> None:
    """Print the number of skipped files of each other tool, unless nothing else was read: the exit status says so."""
    if _is_checked(report):
        shared.report_skipped(click.get_current_context().command_path, report.skipped, "name a file, or use --include, to read it")


def _is_checked(report: Report) -> bool:
    """Return whether an object was checked, or there is a finding about something that was read, or could not be read."""
    return bool(report.summary.documents or report.has_unreadable or any(each.source and not each.is_counted for each in report.findings))


def exit_status(report: Report, level: str, paths: Sequence[str]) -> int:
    """Return the exit status for the value *level* of ``--fail-on``, and report those of *paths* that are empty directories.

    It is not 0 if *paths* have no object to check.
    """
    if not (report.files or report.skipped):
        return NOTHING_READ
    if paths and not _is_checked(report):
        command = click.get_current_context().command_path
        standard_output.report(f"{command}: {shared.nothing_checked(command, paths, report.skipped)}")
        return report.status_if(_FAILING[level]) | NOTHING_READ
    empty = report.files and shared.report_empty_directories(str(click.get_current_context().info_name), paths)
    return report.status_if(_FAILING[level]) | (NOTHING_READ if empty else 0)
