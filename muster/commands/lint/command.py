"""``muster lint``: findings in manifests."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubeapi.versions import kubernetes_releases
from muster import standard_output
from muster.commands import live_input, options
from muster.commands.lint import configuration, inputs, live, rendering
from muster.commands.outputs import output_of, to_file
from validators import reports
from validators.reports import counts
from validators.reports.counts import counted

if TYPE_CHECKING:
    from muster.commands.lint.live import Live
    from muster.commands.lint.rendering import Tools
    from validators.lint.discovery import Discovered
    from validators.lint.finding import Report
    from validators.rules.base import Settings

FORMATS = tuple(reports.MODULES)
HAVING_FIXES = ("json", "sarif")
"""Reports that have fixes.  Names of other objects that are similar are searched for only then."""
LISTING_OBJECTS = "junit"
"""The report that lists the objects without findings too."""
EXIT_ERRORS = 1
_MOST_PROCESSES = 64


@click.command(
    short_help="Find mistakes in manifests.",
    epilog="Example: muster lint deploy/ --objects cluster.yaml --output sarif=muster.sarif",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@options.outputs(FORMATS, "Write a report to a file as well (repeatable); FILE - is standard output.")
@inputs.options
@click.option("--baseline", metavar="FILE", help="Do not report the findings of this file.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings to a file for --baseline.")
@inputs.fail_on
@click.option(
    "--against",
    metavar="REF|DIR",
    help="Also validate the changes since a revision of git, or since the files in a directory, by the rules about updates.",
)
@click.option("--helm", is_flag=True, help="Render the charts below PATH with helm, and lint the result.")
@click.option("--helm-values", multiple=True, metavar="FILE", help="With --helm: a file with values for the charts (repeatable).")
@click.option("--kustomize", is_flag=True, help="Render the kustomizations below PATH with kustomize or kubectl, and lint the result.")
@live_input.options
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule instead of the findings.")
@click.option("--show-config", is_flag=True, help="Print the options in effect, with those of the configuration file, as YAML, and stop.")
@click.option("--fix", is_flag=True, help="Apply safe fixes to the files: only a key or value is replaced; then lint the result.")
@click.option("--diff", is_flag=True, help="With --fix: write no file, print the changes as a patch.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: also apply fixes that may not be what you want.")
@click.option("--quiet", "-q", is_flag=True, help="Write nothing to standard output, only set the exit status.")
@click.option("--jobs", type=click.IntRange(1, _MOST_PROCESSES), metavar="N", help="Number of processes.  [default: one a core, at most 4]")
@options.no_color
def lint(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    form: str,
    outputs: tuple[str, ...],
    objects: tuple[str, ...],
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    baseline: str | None,
    write_baseline: str | None,
    fail_on: str,
    against: str | None,
    helm: bool,
    helm_values: tuple[str, ...],
    kustomize: bool,
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    statistics: bool,
    show_config: bool,
    fix: bool,
    diff: bool,
    unsafe_fixes: bool,
    quiet: bool,
    jobs: int | None,
    no_color: bool,
    **judging: Any,
) -> int:
    """Find mistakes in the manifests at PATH: files, directories (.yaml .yml .json below them), or - for standard input.

    Below a directory, files that git ignores, hidden files, vendor folders and environments are left out. Files of other tools,
    such as files of a Helm chart, templates, patches of a kustomization or package.json, are skipped and counted. Documents that are no
    Kubernetes objects are one line, which counts them; --statistics lists them. A file that is named is read.

    With --cluster, references are also looked up in the live cluster. Without a PATH, all objects of the cluster are checked, and the text
    is sorted by namespace and owner. --gates auto reads the feature gates of its API server.

    To hide a finding, add the annotation muster.dev/ignore ("rule-id: reason") to its object, or a comment
    "# muster: ignore[rule-id] reason" on its line or alone on the line above.

    Exit status: 0 no errors (warnings are possible), 1 errors, 2 something could not be read, PATH has no manifest or only files of other
    tools, or the command line is wrong, 3 both 1 and 2. With --fix, errors that were fixed do not count; with --diff, a change counts as an error.
    """
    live_input.refuse_contradictions(cluster=cluster, objects=(), kubeconfig=kubeconfig, context=context)
    minor = kubernetes_releases.names()[judging["kubernetes"]]
    gates = live.resolved_gates(judging["gates"], minor=minor, cluster=cluster, kubeconfig=kubeconfig, context=context)
    judging["gates"] = click.get_current_context().params["gates"] = gates
    settings = configuration.settings(**judging)
    if show_config:
        standard_output.write(configuration.show_options(click.get_current_context().params))
        return 0
    _check_input(paths, form, cluster=cluster, statistics=statistics)
    files = [output_of(each, FORMATS) for each in outputs]
    forms = {form, *(name for name, _ in files)}
    settings = dataclasses.replace(settings, fixes=not forms.isdisjoint(HAVING_FIXES), complete_kinds=inputs.complete_kinds(objects))
    read, known = inputs.chosen(paths, objects, exclude, include, (baseline, write_baseline, *(file for _, file in files)))
    _check_fix(paths, files, fix=fix, diff=diff, unsafe=unsafe_fixes)
    _check_exclusive(paths, against, fix=fix, rendered=helm or kustomize, cluster=cluster)
    tools = rendering.tools(helm=helm, kustomize=kustomize, values=helm_values)
    read = rendering.without_rendered(read, tools)
    _check_baseline(write_baseline, diff=diff)
    render: Callable[[Report], str] | None = None
    if fix:
        report, is_changed = _fixed(read, known, settings, diff=diff, unsafe=unsafe_fixes, quiet=quiet)
    else:
        objects_of_cluster = live.read(kubeconfig, context) if cluster else None
        report = _report_on(read, known, settings, against, tools, objects_of_cluster, jobs=jobs, list_objects=LISTING_OBJECTS in forms)
        is_changed = False
        if objects_of_cluster and not paths:
            from validators.reports import cluster_report

            report, render = objects_of_cluster.with_owners(report), cluster_report.render
    report = _without_known(report, baseline, write_baseline, settings)
    if not quiet:
        inputs.print_skipped(report)
    if not quiet and not diff and not any(file == options.STDOUT for _, file in files):
        text = render(report) if render and form == "text" else _for_terminal(report, form, no_color=no_color)
        standard_output.write(counts.statistics(report) if statistics else text)
    for name, file in files:
        to_file(file, _rendered(report, name))
    status = inputs.exit_status(report, fail_on, paths)
    return status | EXIT_ERRORS if diff and is_changed else status


def _report_on(
    read: Discovered,
    known: Discovered,
    settings: Settings,
    against: str | None,
    tools: Tools,
    objects_of_cluster: Live | None,
    *,
    jobs: int | None,
    list_objects: bool,
) -> Report:
    """Return the report; without other objects than those of files, by several processes and in little memory."""
    from muster.commands.lint import batches

    if objects_of_cluster:
        settings = dataclasses.replace(settings, complete_kinds=settings.complete_kinds | objects_of_cluster.listed)
    if against is None and not any((tools.helm, tools.kustomize, objects_of_cluster)):
        return batches.report_on(read, known, settings, jobs=jobs, list_objects=list_objects)
    return inputs.linted(read, known, settings, against, tools, objects_of_cluster)[1]


def _without_known(report: Report, baseline: str | None, write_baseline: str | None, settings: Settings) -> Report:
    from muster.commands.lint import baseline_file

    if write_baseline is not None:
        baseline_file.write(report, write_baseline, settings)
        return baseline_file.without_known(report, write_baseline, settings)
    return report if baseline is None else baseline_file.without_known(report, baseline, settings)


def _fixed(read: Discovered, objects: Discovered, settings: Settings, *, diff: bool, unsafe: bool, quiet: bool) -> tuple[Report, bool]:
    """Apply fixes to the files, or print them as a patch; return the report of the result, and whether something changed."""
    from muster.commands.lint import fix_files
    from validators.lint import files

    stdin = sys.stdin.buffer
    known = files.read_manifests(
        objects.files, stdin, leave_out=map(files.identity, read.files), given=objects.paths, unnamed=objects.unnamed
    )
    sources = list(files.sources(read.files, stdin, given=read.paths, unnamed=read.unnamed))
    fixed = fix_files.fix(sources, known, settings, unsafe=unsafe)
    if diff:
        standard_output.write(fix_files.patch(fixed))
    else:
        fix_files.write(fixed)
    if fixed.files and not quiet:
        would = "would be " if diff else ""
        standard_output.report(f"muster lint: {counted(fixed.fixes, 'finding')} {would}fixed in {counted(len(fixed.files), 'file')}")
    if fixed.unsafe and not unsafe and not quiet:
        standard_output.report(f"muster lint: {counted(fixed.unsafe, 'more finding')} would be fixed with --unsafe-fixes")
    return fixed.report.with_skipped(read.skipped), bool(fixed.files)


def _check_input(paths: tuple[str, ...], form: str, *, cluster: bool, statistics: bool) -> None:
    if not paths and not cluster:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input; or --cluster")
    if statistics and form != "text":
        raise click.UsageError("--statistics is for --format text: other formats have every finding")


def _check_fix(paths: Sequence[str], outputs: Sequence[tuple[str, str]], *, fix: bool, diff: bool, unsafe: bool) -> None:
    if (diff or unsafe) and not fix:
        raise click.UsageError(f"{'--diff' if diff else '--unsafe-fixes'} needs --fix")
    if fix and not diff and "-" in paths:
        raise click.UsageError("--fix needs files: standard input cannot be fixed; with --diff the changes are printed")
    if diff and any(file == options.STDOUT for _, file in outputs):
        raise click.UsageError("--output: standard output has the patch; give a file")


def _check_exclusive(paths: Sequence[str], against: str | None, *, fix: bool, rendered: bool, cluster: bool) -> None:
    if against is not None and not paths:
        raise click.UsageError("--against needs PATH")
    if rendered and not paths:
        raise click.UsageError("--helm and --kustomize need PATH")
    if against is not None and fix:
        raise click.UsageError("--against and --fix exclude each other: fix the files, then compare the result")
    if fix and (rendered or cluster):
        raise click.UsageError("--fix excludes --helm, --kustomize and --cluster: only files can be fixed")


def _check_baseline(write_baseline: str | None, *, diff: bool) -> None:
    if write_baseline == options.STDOUT:
        raise click.UsageError("--write-baseline: give a file; standard output has the report")
    if write_baseline is not None and diff:
        raise click.UsageError("--write-baseline and --diff exclude each other: with --diff no file is written")


def _for_terminal(report: Report, form: str, *, no_color: bool) -> str:
    """Return the report for standard output, in colours and folded if that is a terminal."""
    in_colour = form == "text" and not no_color and standard_output.is_colourful()
    return _rendered(report, form, standard_output.known_columns(), in_colour=in_colour)


def _rendered(report: Report, form: str, columns: int | None = None, *, in_colour: bool = False) -> str:
    """Return the report in the format *form*; text for a terminal of *columns* is folded."""
    if form == "text" and (in_colour or columns is not None):
        from validators.reports import text

        return (text.render_in_colour if in_colour else text.render)(report, columns)
    return reports.renderer(form)(report)
