"""``muster why``: options and exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubeapi.base_structs import replaced
from muster import extras, standard_output
from muster.commands import options
from muster.commands.options import click_option
from muster.commands.simulate.simulation_options import GATES, SCHEDULER_CONFIG
from scheduler_core.model.placement_options import DEVICE_TOPOLOGY, KUBERNETES, STRATEGY

if TYPE_CHECKING:
    from apiserver.api import Api
    from muster.commands.progress import Progress
    from muster.commands.simulate.request import SimulationRequest
    from muster.commands.why.subject import Subject
    from muster.render.answer import Answer
    from muster.render.tree_rows import Kinship
    from scheduler_core.model.snapshot import ClusterSnapshot

FORMATS = ("text", "json")
PLACED, PENDING, UNREAD = 0, 1, 2
"""Exit statuses."""
AUTO, OFF = "auto", "off"
ROLES = "deploy/why/rbac.yaml"


@click.command(
    short_help="Why is a pod or group of a cluster pending, and what would help?",
    epilog="Example: muster why podgroup/train -n research",
)
@click.argument("words", metavar="[KIND/]NAME", nargs=-1, required=True)
@click.option("--namespace", "-n", metavar="NAMESPACE", help="Namespace of the object.  [default: that of the context, or default]")
@click_option(options.KUBECONFIG)
@click_option(options.CONTEXT)
@click.option(
    "--explain",
    default=AUTO,
    show_default=True,
    metavar="auto|off|URL",
    help="Ask the sidecar for its last decision: through the API server (by port-forwarding, else by its proxy), not at all, or at a "
    "forwarded port.",
)
@click.option(
    "--sidecar-namespace",
    metavar="NAMESPACE",
    help="Namespace of the sidecar.  [default: MUSTER_LEASE_NAMESPACE, or muster-system]",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@click_option(STRATEGY, default=STRATEGY.default)
@click_option(DEVICE_TOPOLOGY, has_variable=True, shows_variable=True)
@click_option(SCHEDULER_CONFIG, has_variable=True, shows_variable=True)
@click_option(GATES)
@click_option(KUBERNETES)
@options.no_color
def why(
    *,
    words: tuple[str, ...],
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
    explain: str,
    sidecar_namespace: str | None,
    form: str,
    no_color: bool,
    **given: Any,
) -> int:
    """Tell why a pod, PodGroup or CompositePodGroup of a live cluster is pending.

    KIND is pod, podgroup or compositepodgroup; without it, a group of that name comes before a pod. KIND NAME is also accepted. The
    answer joins what there is of: the conditions and admission checks of its Workload of Kueue; the conditions of the object and of the
    groups above it; the last decision of the sidecar, if it can be asked; and a simulation on the cluster as it is now, with remedies that were verified by solving again. Without permissions in
    Muster's namespace, the answer is the conditions and the simulation; without the permission to list nodes, it has no simulation.
    Nothing is written to the cluster.

    Exit status: 0 it has a node, nothing is pending, or it would be placed now; 1 it is pending, and stays so; 2 there is no such
    object, the cluster or a part of it could not be read (what could be is shown), or the command line is wrong.
    """
    extras.require("sidecar")
    if len(words) > len(("KIND", "NAME")):
        raise click.UsageError(f"one object must be given, as KIND/NAME: {' '.join(words)}")
    if explain not in (AUTO, OFF) and not explain.startswith(("http://", "https://")):
        raise click.UsageError(f"--explain must be auto, off or a URL: {explain!r}")
    from muster.commands.progress import Progress
    from muster.commands.simulate.command import request_of
    from muster.commands.why import kueue_workload, why_report

    name, request, progress = "/".join(words), request_of(given), Progress("why")
    try:
        api, subjects = _subjects(name, namespace, kubeconfig, context)
        queued, unqueued = kueue_workload.read_workload(api, subjects)
        explained, unexplained = _explained(api, subjects, explain, sidecar_namespace)
        simulated, kinship, unread = _simulated(subjects, request, progress, kubeconfig, context)
    finally:
        progress.end()
    result = why_report.Why(subjects, explained, unexplained, simulated, unread, kinship, queued, unqueued)
    colour = not no_color and standard_output.is_colourful()
    if form == "json":
        standard_output.write(why_report.as_json(result))
    else:
        standard_output.write_lines(why_report.as_text(result, colour=colour, columns=standard_output.columns()))
    if not subjects[0].node and (unread or result.is_incomplete):
        return UNREAD
    return PENDING if result.is_pending and not subjects[0].node else PLACED


def _subjects(name: str, namespace: str | None, kubeconfig: str | None, context: str | None) -> tuple[Api, list[Subject]]:
    from apiserver.api import TRANSPORT, ReplyError
    from apiserver.connect import context_namespace
    from kubeapi import content
    from muster.commands.snapshot.live_cluster import ClusterError, connect
    from muster.commands.why.subject import UnknownSubjectError, parse_name, read_subjects

    try:
        own = namespace or context_namespace(kubeconfig, context) or "default"
        for part in (own, parse_name(name)[1]):
            if complaints := content.subdomain(part):
                raise click.UsageError(f"{part!r}: {complaints[0]}")
        api = connect(kubeconfig, context, instead="")
        return api, read_subjects(api, own, name)
    except (ClusterError, UnknownSubjectError) as error:
        raise click.UsageError(str(error)) from None
    except ReplyError as error:
        raise click.UsageError(f"{name} cannot be read: {error}") from None
    except (ValueError, *TRANSPORT) as error:
        raise click.UsageError(f"{api.host} cannot be read: {' '.join(str(error).split())[:300]}") from None


def _explained(api: Api, subjects: list[Subject], explain: str, sidecar_namespace: str | None) -> tuple[dict[str, Any] | None, str]:
    from muster.commands.why import sidecar_explanation

    if explain == OFF:
        return None, ""
    first = subjects[0]
    try:
        if explain == AUTO:
            return sidecar_explanation.of_leader(api, sidecar_namespace, first.namespace, first.name), ""
        return sidecar_explanation.of_address(explain, first.namespace, first.name), ""
    except sidecar_explanation.NoExplanationError as error:
        return None, str(error)


def _simulated(
    subjects: list[Subject], request: SimulationRequest, progress: Progress, kubeconfig: str | None, context: str | None
) -> tuple[Answer | None, Kinship | None, str]:
    """Return the answer about the root of *subjects*, its tree, and why the cluster could not be read."""
    import dataclasses

    from kubeapi.names import Name
    from muster.commands.simulate import own_objects, simulation
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.snapshot import live_cluster
    from muster.render.answer import is_unread
    from muster.render.tree_rows import Kinship

    progress.show("reading the cluster")
    try:
        read = live_cluster.list_cluster(kubeconfig, context, instead="")
    except live_cluster.ForbiddenError as error:
        return None, None, f"{error}; the ClusterRole muster-why ({ROLES}) has all permissions of the simulation"
    except live_cluster.ClusterError as error:
        return None, None, str(error)
    own = own_objects.Own.from_names([Name(subjects[0].kind, subjects[0].namespace, subjects[0].name)], ())
    inputs = ClusterInput([*read.lists], [*read.problems], own=own, behavior=read.behavior)
    answer, snapshot = simulation.run(inputs, dataclasses.replace(request, only_own=True), progress)
    part, kinship = (own_objects.restricted(answer, snapshot, own) if own is not None else answer), Kinship.from_snapshot(snapshot)
    not_read = (*read.problems, *filter(is_unread, part.unread))
    shares = (*own_objects.pending_shares(part, snapshot), *own_objects.beside_shares(part, snapshot, inputs.objects, own))
    part = replaced(
        part, problems=tuple(dict.fromkeys((*part.problems, *not_read, *shares))), unread=not_read, skipped=(*part.skipped, *shares)
    )
    if not part.decisions and (name := _scheduler_without_profile(snapshot, kinship, subjects)):
        raise click.UsageError(f"{SCHEDULER_CONFIG.flag}: there is no profile {name!r}, which is the schedulerName of {subjects[0].label}")
    return part, kinship, ""


def _scheduler_without_profile(snapshot: ClusterSnapshot, kinship: Kinship, subjects: list[Subject]) -> str:
    """Return the scheduler of pending pods of *subjects* if the configuration has no profile for it; else an empty string."""
    from muster.commands.why.subject import DEEPEST
    from scheduler_core.model.names import Name

    related = {Name(each.kind, each.namespace, each.name) for each in subjects}
    for pod in snapshot.pods:
        if pod.node < 0 and not snapshot.profiles.schedules(pod.scheduler):
            above: Name | None = kinship.leaf(pod.key)
            for _ in range(DEEPEST):
                if above is None or above in related:
                    break
                above = kinship.parents.get(above)
            if above in related:
                return pod.scheduler
    return ""
