"""``muster simulate``: placement of groups on nodes read from manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kubeapi.base_structs import replaced
from muster import extras, standard_output
from muster.commands import options, pod_creation, scheduler_config
from muster.commands.described_nodes.description_syntax import NODES, SAVE
from muster.commands.options import click_option
from muster.commands.simulate import simulation_options
from muster.commands.simulate.simulation_options import BY_NAME, SCHEDULER_CONFIG
from scheduler_core.model.placement_options import BUDGET, DEVICE_TOPOLOGY, KUBERNETES, PLUGIN, RANK_ORDER, STRATEGY

if TYPE_CHECKING:
    from muster.commands.progress import Progress
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.simulate.request import SimulationRequest
    from muster.render.answer import Answer
    from scheduler_core.model.snapshot import ClusterSnapshot

FORMATS = ("text", "json", "html")
NOTHING_DECIDED = 2
"""Exit status if PATH has no manifest."""


@click.command(
    short_help="Place groups on nodes read from manifests: which pod runs where, and why not.",
    epilog="Example: kubectl get nodes,pods,podgroups -A -o json | muster simulate - train.yaml --add-nodes '2 like gpu-1'",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Format of standard output; html is one self-contained page.  [default: text]"
)
@click.option("--batch", is_flag=True, help="PATH contains one request per line; the output is one JSON answer per line, in order.")
@click_option(STRATEGY, default=STRATEGY.default)
@click_option(RANK_ORDER, default=RANK_ORDER.default)
@click_option(simulation_options.REMEDIES)
@click_option(BUDGET)
@click_option(simulation_options.ORDER)
@click_option(simulation_options.EVICT)
@click_option(simulation_options.SCHEDULER_NAME)
@click_option(SCHEDULER_CONFIG)
@click_option(DEVICE_TOPOLOGY)
@click_option(NODES)
@click_option(SAVE)
@click_option(simulation_options.DRAIN)
@click_option(simulation_options.CORDON)
@click_option(simulation_options.ADD_NODES)
@click_option(simulation_options.LIKE)
@click_option(simulation_options.IGNORE)
@click_option(simulation_options.ADMISSION_PLUGINS_ON)
@click_option(simulation_options.PLATFORM)
@click_option(PLUGIN)
@click.option(
    "--objects",
    multiple=True,
    metavar="PATH",
    help="Further objects of the cluster; objects of the same name in PATH override them (repeatable).",
)
@pod_creation.levels
@pod_creation.without_pods
@click_option(pod_creation.POD_TEMPLATE)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the proofs for roots that provably have no placement to FILE.",
)
@click_option(simulation_options.FRAGMENTATION)
@click_option(simulation_options.GATES)
@click_option(KUBERNETES)
@click_option(simulation_options.TIMINGS)
@click_option(simulation_options.FOUR_STATUSES)
@click_option(simulation_options.NOMINATED_FIRST)
@click_option(simulation_options.PERCENTAGE_OF_PLACEMENTS)
@click_option(simulation_options.EVERY_POD)
@click_option(simulation_options.PREEMPT_FOR_LEFTOVERS)
@options.verbose
@options.no_color
def simulate(
    *,
    paths: tuple[str, ...],
    form: str | None,
    batch: bool,
    objects: tuple[str, ...],
    certificate: str | None,
    save: str | None,
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

    A pod whose only scheduling gate is muster.dev/placement is placed as one without gates: Muster's sidecar removes this gate in mode
    ungate. With --strategy greedy the pod waits, as with kube-scheduler.

    With --batch, a line is {"id": ..., "objects": [...], "options": {"order": [...], "evict": true, ...}}. Its options are those
    of the command line in camel case (addNodes, schedulerName), and override them.

    Exit status: 0 every pod is placed, 1 at least one is not, 2 nothing could be decided, an object at PATH that creates pods
    was skipped, a file or an object of the cluster could not be read, or the command line is wrong. With --objects or
    --nodes, 0 and 1 are only about the pods and groups at PATH and their trees. For example, muster simulate --objects cluster.json job.yaml tests whether that job fits.
    """
    extras.require("simulate")
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    if batch and (form in {"text", "html"} or verbose):
        raise click.UsageError("with --batch, the answers are JSON: leave out --verbose and other formats")
    if batch and save:
        raise click.UsageError("--save is for one cluster: leave out --batch")
    if certificate and (batch or given["evict"]):
        raise click.UsageError("--certificate is about one cycle: leave out --batch and --evict")
    from muster.commands.progress import Progress

    creation, progress = pod_creation.from_options(given), Progress()
    request = request_of(given)
    if batch:
        from muster.commands.simulate import question_batch

        return question_batch.answer(paths, objects, request, creation, progress)
    from muster.commands.described_nodes.node_manifests import DescribedNodes
    from muster.commands.simulate import cluster_input

    described = DescribedNodes(request.nodes, save, "simulate")
    inputs = cluster_input.read_cluster_input(
        paths, objects, progress, described=described, creation=request.creation(creation), assumes_slots=request.assumes_slots
    )
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
    from muster.render.problem_words import without_nodes_words

    try:
        answer, snapshot = simulation.run(inputs, request, progress)
    except (RefusedRequestError, WhatIfError) as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()
    if answer.decisions and not len(snapshot.nodes):
        standard_output.report(f"muster simulate: {without_nodes_words(answer.not_read, 'some with --nodes or --objects')}")
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
        standard_output.write(_page(answer, snapshot, inputs, request, sources))
    else:
        from muster.render import answer_text
        from muster.render.tree_rows import Kinship

        kinship, columns = Kinship.from_snapshot(snapshot), standard_output.columns()
        standard_output.write_lines(answer_text.render(answer, kinship, colour=colour, every=verbose, columns=columns))
    return answer.exit_status if inputs.files else NOTHING_DECIDED


def _page(answer: Answer, snapshot: ClusterSnapshot, inputs: ClusterInput, request: SimulationRequest, sources: tuple[str, ...]) -> str:

    from muster.commands.page_origin import page_origin
    from muster.commands.simulate import own_objects
    from muster.html import page
    from muster.render.object_heading import answer_heading
    from muster.render.tree_rows import Kinship

    answer = replaced(answer, origins=inputs.origins)
    part = answer if inputs.own is None else own_objects.restricted(answer, snapshot, inputs.own)
    heading = answer_heading(part, Kinship.from_snapshot(snapshot))
    return page.render(replaced(answer, heading=heading), snapshot, request.cycle, page_origin(sources))


def request_of(arguments: Mapping[str, Any]) -> SimulationRequest:
    """Return the request for the options of the command line, by name of the parameter.

    Raises:
        click.UsageError: a value that an option cannot have.

    """
    from muster.commands.simulate.request import InvalidOptions, SimulationRequest, with_values

    values = {BY_NAME[name]: value for name, value in arguments.items() if value is not None and value != ()}
    if (path := values.get(SCHEDULER_CONFIG)) is not None:
        values[SCHEDULER_CONFIG] = scheduler_config.read_file(path, values.get(KUBERNETES))[1]
    try:
        return with_values(SimulationRequest(), values)
    except InvalidOptions as error:
        raise click.UsageError(str(error)) from None
