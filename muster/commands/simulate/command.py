"""``muster simulate``: placement of groups on nodes read from manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from muster import extras, standard_output
from muster.commands import options, pod_creation, scheduler_config
from scheduler_core.model.options import REMEDIES_BY_DEFAULT

if TYPE_CHECKING:
    from muster.commands.progress import Progress
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.simulate.request import SimulationRequest

FORMATS = ("text", "json", "html")
NOTHING_DECIDED = 2
"""Exit status if PATH has no manifest."""
_PERCENT = click.IntRange(0, 100)


@click.command(
    short_help="Place groups on nodes read from manifests: which pod runs where, and why not.",
    epilog="Example: kubectl get nodes,pods,podgroups -A -o json | muster simulate - train.yaml --add-nodes '2 like gpu-1'",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Format of standard output; html is one self-contained page.  [default: text]"
)
@click.option("--batch", is_flag=True, help="PATH contains one request per line; the output is one JSON answer per line, in order.")
@options.strategy
@options.rank_order
@click.option(
    "--remedies",
    type=click.IntRange(0),
    metavar="ROOTS",
    help=f"Number of roots for which remedies are searched if they are not placed.  [default: {REMEDIES_BY_DEFAULT}; with greedy 0]",
)
@options.budget
@click.option(
    "--order", multiple=True, metavar="ROOT,...", help="Order in which roots are scheduled; others follow by priority, age and name."
)
@click.option("--evict", is_flag=True, help="Evict the victims and run the next cycle too.")
@click.option("--scheduler-name", metavar="NAME", help="Place only pods of this scheduler.")
@scheduler_config.option
@options.device_topology
@click.option(
    "--drain",
    multiple=True,
    metavar="NODE|LABEL=VALUE,...",
    help="What if this node, or all nodes with this label (rack=r3), are removed; their pods become pending.",
)
@click.option(
    "--add-nodes",
    multiple=True,
    metavar="'N like NODE[,label=value...]'",
    help="What if there are N more nodes, new and empty (repeatable); or only N, with --like.",
)
@click.option("--like", multiple=True, metavar="NODE[,label=value...]", help="The node that --add-nodes N copies.")
@options.ignore
@options.plugin
@click.option(
    "--objects",
    multiple=True,
    metavar="PATH",
    help="Further objects of the cluster; objects of the same name in PATH override them (repeatable).",
)
@pod_creation.levels
@pod_creation.without_pods
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the proofs for roots that provably have no placement to FILE.",
)
@click.option("--fragmentation", is_flag=True, help="Report the largest gang of each kind of pod that fits in one zone or rack now.")
@options.gates
@options.scheduler_kubernetes
@click.option("--timings", is_flag=True, help="Report the duration in seconds.")
@click.option(
    "--four-statuses", is_flag=True, help="Report roots that no eviction can help, and do not try preemption for them (KEP-6012)."
)
@click.option("--nominated-first", is_flag=True, help="Use the domain of nominated pods if it is feasible (KEP-5732).")
@click.option(
    "--percentage-of-placements",
    type=_PERCENT,
    metavar="N",
    help="Stop once N percent of the placements are feasible; 0: depends on their number (KEP-5732).  With Kubernetes 1.38, all placements"
    " are compared, and a note says when kube-scheduler stops earlier.  [default: 100; with 1.38 that of the scheduler configuration, or 0]",
)
@click.option("--every-pod", is_flag=True, help="Reject a domain if one pod of the group fits on no node of it (KEP-5732).")
@click.option("--preempt-for-leftovers", is_flag=True, help="Also preempt for additional pods of a running gang (KEP-6012).")
@options.verbose
@options.no_color
def simulate(
    *,
    paths: tuple[str, ...],
    form: str | None,
    batch: bool,
    objects: tuple[str, ...],
    certificate: str | None,
    verbose: bool,
    no_color: bool,
    **given: Any,
) -> int:
    """Place the groups and pods at PATH on the nodes there: manifests, kubectl's JSON, directories, - for standard input.

    Pending pods are placed in the order of the scheduler's queue; running pods use resources. Kinds that are read: Nodes,
    Namespaces, Pods, PodGroups, CompositePodGroups, Workloads, PriorityClasses, PodDisruptionBudgets, PersistentVolumeClaims,
    PersistentVolumes, StorageClasses, CSINodes, CSIDrivers, CSIStorageCapacities, VolumeAttachments, DeviceClasses,
    DeviceTaintRules, ResourceClaims, ResourceClaimTemplates, ResourceSlices, Services, ReplicationControllers, ReplicaSets,
    StatefulSets, LimitRanges, ResourceQuotas and RuntimeClasses. A file can have 1 GiB of JSON or 64 MiB of YAML.

    Objects of controllers at PATH that have no pods yet (Jobs, JobSets, Deployments, RayClusters and all kinds of muster compile)
    are replaced by the groups and pods that they create. An object of another kind that creates pods is skipped and reported.
    New groups and pods with a value that the API server refuses are left out and reported, for the reason of muster fit.

    With --batch, a line is {"id": ..., "objects": [...], "options": {"order": [...], "evict": true, ...}}. Its options are those
    of the command line in camel case (addNodes, schedulerName), and override them.

    Exit status: 0 every pod is placed, 1 at least one is not, 2 nothing could be decided, an object at PATH that creates pods
    was skipped, a file or an object of the cluster could not be read, or the command line is wrong. With --objects, 0 and 1 are
    only about the pods and groups at PATH and their trees. For example, muster simulate --objects cluster.json job.yaml tests whether that job fits.
    """
    extras.require("simulate")
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    if batch and (form in {"text", "html"} or verbose):
        raise click.UsageError("with --batch, the answers are JSON: leave out --verbose and other formats")
    if certificate and (batch or given["evict"]):
        raise click.UsageError("--certificate is about one cycle: leave out --batch and --evict")
    from muster.commands.progress import Progress

    creation, progress = pod_creation.from_options(given), Progress()
    request = request_of(given)
    if batch:
        from muster.commands.simulate import question_batch

        return question_batch.answer(paths, objects, request, creation, progress)
    from muster.commands.simulate import cluster_input

    inputs = cluster_input.read_cluster_input(paths, objects, progress, creation=creation)
    if not inputs.files:
        standard_output.report(f"muster simulate: no .yaml, .yml, .json file in {', '.join(paths)}")
    return _one(
        inputs,
        (*paths, *objects),
        request,
        progress,
        form=form or "text",
        colour=not no_color and standard_output.is_colourful(),
        verbose=verbose,
        certificate=certificate,
    )


def _one(
    inputs: ClusterInput,
    sources: tuple[str, ...],
    request: SimulationRequest,
    progress: Progress,
    *,
    form: str,
    colour: bool,
    verbose: bool,
    certificate: str | None,
) -> int:
    from muster.commands.simulate import simulation
    from muster.commands.simulate.simulation import RefusedRequestError
    from muster.commands.simulate.what_if import WhatIfError

    try:
        answer, snapshot = simulation.run(inputs, request, progress)
    except (RefusedRequestError, WhatIfError) as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()
    if answer.decisions and not len(snapshot.nodes):
        standard_output.report("muster simulate: there is no Node among the inputs")
    if certificate:
        from muster.commands.simulate import certificate_file

        try:
            certificate_file.write(certificate, snapshot, answer.decisions, request.cycle)
        except OSError as error:
            raise click.UsageError(f"cannot write {certificate}: {(error.strerror or str(error)).lower()}") from None
    if form == "json":
        from muster.render import answer_json

        standard_output.write(answer_json.render(answer))
    elif form == "html":
        from muster.commands.page_origin import page_origin
        from muster.html import page

        standard_output.write(page.render(answer, snapshot, request.cycle, page_origin(sources)))
    else:
        from muster.render import answer_text
        from muster.render.tree_rows import Kinship

        standard_output.write_lines(answer_text.render(answer, Kinship.from_snapshot(snapshot), colour=colour, every=verbose))
    return answer.exit_status if inputs.files else NOTHING_DECIDED


def request_of(arguments: dict[str, Any]) -> SimulationRequest:
    """Return the options of the command line as options of a request, in camel case.

    Raises:
        click.UsageError: a value that an option cannot have.

    """
    from muster.commands.simulate.request import InvalidOptions, SimulationRequest, with_options
    from scheduler_core.cycle.run_cycle import CycleOptions

    request = SimulationRequest(CycleOptions(gates=options.gates_of(arguments.pop("gates"))))
    if (path := arguments.get("scheduler_config")) is not None:
        arguments["scheduler_config"] = scheduler_config.read_file(path)[1]
    given = {to_camel(name): value for name, value in arguments.items() if value is not None and value is not False and value != ()}
    try:
        return with_options(request, {name: ",".join(value) if name in _LISTED else value for name, value in given.items()})
    except InvalidOptions as error:
        raise click.UsageError(str(error)) from None


_LISTED = frozenset({"order", "drain", "ignore", "plugin", "deviceTopology"})
"""Options with names separated by commas; the options can be repeated."""


def to_camel(name: str) -> str:
    """Return ``addNodes`` for ``add_nodes``."""
    first, *more = name.split("_")
    return first + "".join(each.capitalize() for each in more)
