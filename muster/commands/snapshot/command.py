"""``muster snapshot``: a cluster, live or from files, as one document that ``muster simulate`` reads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from muster import extras, standard_output
from muster.commands import scheduler_config as configuration_file
from muster.commands.options import CONTEXT, KUBECONFIG, click_option
from muster.commands.progress import Progress
from muster.render.problem_words import object_words, problem_words
from scheduler_core.model.placement_options import SCHEDULER_CONFIG

if TYPE_CHECKING:
    from kubeapi.decode import Source
    from muster.commands.snapshot.snapshot_document import Kept

FORMATS = ("json", "jsonl")
COMPLETE, INCOMPLETE = 0, 2
"""Exit statuses."""


@click.command(
    short_help="Save a cluster, live or from files, as one document for simulate.",
    epilog="Example: muster snapshot --context prod --redact > cluster.json && muster simulate cluster.json --drain rack=r3",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option("--redact", is_flag=True, help="Hash names of objects and values of labels; keys of labels and topologies are kept.")
@click.option(
    "--salt", metavar="TEXT", help="Salt of the hashes; equal salts make snapshots comparable.  [default: derived from the content]"
)
@click_option(KUBECONFIG, text="Kubeconfig of the live cluster.")
@click_option(CONTEXT)
@click_option(SCHEDULER_CONFIG)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json",
    show_default=True,
    help="json: a List; jsonl: only the objects, one per line.",
)
def snapshot(
    *,
    paths: tuple[str, ...],
    redact: bool,
    salt: str | None,
    kubeconfig: str | None,
    context: str | None,
    scheduler_config: str | None,
    form: str,
) -> int:
    """Write the objects at PATH, or those of the live cluster, as one JSON document with only what muster simulate reads.

    It has Nodes, Namespaces, Pods, PodGroups, CompositePodGroups, Workloads, PriorityClasses, PodDisruptionBudgets,
    PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes, CSIDrivers, CSIStorageCapacities, VolumeAttachments,
    DeviceClasses, DeviceTaintRules, ResourceClaims, ResourceClaimTemplates, ResourceSlices, Services, ReplicationControllers,
    ReplicaSets, StatefulSets, LimitRanges, ResourceQuotas and RuntimeClasses, and of these only the fields that decide where a pod
    is placed: no environment, no command, no name of a secret, and no annotation but those about the binding of volumes, extended
    resources, shares of devices and sizes of ReplicaSets. The same cluster gives the same bytes, and simulating the document gives
    the same answer as simulating PATH. With --scheduler-config it also has the profiles of that configuration, and muster simulate
    uses them.

    Exit status: 0 the document is complete, 2 something could not be read (it is reported, and the rest is written) or the
    command line is wrong.
    """
    if salt is not None and not redact:
        raise click.UsageError("--salt needs --redact")
    if paths and (kubeconfig or context):
        raise click.UsageError("give PATH or a live cluster, not both")
    configuration = configuration_file.read_file(scheduler_config, None)[0] if scheduler_config is not None else None
    document, messages = _from_files(paths, configuration) if paths else _from_cluster(kubeconfig, context, configuration)
    for each in (*messages, *(f"{object_words(problem)}: {problem_words(problem)}" for problem in document.problems)):
        standard_output.report(f"muster snapshot: {each}")
    written = document.redacted(salt) if redact else document
    sys.stdout.buffer.write(written.lines() if form == "jsonl" else written.document())
    sys.stdout.buffer.flush()
    return INCOMPLETE if messages or document.problems else COMPLETE


def _from_files(paths: tuple[str, ...], configuration: Source | None) -> tuple[Kept, list[str]]:
    from muster.commands.simulate import cluster_input
    from muster.commands.snapshot import snapshot_document

    progress = Progress("snapshot")
    try:
        inputs = cluster_input.read_cluster_input(paths, (), progress)
        document = snapshot_document.keep_simulated_fields((*inputs.objects, *inputs.others), configuration, progress)
        for each in inputs.stored:
            each.check()
    finally:
        progress.end()
    messages = [f"{object_words(each)}: {problem_words(each)}" for each in inputs.problems]
    if not inputs.files:
        messages.append(f"no .yaml, .yml, .json file in {', '.join(paths)}")
    return document, messages


def _from_cluster(kubeconfig: str | None, context: str | None, configuration: Source | None) -> tuple[Kept, list[str]]:
    extras.require("cluster")
    from muster.commands.snapshot import live_cluster, other_projects_fields, snapshot_document

    progress = Progress("snapshot")
    try:
        progress.show("reading the cluster")
        read = live_cluster.list_cluster(kubeconfig, context, further=other_projects_fields.RESOURCES)
        document = snapshot_document.keep_simulated_fields(read.lists, configuration, progress)
    except live_cluster.ClusterError as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()
    return document, [f"{object_words(each)}: {problem_words(each)}" for each in read.problems]
