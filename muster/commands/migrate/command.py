"""``muster migrate``: manifests of retired API versions become manifests of current ones."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import SCHEDULING
from muster import extras, standard_output
from muster.commands import live_input, options
from muster.commands.outputs import output_of, to_file
from muster.commands.progress import Progress
from validators.reports.escape import printable_lines

if TYPE_CHECKING:
    from muster.commands.snapshot.live_cluster import ClusterError
    from validators.migrate.outcome import Migration

FORMATS = ("text", "json")
NOTHING_READ = 2
"""Exit status if PATH has no manifest."""
_CLUSTER = "Move the custom resources of the live cluster of the kubeconfig; with --dry-run or --to-kubernetes, it is only read."


@click.command(
    short_help="Convert manifests of retired API versions to current ones.",
    epilog="Example: muster migrate --in-place manifests/ --output json=losses.json",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--in-place", "-i", is_flag=True, help="Write the changed files in place: all of them, or none if one cannot be migrated.")
@click.option("--diff", is_flag=True, help="Write a diff to standard output instead of the manifests; with --in-place no file is written.")
@click.option(
    "--to",
    type=click.Choice((*served_versions.WORKLOAD_VERSIONS, *served_versions.groups_of("Workload"))),
    help=f"API version of Workloads and PodGroups [default: {served_versions.hub_of('Workload').version}], or an API group to which those of other groups are moved, with the pods that name them.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of the report.")
@options.outputs(FORMATS, "Write the report to a file as well (repeatable); FILE - is standard output.")
@click.option("--quiet", "-q", is_flag=True, help="Write no report, only set the exit status.")
@functools.partial(live_input.options, text=_CLUSTER)
@click.option(
    "--to-kubernetes",
    type=click.Choice([*kubernetes_releases.names(kubernetes_releases.TODAY + 1)]),
    help="With --cluster: print the steps that are needed before an upgrade to this version.",
)
@click.option("--dry-run", is_flag=True, help="With --cluster: report what would be moved, and write nothing.")
def migrate(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    in_place: bool,
    diff: bool,
    to: str | None,
    form: str,
    outputs: tuple[str, ...],
    quiet: bool,
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    to_kubernetes: str | None,
    dry_run: bool,
) -> int:
    """Convert the manifests at PATH: files, directories (.yaml .yml .json below them), or - for standard input.

    Workloads and PodGroups of scheduling.k8s.io v1alpha1 and v1alpha2 become v1beta1. Pods, and pod templates of any
    controller, can name a group by workloadRef. The PodGroups of these pods are created and written after their Workload, one
    for each Workload, group and replica key. Give the files with the Workload and with the pods in one call. Everything else
    keeps its bytes: comments, order and layout.

    The migrated manifests are written to standard output. A report of changes and losses is written to standard error. With
    --in-place, only the report is printed, to standard output. With --diff no file is written.

    With --cluster no file is read: the custom resources of scheduling.muster.dev that the cluster stores are moved to scheduling.k8s.io,
    with their status and with what they own; running pods are not changed. The command can be interrupted and run again. Exit status: 0
    all are moved, 1 something is not (see the report), 2 the cluster could not be read.

    With --cluster and --to-kubernetes no file is read. Standard output has the steps, as a shell script to read and run, that replace
    stored Workloads and groups of which the newer version refuses every update, or which its scheduler never places. Nothing is written
    to the cluster. Exit status: 0 there are none, 1 there are, 2 the cluster could not be read, or a part of it.

    Exit status: 0 everything was carried over, 1 something was lost (see the report), 2 something could not be read or
    migrated and nothing was written, PATH has no manifest, or the command line is wrong, 3 both 1 and 2.
    """
    if cluster or to_kubernetes or dry_run:
        if paths or in_place or diff or outputs or quiet:
            raise click.UsageError("--cluster needs no PATH and none of --in-place, --diff, --output and --quiet")
        return _of_cluster(kubeconfig, context, to, to_kubernetes, form, cluster=cluster, dry_run=dry_run)
    live_input.refuse_contradictions(cluster=cluster, objects=(), kubeconfig=kubeconfig, context=context)
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    if in_place and "-" in paths:
        raise click.UsageError("--in-place needs files: standard input cannot be written in place")
    files = [output_of(each, FORMATS) for each in outputs]
    if _on_standard_output(files) and (diff or not in_place):
        raise click.UsageError("--output: standard output has the manifests or the diff; give a file, or --in-place without --diff")
    migration = _migrated(paths, to or served_versions.hub_of("Workload").version)
    written = _delivered(migration, in_place=in_place, diff=diff)
    if not quiet:
        stream = sys.stdout if in_place and not diff and not _on_standard_output(files) else sys.stderr
        _write(stream, _rendered(migration, form, written))
    for name, file in files:
        to_file(file, _rendered(migration, name, written))
    if options.report_empty_directories("migrate", paths):
        return migration.exit_status | NOTHING_READ
    if not (migration.documents or migration.refused):
        standard_output.report(f"muster migrate: {options.nothing_checked('muster migrate', paths, {})}")
        return NOTHING_READ
    return migration.exit_status


def _of_cluster(
    kubeconfig: str | None, context: str | None, to: str | None, to_kubernetes: str | None, form: str, *, cluster: bool, dry_run: bool
) -> int:
    if not cluster:
        raise click.UsageError(f"{'--to-kubernetes' if to_kubernetes else '--dry-run'} needs --cluster")
    if to_kubernetes is None:
        return _move(kubeconfig, context, to, form, dry_run=dry_run)
    if to is not None or dry_run:
        raise click.UsageError("--to-kubernetes writes nothing, and needs neither --to nor --dry-run")
    return _upgrade(kubeconfig, context, to_kubernetes, form)


def _move(kubeconfig: str | None, context: str | None, to: str | None, form: str, *, dry_run: bool) -> int:
    if to not in (None, SCHEDULING):
        raise click.UsageError(f"--cluster moves objects to {SCHEDULING} only; --to {to} is for files")
    extras.require("cluster")
    from muster.commands.migrate import move_report
    from muster.commands.migrate.cluster_move import ClusterMove
    from muster.commands.snapshot import live_cluster

    progress = Progress("migrate")
    progress.show("moving objects" if not dry_run else "reading the cluster")
    try:
        move = ClusterMove(live_cluster.connect(kubeconfig, context, instead="PATH"), dry_run=dry_run)
        move.run()
    except live_cluster.ClusterError as error:
        raise _unreadable(error) from None
    finally:
        progress.end()
    _write(sys.stdout, move_report.as_json(move) if form == "json" else move_report.as_text(move))
    return int(any(each.problem for each in move.objects))


def _upgrade(kubeconfig: str | None, context: str | None, version: str, form: str) -> int:
    extras.require("cluster")
    from muster.commands.migrate.upgrade_steps import UpgradeSteps, stored_objects
    from muster.commands.snapshot.live_cluster import ClusterError
    from validators.migrate.recreate import recreations

    progress = Progress("migrate")
    progress.show("reading the cluster")
    try:
        objects, problems = stored_objects(kubeconfig, context)
    except ClusterError as error:
        raise _unreadable(error) from None
    finally:
        progress.end()
    connection = [f"--{name}={value}" for name, value in (("kubeconfig", kubeconfig), ("context", context)) if value]
    steps = UpgradeSteps(recreations(objects, kubernetes_releases.names()[version]), version, problems, connection)
    _write(sys.stdout, steps.as_json() if form == "json" else steps.as_text())
    return NOTHING_READ if problems else int(bool(steps.recreations))


def _unreadable(error: ClusterError) -> click.ClickException:
    """Return the error of a cluster that cannot be read; of a missing right, the help of the command says nothing."""
    from muster.commands.snapshot.live_cluster import ForbiddenError

    return click.ClickException(str(error)) if isinstance(error, ForbiddenError) else click.UsageError(str(error))


def _on_standard_output(files: Sequence[tuple[str, str]]) -> bool:
    return any(file == options.STDOUT for _, file in files)


def _migrated(paths: Sequence[str], to: str) -> Migration:
    from validators.lint import files
    from validators.migrate import migrate_files

    try:
        inputs = files.identities(paths)
        sources = files.sources(paths, sys.stdin.buffer)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    progress = Progress("migrate")
    try:
        read = progress.over(sources, len(inputs), "reading files")
        files_read = (migrate_files.Input(each.path, each.content, each.manifest()) for each in read)
        migration = migrate_files.run(files_read, served_versions.preferred("Workload", to) if "." in to else to)
    finally:
        progress.end()
    return migration


def _delivered(migration: Migration, *, in_place: bool, diff: bool) -> Collection[str]:
    """Write the manifests to files or standard output and return the names of the written files."""
    from muster.commands.migrate import output

    if diff:
        _write(sys.stdout, output.differences(migration.files))
    if migration.refused:
        return ()  # a part of the manifests, piped into kubectl, would be worse than none
    if in_place and not diff:
        changed = [each for each in migration.files if each.changed]
        try:
            output.replace(changed)
        except output.WriteError as error:
            raise click.ClickException(str(error)) from None
        return tuple(each.name for each in changed)
    if not diff:
        sys.stdout.buffer.write(output.joined(migration.files))
        sys.stdout.buffer.flush()
    return ()


def _rendered(migration: Migration, form: str, written: Collection[str]) -> str:
    from validators.migrate import report

    return report.as_json(migration, written) if form == "json" else printable_lines(report.as_text(migration, written))


def _write(stream: TextIO, text: str) -> None:
    # UTF-8 whatever the locale, as for reports of other commands.
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.buffer.flush()
