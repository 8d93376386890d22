"""``muster fit``: the verdict whether the objects at PATH fit in a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from expansion.pod_creation import Gang, PodCreation
from kubeapi.base_structs import replaced
from muster import extras, standard_output
from muster.commands import live_input, options, pod_creation
from muster.commands.described_nodes.description_syntax import NODES, SAVE
from muster.commands.options import click_option
from muster.commands.outputs import output_of, to_file
from muster.commands.simulate import simulation_options
from muster.commands.simulate.simulation_options import ADMISSION_PLUGINS_ON, GATES, IGNORE, PLATFORM, REMEDIES, SCHEDULER_CONFIG
from muster.render.problem_words import shown_order
from scheduler_core.model.placement_options import BUDGET, DEVICE_TOPOLOGY, KUBERNETES, PLUGIN, RANK_ORDER, STRATEGY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from expansion.contents import Content
    from kubeapi.gathered import Given
    from kubeapi.problem import Problem
    from muster.commands.described_nodes.node_manifests import DescribedNodes
    from muster.commands.fit.judged import Judged
    from muster.commands.fit.rollout_trial import JudgedRollout
    from muster.commands.fit.verdict import Verdict
    from muster.commands.progress import Progress
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.simulate.own_objects import Own
    from muster.commands.simulate.request import SimulationRequest
    from muster.render.answer import Answer
    from scheduler_core.model.snapshot import ClusterSnapshot
    from validators.gates import Gates

FORMATS = ("text", "json", "html")


@click.command(
    short_help="Will it fit? The verdict about Jobs, JobSets, Deployments and more in a cluster.",
    epilog="Example: muster fit train.yaml --nodes '32 x cpu=192,memory=2Ti,nvidia.com/gpu=8 in 4 racks'",
)
@click.argument("paths", nargs=-1, metavar="PATH...|-")
@click.option("--objects", multiple=True, metavar="PATH", help="The cluster: a snapshot or manifests (repeatable).")
@click_option(NODES)
@click_option(SAVE)
@live_input.options
@click_option(simulation_options.DRAIN)
@click_option(simulation_options.CORDON)
@click_option(simulation_options.ADD_NODES)
@click_option(simulation_options.LIKE)
@click.option("--gang", is_flag=True, help="Judge the pods of an object without a gang as one gang: all of them, or none.")
@click.option(
    "--topology", metavar="KEY", help="With --gang: in one domain of this node label, such as topology.kubernetes.io/zone, or only zone."
)
@click.option("--scale", is_flag=True, help="Also find up to which number of replicas, or of workers, each object at PATH fits.")
@pod_creation.levels
@pod_creation.without_pods
@click_option(pod_creation.POD_TEMPLATE)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of standard output; html is one self-contained page.  [default: text, unless --output has FILE -]",
)
@options.outputs(FORMATS, "Write the result to a file as well (repeatable); FILE - is standard output.")
@click.option("--all", "everything", is_flag=True, help="Also show the other pending groups and pods of the cluster.")
@click_option(STRATEGY, default=STRATEGY.default)
@click_option(RANK_ORDER, default=RANK_ORDER.default)
@click_option(REMEDIES, text="Number of roots at PATH for which changes that help are searched.")
@click_option(BUDGET)
@click_option(SCHEDULER_CONFIG)
@click_option(DEVICE_TOPOLOGY)
@click_option(IGNORE)
@click_option(ADMISSION_PLUGINS_ON)
@click_option(PLATFORM)
@click_option(PLUGIN)
@click_option(GATES)
@click_option(KUBERNETES)
@options.details
@options.no_color
def fit(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    objects: tuple[str, ...],
    save: str | None,
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    gang: bool,
    topology: str | None,
    scale: bool,
    form: str | None,
    outputs: tuple[str, ...],
    everything: bool,
    verbose: int,
    no_color: bool,
    **given: Any,
) -> int:
    """Tell whether the objects at PATH (files, directories, - for standard input) fit in a cluster: the verdict in the first line.

    The verdict is one of: fits, and where; fits after evicting pods, and whose; does not fit, why, and the smallest change that was
    verified to help; undecided, if the search spent its budget. Details about PATH follow, with --all also about the rest.

    PATH has Pods, groups, and objects of the controllers that muster compile reads: Jobs, JobSets, Deployments, RayClusters and
    others. Their pods are created as the controllers would. What the cluster already has of these objects, with its pods, is
    replaced. Other pending pods of the cluster are placed in the order of the scheduler's queue.

    Pods are changed as the API server admits them (default PriorityClass, LimitRanges, RuntimeClasses). If a LimitRange or a
    ResourceQuota of the cluster would refuse them, that is the reason why they do not fit.

    A pod whose only scheduling gate is muster.dev/placement is judged as one without gates: Muster's sidecar removes this gate in mode
    ungate. With --strategy greedy the gate is an obstacle, as for kube-scheduler.

    Exit status: 0 everything at PATH fits, 1 it fits only after evictions, does not fit, or is undecided, 2 nothing at PATH could
    be judged, a part of it was skipped (the verdict is about the rest), a file or an object of the cluster could not be read, or the
    command line is wrong.
    """
    extras.require("simulate")
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    live_input.refuse_contradictions(cluster=cluster, objects=objects, kubeconfig=kubeconfig, context=context)
    if topology is not None and not gang:
        raise click.UsageError("--topology needs --gang")
    import dataclasses

    from muster.commands.described_nodes.node_manifests import DescribedNodes
    from muster.commands.fit.verdict_report import Style, rendered
    from muster.commands.page_origin import page_origin
    from muster.commands.progress import Progress
    from muster.commands.simulate.command import request_of

    files = [output_of(each, FORMATS) for each in outputs]
    if form is not None or all(file != options.STDOUT for _, file in files):
        files = [(form or "text", options.STDOUT), *files]
    creation = pod_creation.from_options(given, _gang(gang=gang, topology=topology))
    request, progress = dataclasses.replace(request_of(given), only_own=True), Progress("fit")
    if creation.gang is not None:
        _refuse_gates_off(request.cycle.gates, creation.gang)
    try:
        known = live_input.read_live(kubeconfig, context, progress) if cluster else None
        created = request.creation(creation, known.behavior if known is not None else None)
        inputs = _inputs(paths, objects, known, DescribedNodes(request.nodes, save, "fit"), created, request, progress)
        # The cluster is changed already, before the pods of controllers are created: those of DaemonSets depend on its nodes.
        request = dataclasses.replace(request, drain=(), cordon=(), additions=())
        live = live_input.context_name(kubeconfig, context) if cluster else None
        origin = page_origin([*paths, *objects], live) if any(each == "html" for each, _ in files) else None
        judged = _with_later(_judged(inputs, request, progress, live=cluster), inputs, request, progress)
        judged = replaced(judged, is_gang_requested=gang)
        if scale:
            judged = _with_scales(judged, inputs, request, progress, live=cluster)
        style = Style(verbose, everything)
        shown = replaced(style, colour=not no_color and standard_output.is_colourful(), columns=standard_output.columns())
        for name, file in files:
            to_file(file, rendered(judged, name, origin, shown if file == options.STDOUT else style), name)
    finally:
        progress.end()
    return judged.verdict.exit_status


def _judged(inputs: ClusterInput, request: SimulationRequest, progress: Progress, *, live: bool) -> Judged:

    from muster.commands.fit import verdict
    from muster.commands.fit.change_for_all import change_for_all, clause, with_change
    from muster.commands.fit.judged import Judged
    from muster.commands.simulate import own_objects, simulation
    from muster.render.object_results import PLACED, Kind
    from muster.render.tree_rows import Kinship

    try:
        answer, snapshot = simulation.run(inputs, request, progress)
    except simulation.RefusedRequestError as error:
        raise click.UsageError(str(error)) from None
    progress.end()
    mine = inputs.own or own_objects.Own(frozenset(), frozenset())
    own = _own_part(answer, snapshot, mine, inputs, live=live)
    kinship = Kinship.from_snapshot(snapshot)
    number = len(own.unread)
    if own.decisions and not len(snapshot.nodes) and (not live or verdict.has_node(own.unread)):
        return Judged(verdict.without_nodes(own), answer, own, snapshot, kinship, request.cycle)
    judged, change = verdict.judge(own, inputs.own, kinship, number), None
    if judged.kind in PLACED and (beside := own_objects.beside_shares(own, snapshot, inputs.objects, mine)):
        skipped = tuple(sorted({*own.skipped, *beside}, key=shown_order))
        own = replaced(own, skipped=skipped, problems=tuple(dict.fromkeys((*own.problems, *beside))))
        judged = verdict.judge(own, inputs.own, kinship, number)
    rollouts = _rollouts(judged, own, inputs, request, snapshot, progress)
    kept = verdict.kept_rollouts(own, mine, rollouts) if judged.kind is Kind.DOES_NOT_FIT else ()
    if judged.kind is Kind.DOES_NOT_FIT and not own.refused and not kept:
        progress.show("searching for a change that helps")
        change = change_for_all(own, mine, snapshot, inputs.objects, request, kinship)
        progress.end()
    if change is not None:
        answer, own = with_change(answer, own, change.remedy), with_change(own, own, change.remedy)
        judged = verdict.judge(own, mine, kinship, number, clause(change, mine.origins, inputs.minimums), change.remedy.change)
    judged = verdict.with_rollouts(judged, rollouts, kept)
    return Judged(judged, answer, own, snapshot, kinship, request.cycle, change, mine.origins, inputs.minimums, rollouts)


def _own_part(answer: Answer, snapshot: ClusterSnapshot, mine: Own, inputs: ClusterInput, *, live: bool) -> Answer:
    """Return the part of *answer* about PATH, with the inputs of the cluster that could not be read."""
    from muster.commands.simulate import own_objects
    from muster.render.answer import is_unread

    own = own_objects.restricted(answer, snapshot, mine)
    unjudged = sorted({*own_objects.unjudged(own, snapshot, mine)} - {*own.skipped}, key=shown_order)
    own = replaced(own, skipped=(*own.skipped, *unjudged))
    unread = own_objects.unread(answer, own, inputs.unread)
    problems = tuple(dict.fromkeys((*own.problems, *own.skipped, *unread)))
    return replaced(own, problems=problems, unread=tuple(filter(is_unread, unread)) if live else unread)


def _with_scales(judged: Judged, inputs: ClusterInput, request: SimulationRequest, progress: Progress, *, live: bool) -> Judged:

    from muster.commands.fit.scale_trial import ScaleTrials

    progress.show("searching for the largest numbers")
    trials = ScaleTrials(inputs, judged.snapshot, request, judged.kinship)
    scales = tuple(trials.scales(lambda other: _judged(other, request, progress, live=live)))
    progress.end()
    return replaced(judged, scales=scales)


def _rollouts(
    judged: Verdict, own: Answer, inputs: ClusterInput, request: SimulationRequest, snapshot: ClusterSnapshot, progress: Progress
) -> tuple[JudgedRollout, ...]:
    """Return the updates of running objects; changes that help are searched if the new pods fit in place of the old ones."""
    from expansion.notes import QuotaCause
    from muster.render.object_results import PLACED, Kind
    from scheduler_core.whatif.remedies.for_decisions import remedy_limit

    placed = judged.kind in PLACED
    # An update is played with quotas; pods that are refused for another reason do not arise.
    is_played = placed or (judged.kind is Kind.DOES_NOT_FIT and all(isinstance(each.fact, QuotaCause) for each in own.refused))
    if not inputs.rollouts or not is_played:
        return ()
    from muster.commands.fit.rollout_trial import RolloutTrials

    progress.show("playing the updates")
    trials = RolloutTrials(inputs.objects, snapshot, request)
    search = placed and bool(remedy_limit(request.cycle, request.remedies))
    rollouts = tuple(trials.judged(each, search=search) for each in inputs.rollouts)
    progress.end()
    return rollouts


def _with_later(judged: Judged, inputs: ClusterInput, request: SimulationRequest, progress: Progress) -> Judged:
    """Return the result with a note for each new object at PATH that fits, and whose next update would hang."""
    from kubeapi.problem import Problem
    from muster.commands.fit.rollout_trial import RolloutTrials
    from muster.render.object_results import Kind
    from scheduler_core.whatif.remedies.for_decisions import remedy_limit

    if judged.verdict.kind is not Kind.FITS or not inputs.later:
        return judged
    progress.show("playing later updates")
    trials = RolloutTrials(inputs.objects, judged.snapshot, request)
    trials.settle({pod: node for each in judged.own.decisions for pod, node in each.assignments.items()})
    search = bool(remedy_limit(request.cycle, request.remedies))
    played = ((each.origin, trials.later(each, search=search)) for each in inputs.later[: trials.most_later])
    later = [Problem.about(origin, fact) for origin, fact in played if fact is not None]
    progress.end()
    answer = replaced(judged.answer, notes=(*judged.answer.notes, *later))
    own = replaced(judged.own, notes=(*judged.own.notes, *later))
    return replaced(judged, answer=answer, own=own)


def _inputs(
    paths: tuple[str, ...],
    objects: tuple[str, ...],
    known: ClusterInput | None,
    described: DescribedNodes,
    creation: PodCreation,
    request: SimulationRequest,
    progress: Progress,
) -> ClusterInput:
    from muster.commands.simulate import cluster_input, what_if
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.simulate.drain_notes import evictions

    evicted: dict[str, Content] = {}

    def change(before: Iterable[Given]) -> tuple[list[Given], list[Problem]]:
        changed = what_if.suppose(listed := [*before], request.drain, request.additions, request.cordon)
        evicted.update(evictions(listed, request.drain))
        return changed

    try:
        inputs = cluster_input.read_cluster_input(
            paths,
            objects,
            progress,
            cluster=known or ClusterInput(),
            described=described,
            change=change if request.drain or request.additions or request.cordon else None,
            creation=creation,
            strict=True,
            attributes=request.device_topology,
            assumes_slots=request.assumes_slots,
        )
    except what_if.WhatIfError as error:
        raise click.UsageError(str(error)) from None
    inputs.evicted = evicted
    if not inputs.files:
        standard_output.report(f"muster fit: no .yaml, .yml, .json file in {', '.join(paths)}")
    return inputs


def _gang(*, gang: bool, topology: str | None) -> Gang | None:
    from kubeapi import content

    if topology is not None and content.label_key(topology):
        raise click.BadParameter(f"{topology!r} must be the key of a node label", param_hint="--topology")
    return Gang(topology or "") if gang else None


def _refuse_gates_off(gates: Gates, gang: Gang) -> None:
    from validators.gates import GENERIC_WORKLOAD, TOPOLOGY

    for name, option in ((GENERIC_WORKLOAD, "--gang"), *(((TOPOLOGY, "--topology"),) if gang.topology else ())):
        if not gates.enabled(name):
            raise click.UsageError(f"{option} needs the feature gate {name}, which --gates switches off")
