"""``muster topology``: levels, domains and their capacity."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muster import extras, standard_output
from muster.commands import live_input, options, topology_keys
from muster.commands.described_nodes.description_syntax import NODES, SAVE
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37
from scheduler_core.model.placement_options import DEVICE_TOPOLOGY, KUBERNETES

if TYPE_CHECKING:
    from kubeapi.problem import Problem
    from muster.commands.described_nodes.description_syntax import NodeDescription
    from muster.commands.simulate.completed_input import ClusterInput
    from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
    from scheduler_core.diagnosis.capacity_survey import SurveyedAmount
    from scheduler_core.model.nodes import NodeTable
    from scheduler_core.model.snapshot import ClusterSnapshot

FORMATS = ("text", "json")
COMPLETE, INCOMPLETE = 0, 2
"""Exit statuses."""
_PROBLEMS_SHOWN = 8
_COLUMNS = 4
"""Maximum number of resources that are shown unless they are named."""


@click.command(
    short_help="Show the topology of a cluster: zones and racks with used and free capacity.",
    epilog="Example: muster topology topology.kubernetes.io/zone example.com/rack --objects cluster.json --resource nvidia.com/gpu",
)
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@click.option("--objects", multiple=True, metavar="PATH", help="The cluster: a snapshot or manifests, - for standard input (repeatable).")
@options.click_option(NODES)
@options.click_option(SAVE)
@live_input.options
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME,...",
    callback=options.read_list,
    help="Show these resources (repeatable).  [default: cpu, memory and devices]",
)
@options.click_option(DEVICE_TOPOLOGY)
@options.click_option(KUBERNETES)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@click.option("--verbose", "-v", is_flag=True, help="Show every domain and every node.")
@options.no_color
def topology(  # noqa: PLR0913 - one parameter an option
    *,
    keys: tuple[str, ...],
    objects: tuple[str, ...],
    nodes: tuple[NodeDescription, ...],
    save: str | None,
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    resources: tuple[str, ...],
    device_topology: tuple[str, ...],
    kubernetes: SchedulerBehavior | None,
    form: str,
    verbose: bool,
    no_color: bool,
) -> int:
    """Show the topology of a cluster as a tree: its levels by node labels, the widest first, and for each domain its capacity.

    KEY is a node label, such as topology.kubernetes.io/zone or only zone, or an attribute of --device-topology. Without a KEY, the levels are the
    topology keys of the groups, these attributes, and the well-known labels of regions, zones, blocks and racks. The cluster is --objects
    (a snapshot, manifests, kubectl's JSON, directories, - for standard input), --nodes (described in one line) or, with --cluster, the
    live cluster of the kubeconfig.

    Each bar shows the used, free and unusable part of a resource. Used is what running pods request. Capacity is unusable if it is
    free on a node that takes no new pods: one that is cordoned, not ready or under pressure, or whose cpu, memory or pod slots are
    used up. Below each innermost domain are the groups whose pods run there.

    Exit status: 0 the whole cluster was read, 2 a part of it could not be read (the rest is shown), there is no Node, no node has
    a KEY, or the command line is wrong.
    """
    extras.require("simulate")
    live_input.refuse_contradictions(cluster=cluster, objects=objects, kubeconfig=kubeconfig, context=context)
    if not (cluster or objects or nodes):
        raise click.UsageError("give --objects PATH, --nodes, or --cluster for the live cluster")
    for key in keys:
        _refuse_no_key(key)
    from kubeapi.problem import ProblemKind
    from muster.commands.progress import Progress
    from muster.commands.simulate import cluster_input
    from muster.commands.topology import domain_report, domains

    progress = Progress("topology")
    try:
        known = live_input.read_live(kubeconfig, context, progress) if cluster else None
        inputs = _with_nodes(known or cluster_input.read_files(objects, progress), nodes, save)
        progress.show("reading nodes and pods")
        snapshot, notes = _snapshot(inputs, device_topology, kubernetes or inputs.behavior or KUBERNETES_1_37)
        for each in inputs.stored:
            each.check()
    finally:
        progress.end()
    if inputs.files:
        inputs.problems += cluster_input.empty_directories(objects)
    problems = _unread(inputs, snapshot.problems)
    if not len(snapshot.nodes):
        _report(problems)
        unread = " that could be read" if any(name.kind == "Node" for each in problems for name in each.names) else ""
        raise click.UsageError(f"there is no Node in {'the cluster' if cluster else ', '.join(objects)}{unread}")
    levels, whole = domains.survey_topology(snapshot, _whole_keys(keys, snapshot.nodes), nodes=verbose)
    chosen = _resources(resources, [each.resource for each in whole.amounts])
    without_level = {ProblemKind.UNKNOWN_ATTRIBUTE, ProblemKind.IN_NO_DOMAIN}
    _report([*problems, *notes, *(each for each in snapshot.problems if each.kind in without_level)])
    if form == "json":
        standard_output.write(domain_report.as_json(levels, whole, problems))
    else:
        colour = not no_color and standard_output.is_colourful()
        standard_output.write_lines(
            domain_report.as_text(whole, chosen or _usual(whole.amounts), colour=colour, every=verbose, columns=standard_output.columns())
        )
    return INCOMPLETE if problems else COMPLETE


def _with_nodes(inputs: ClusterInput, nodes: Sequence[NodeDescription], save: str | None) -> ClusterInput:
    from muster.commands.described_nodes.node_manifests import DescribedNodes

    inputs.objects += DescribedNodes(nodes, save, "topology").objects(inputs.objects)
    return inputs


def _snapshot(inputs: ClusterInput, attributes: Sequence[str], behavior: SchedulerBehavior) -> tuple[ClusterSnapshot, list[Problem]]:
    """Return the snapshot of the objects, and notes about its nodes."""
    from kubeapi.gather import gather
    from kubeapi.gathered import GatheredObjects, ObjectList, StoredObjects
    from muster.commands.pod_slots import with_pod_slots
    from scheduler_core.cluster.load import load_gathered

    kinds, problems = gather(inputs.objects)
    notes: list[Problem] = []
    nodes = ObjectList()
    for each in with_pod_slots(kinds["Node"].given(), notes):
        if isinstance(each, StoredObjects):
            nodes.extend(each)
        elif isinstance(each, GatheredObjects):
            nodes.append(each)
    return load_gathered({**kinds, "Node": nodes}, problems, device_topology=attributes, behavior=behavior), notes


def _refuse_no_key(key: str) -> None:
    """Refuse a KEY that cannot be the key of a label.

    Raises:
        click.BadParameter: a KEY is not a valid label key.

    """
    from kubeapi import content

    if os.path.exists(key):  # noqa: PTH110 - a path as given
        raise click.BadParameter(
            f"{key!r} is a file: KEY is the key of a node label; give the cluster with --objects {key}", param_hint="KEY"
        )
    if content.label_key(key):
        raise click.BadParameter(f"{key!r} must be the key of a node label", param_hint="KEY")


def _whole_keys(keys: Sequence[str], nodes: NodeTable) -> list[str]:
    """Return *keys* as nodes have them; one that only one label has as its name is that label.

    Raises:
        click.BadParameter: no node has a KEY.

    """
    labels = {key for each in nodes.labels for key in each}
    return [*dict.fromkeys(each if nodes.column(each).values else topology_keys.whole_key(each, labels, "KEY") for each in keys)]


def _resources(wanted: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return the resources to show, each once.

    Raises:
        click.BadParameter: no node has a requested resource.

    """
    for name in wanted:
        if name not in present:
            hint = options.near(name, present) or f"; the resources are {', '.join(present)}"
            raise click.BadParameter(f"no node has the resource {name!r}{hint}", param_hint="--resource")
    return [*dict.fromkeys(wanted)]


def _usual(amounts: Sequence[SurveyedAmount]) -> list[str]:
    """Return cpu, memory, and as many devices as the limit allows, those in use first."""
    devices = [each for each in amounts if each.resource not in {"cpu", "memory", "ephemeral-storage", "pods"}]
    devices.sort(key=lambda each: (not each.used, each.resource))
    present = {each.resource for each in amounts}
    return [*(name for name in ("cpu", "memory") if name in present), *(each.resource for each in devices)][:_COLUMNS]


def _unread(inputs: ClusterInput, problems: Sequence[Problem]) -> list[Problem]:
    """Return the inputs that could not be read, and the objects that are left out."""
    from kubeapi.gather import KINDS
    from muster.commands.simulate.own_objects import is_unused

    # Admission changes new pods only.
    return [*dict.fromkeys((*inputs.problems, *(each for each in problems if is_unused(each, KINDS))))]


def _report(problems: Sequence[Problem]) -> None:
    from muster.render.problem_words import object_words, problem_words
    from validators.reports.counts import counted

    for each in problems[:_PROBLEMS_SHOWN]:
        standard_output.report(f"muster topology: {object_words(each)}: {problem_words(each)}")
    if len(problems) > _PROBLEMS_SHOWN:
        standard_output.report(f"muster topology: and {counted(len(problems) - _PROBLEMS_SHOWN, 'more problem')}")
