"""``muster tree``: the hierarchy of Workloads, groups and pods in manifests, with the findings of the linter in place."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from muster import standard_output
from muster.commands.lint import configuration, inputs
from validators.lint.documents import Document

FORMATS = ("text", "json")


@click.command(short_help="Print the hierarchy of Workloads, groups and pods, with findings.", epilog="Example: muster tree train.yaml")
@click.argument("paths", nargs=-1, metavar="FILE...|-")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@inputs.options
@inputs.fail_on
def tree(
    *,
    paths: tuple[str, ...],
    form: str,
    objects: tuple[str, ...],
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    fail_on: str,
    **judging: Any,
) -> int:
    """Print the trees in the manifests at FILE: files, directories, or - for standard input.

    A Workload has its templates below it. A CompositePodGroup has its child groups, and a PodGroup its pods and Jobs. Each finding of
    muster lint is printed below its object or template. Pods of a group without findings are on one line.

    Exit status: the same as that of muster lint without a baseline.
    """
    if not paths:
        raise click.UsageError("give at least one FILE: a file, a directory, or - for standard input")
    from validators.reports import tree_report

    settings = configuration.settings(**judging)
    settings = dataclasses.replace(settings, fixes=form == "json", complete_kinds=inputs.complete_kinds(objects))
    read, known = inputs.chosen(paths, objects, exclude, include)
    manifests, report = inputs.linted(read, known, settings)
    inputs.print_skipped(report)
    forest = tree_report.build((part for each in manifests for part in each.parts if isinstance(part, Document)), report)
    if form == "json":
        standard_output.write(tree_report.as_json(forest))
    else:
        standard_output.write_lines(tree_report.as_text(forest))
    return inputs.exit_status(report, fail_on, paths)
