"""``muster tree``: the hierarchy of Workloads, groups and pods in manifests, with the findings of the linter in place."""

from __future__ import annotations

import sys

import click

from muster.commands import options
from muster.commands.lint import configuration, inputs
from muster.commands.lint.command import NOTHING_READ
from validators.lint.documents import Document

FORMATS = ("text", "json")


@click.command(short_help="Print the hierarchy of Workloads, groups and pods, with findings.", epilog="Example: muster tree train.yaml")
@click.argument("paths", nargs=-1, metavar="FILE...|-")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@options.judging
@options.objects
@options.exclude
@options.include
@configuration.options
def tree(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    form: str,
    profile: str,
    kubernetes: str,
    gates: tuple[str, ...],
    rules: tuple[str, ...],
    objects: tuple[str, ...],
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> int:
    """Print the trees in the manifests at FILE: files, directories, or - for standard input.

    A Workload has its templates below it. A CompositePodGroup has its child groups, and a PodGroup its pods and Jobs. Each finding of
    muster lint is printed below its object or template. Pods of a group without findings are on one line.

    Exit status: the same as that of muster lint.
    """
    if not paths:
        raise click.UsageError("give at least one FILE: a file, a directory, or - for standard input")
    from validators.lint import files, lint_files
    from validators.reports import tree_report

    settings = configuration.settings(profile, kubernetes, gates, rules, select=select, ignore=ignore)
    selection = inputs.filters(exclude, include)
    read = inputs.discovered(paths, selection).files
    manifests = files.read_manifests(read, sys.stdin.buffer)
    others = inputs.discovered(objects, selection).files
    known = files.read_manifests(others, sys.stdin.buffer, leave_out=map(files.identity, read))
    report = lint_files.run(manifests, known, settings=settings)
    if not manifests:
        click.echo(f"muster tree: no {', '.join(files.SUFFIXES)} file in {', '.join(paths)}", err=True)
    forest = tree_report.build((part for each in manifests for part in each.parts if isinstance(part, Document)), report)
    text = tree_report.as_json(forest) if form == "json" else tree_report.as_text(forest)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
    return report.exit_status if manifests else NOTHING_READ
