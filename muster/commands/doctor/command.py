"""``muster doctor``: options and exit status."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import click

from kubeapi.versions import kubernetes_releases
from muster import extras, standard_output
from muster.commands import live_input, options

if TYPE_CHECKING:
    from kubeapi.problem import Problem
    from muster.commands.doctor.live_installation import Sources
    from muster.doctor.world import World

FORMATS = ("text", "json")
WELL, WRONG, UNREAD = 0, 1, 2
"""Exit statuses."""
DEFAULT_NAMESPACE = "default"
"""Namespace of the dry runs."""


def _complete_check(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from muster.doctor import checks

    return [each for each in checks.discover() if each.startswith(incomplete)]


@click.command(
    short_help="Check an installation: trust, reach, self-lock, timeouts, expiry, permissions.",
    epilog="Example: muster doctor --cluster && kustomize build deploy/overlays/issued | muster doctor -",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@live_input.options
@click.option(
    "--replica",
    "replicas",
    multiple=True,
    metavar="HOST:PORT",
    help="With --cluster: replica of the webhook server to observe, instead of the endpoints of its Service (repeatable).",
)
@click.option("--metrics", multiple=True, metavar="FILE|URL", help="Metrics of a replica of the webhook server (repeatable).")
@click.option(
    "--upgrade-to",
    type=click.Choice([*kubernetes_releases.names(kubernetes_releases.TODAY + 1)]),
    help="Also judge the stored objects and feature gates by a newer version of Kubernetes.",
)
@click.option(
    "--probe",
    is_flag=True,
    help="With --cluster: also create groups in a dry run, which shows the path from the API server to the webhooks; nothing is stored.",
)
@click.option("--probe-namespace", metavar="NAMESPACE", help="Namespace of the dry runs.  [default: default]")
@click.option(
    "--ignore",
    multiple=True,
    metavar="CHECK,...",
    callback=options.read_list,
    shell_complete=_complete_check,
    help="Leave out these checks (repeatable).",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
@options.no_color
def doctor(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    replicas: tuple[str, ...],
    metrics: tuple[str, ...],
    upgrade_to: str | None,
    probe: bool,
    probe_namespace: str | None,
    ignore: tuple[str, ...],
    form: str,
    no_color: bool,
) -> int:
    """Check an installation of webhooks and sidecar, in the manifests at PATH or with --cluster on a live cluster.

    Each finding has its check, object, cause, consequence, and the command that mends it. In files, objects that are not at PATH are
    not judged. On a cluster, nothing is written. Certificates and metrics of all replicas are read through the API server, by
    port-forwarding, or from --replica and --metrics.

    With --upgrade-to, the stored Workloads, groups and Jobs are also judged as a newer version of Kubernetes would: which of them it
    refuses to update or to create again, and with which feature gates it does not start. Muster need not be installed then.

    With --probe, a PodGroup or CompositePodGroup that Muster refuses and a Workload that it admits are created in a dry run, which
    needs the permission to create them. All webhooks are called, and nothing is stored.

    Exit status: 0 no findings, 1 errors or warnings, 2 the cluster or a file could not be read, nothing of Muster is installed, or the
    command line is wrong.
    """
    extras.require("webhooks", *(["sidecar"] if cluster else []))
    _demand_one_source(paths, cluster=cluster, replicas=replicas, kubeconfig=kubeconfig, context=context)
    if probe_namespace is not None and not probe:
        raise click.UsageError("--probe-namespace needs --probe")
    if probe and not cluster:
        raise click.UsageError("--probe needs --cluster")
    from muster.commands.doctor import diagnosis_report
    from muster.doctor import checks
    from muster.doctor.built_groups import builders, counts
    from muster.doctor.components import SERVE, SIDECAR, components
    from muster.doctor.entries import entries
    from muster.doctor.probes import answers_of

    for each in ignore:
        if each not in checks.discover():
            raise click.UsageError(f"--ignore: there is no check {each!r}{options.near(each, checks.discover())}")
    probed = (probe_namespace or DEFAULT_NAMESPACE) if probe else ""
    minor = kubernetes_releases.names()[upgrade_to] if upgrade_to else 0
    if cluster:
        from muster.commands.doctor.live_installation import Sources

        world, problems = _read_cluster(Sources(kubeconfig, context, replicas, metrics, minor, probed))
    else:
        world, problems = _read_files(paths, metrics, minor)
    if upgrade_to is None and not any((*entries(world), *components(world, SERVE), *components(world, SIDECAR))):
        _print_problems(problems)
        where = "on the cluster" if cluster else f"in {', '.join(paths)}"
        raise click.UsageError(
            f"there is no webhook configuration, webhook server or sidecar of Muster {where}; muster lint checks other manifests"
        )
    connection = [f"--{name}={value}" for name, value in (("kubeconfig", kubeconfig), ("context", context)) if value]
    built = counts(world) if builders(world) else None
    report = diagnosis_report.report_of(checks.examine(world), problems, ignore, answers_of(world), built).reaching(connection, replicas)
    _print_problems(problems)
    colour = not no_color and standard_output.is_colourful()
    if form == "json":
        standard_output.write(diagnosis_report.as_json(report))
    else:
        standard_output.write_lines(diagnosis_report.as_text(report, colour=colour, columns=standard_output.columns()))
    return UNREAD if problems else WRONG if report.defects else WELL


def _demand_one_source(
    paths: tuple[str, ...], *, cluster: bool, replicas: tuple[str, ...], kubeconfig: str | None, context: str | None
) -> None:
    if bool(paths) == cluster:
        raise click.UsageError("give PATH or --cluster" + (", not both" if cluster else ""))
    if (kubeconfig or context or replicas) and not cluster:
        raise click.UsageError("--kubeconfig, --context and --replica need --cluster")
    options.demand_replicas(replicas)


def _read_files(paths: tuple[str, ...], metrics: tuple[str, ...], upgrade_to: int) -> tuple[World, list[Problem]]:
    import dataclasses

    from muster.commands.doctor import manifest_files, observations
    from muster.doctor.components import SIDECAR, components

    world, problems = manifest_files.read_installation(paths, dt.datetime.now(dt.UTC))
    if any(components(world, SIDECAR)):
        extras.require("sidecar")
    latencies = tuple(observations.given_latencies(metrics))
    return dataclasses.replace(world, latencies=latencies, upgrade_to=upgrade_to), problems


def _read_cluster(sources: Sources) -> tuple[World, list[Problem]]:
    from muster.commands.doctor import live_installation
    from muster.commands.progress import Progress
    from muster.commands.snapshot.live_cluster import ClusterError

    progress = Progress("doctor")
    progress.show("reading the cluster")
    try:
        return live_installation.read_installation(sources, dt.datetime.now(dt.UTC))
    except ClusterError as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()


def _print_problems(problems: list[Problem]) -> None:
    from muster.render.problem_words import object_words, problem_words

    for each in problems:
        standard_output.report(f"muster doctor: {object_words(each)}: {problem_words(each)}")
