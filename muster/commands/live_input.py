"""The live cluster as the source of objects: the options ``--cluster``, ``--kubeconfig`` and ``--context``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muster import extras
from muster.commands import options as shared
from muster.commands.options import Command

if TYPE_CHECKING:
    from muster.commands.progress import Progress
    from muster.commands.simulate.completed_input import ClusterInput

_OPTIONS = (
    shared.click_option(shared.CONTEXT, text="Context of the kubeconfig, with --cluster."),
    shared.click_option(shared.KUBECONFIG, text="Kubeconfig of the live cluster, with --cluster."),
)
_READ = "Read the live cluster of the kubeconfig; nothing is written to it."


def options(command: Command, text: str = _READ) -> Command:
    """Add the options to *command*; *text* is the help of ``--cluster``."""
    for option in (*_OPTIONS, click.option("--cluster", is_flag=True, help=text)):
        command = option(command)
    return command


def refuse_contradictions(*, cluster: bool, objects: tuple[str, ...], kubeconfig: str | None, context: str | None) -> None:
    """Refuse options that contradict each other.

    Raises:
        click.UsageError: two options contradict each other.

    """
    if cluster and objects:
        raise click.UsageError("give --objects or --cluster, not both")
    if (kubeconfig or context) and not cluster:
        raise click.UsageError("--kubeconfig and --context need --cluster")


def read_live(kubeconfig: str | None, context: str | None, progress: Progress) -> ClusterInput:
    """Return the objects of the live cluster.

    Raises:
        click.UsageError: the cluster cannot be read.

    """
    extras.require("cluster")
    from muster.commands.simulate.completed_input import ClusterInput
    from muster.commands.snapshot import live_cluster, other_projects_fields

    progress.show("reading the cluster")
    try:
        read = live_cluster.list_cluster(kubeconfig, context, further=other_projects_fields.RESOURCES, instead="--objects")
    except live_cluster.ClusterError as error:
        raise click.UsageError(str(error)) from None
    return ClusterInput([*read.lists], [*read.problems], behavior=read.behavior)


def context_name(kubeconfig: str | None, context: str | None) -> str:
    """Return the context of the live cluster; empty if it is read as a pod of that cluster."""
    if context is not None:
        return context
    from apiserver.connect import current_context

    return current_context(kubeconfig)
