"""``muster snapshot``: a cluster, live or from files, as one document that ``muster simulate`` reads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from muster import extras

if TYPE_CHECKING:
    from muster.commands.snapshot.snapshot_document import Kept

FORMATS = ("json", "jsonl")
COMPLETE, INCOMPLETE = 0, 2
"""Exit statuses."""


@click.command(
    short_help="Save a cluster, live or from files, as one document that simulate reads.",
    epilog="Example: muster snapshot --context prod --redact > cluster.json && muster simulate cluster.json --drain rack=r3",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--redact", is_flag=True, help="Hash names of objects and values of labels; keys of labels and topologies stay.")
@click.option(
    "--salt", metavar="TEXT", help="What goes into the hashes, to compare snapshots.  [default: made from the content, other for each]"
)
@click.option("--kubeconfig", metavar="FILE", help="Of the live cluster.  [default: as kubectl finds it]")
@click.option("--context", metavar="NAME", help="Of the kubeconfig.  [default: its current one]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json",
    show_default=True,
    help="json: a List; jsonl: the objects alone, one a line.",
)
def snapshot(*, paths: tuple[str, ...], redact: bool, salt: str | None, kubeconfig: str | None, context: str | None, form: str) -> int:
    """Write the objects at PATH, or those of the live cluster, as one JSON document: what muster simulate reads, and nothing else.

    Kept are Nodes, Pods, PodGroups, CompositePodGroups, Workloads, PriorityClasses and PodDisruptionBudgets, and of these the
    fields that decide where a pod goes: no environment, no command, no annotation, no name of a secret. The same cluster is the
    same bytes, and simulating the document gives the very answer that simulating PATH gives.

    Exit status: 0 all of it is there, 2 something could not be read (it is told, and the rest is written) or the call is wrong.
    """
    if salt is not None and not redact:
        raise click.UsageError("--salt goes with --redact")
    if paths and (kubeconfig or context):
        raise click.UsageError("give a PATH or a cluster, not both")
    found, told = _from_files(paths) if paths else _from_cluster(kubeconfig, context)
    for each in (*told, *(f"{problem.object}: {problem.message}" for problem in found.problems)):
        click.echo(f"muster snapshot: {each}", err=True)
    written = found.redacted(salt) if redact else found
    sys.stdout.buffer.write(written.lines() if form == "jsonl" else written.document())
    sys.stdout.buffer.flush()
    return INCOMPLETE if told or found.problems else COMPLETE


def _from_files(paths: tuple[str, ...]) -> tuple[Kept, list[str]]:
    from muster.commands.progress import Progress
    from muster.commands.simulate import cluster_input
    from muster.commands.snapshot import snapshot_document

    progress = Progress("snapshot")
    try:
        inputs = cluster_input.read_cluster_input(paths, (), progress)
    finally:
        progress.end()
    told = [f"{each.object}: {each.message}" for each in inputs.problems]
    if not inputs.files:
        told.append(f"no .yaml, .yml, .json file in {', '.join(paths)}")
    return snapshot_document.keep_simulated_fields(inputs.objects), told


def _from_cluster(kubeconfig: str | None, context: str | None) -> tuple[Kept, list[str]]:
    extras.require("cluster")
    from muster.commands.snapshot import live_cluster, snapshot_document

    try:
        read = live_cluster.list_cluster(kubeconfig, context)
    except live_cluster.ClusterError as error:
        raise click.UsageError(str(error)) from None
    return snapshot_document.keep_simulated_fields(read.lists), [f"{each.object}: {each.message}" for each in read.problems]
