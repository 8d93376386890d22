"""``muster sidecar``: the options, and the process."""

from __future__ import annotations

import math
import os
import socket
from typing import Any

import click

from muster.commands import options as shared

EXAMPLE = """\b
Example:
  muster sidecar --kubeconfig ~/.kube/config --mode validate,place --lease none --probe-bind 127.0.0.1:8080
  curl 127.0.0.1:8080/explain/default/train

Every option can be given in the environment: --scheduler-name is MUSTER_SCHEDULER_NAME.  Lines of the log are JSON, on
standard error.

Exit status: 0 stopped by SIGTERM or Ctrl-C, with what was being written finished; 1 a part of it has died, and it is to be
started anew; 2 the call is wrong: no such mode, no kubeconfig, an address that is taken.
"""

MODES = ("validate", "place", "ungate", "preempt", "protect")


@click.command(
    "sidecar",
    help=f"Watches a cluster: tells invalid trees, places groups, makes room, protects.\n\n{EXAMPLE}",
    context_settings={"auto_envvar_prefix": "MUSTER", "max_content_width": 120, "show_default": True},
)
@click.option("--kubeconfig", metavar="FILE", help="Where the API server is.  [default: as kubectl finds it; in a pod its service account]")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig.  [default: its current one]")
@click.option("--mode", metavar="MODE,…", default="validate,place,preempt,protect", help=f"What it does: {', '.join(MODES)}.")
@click.option("--scheduler-name", metavar="NAME", default="muster", help="The spec.schedulerName of the pods that it binds.")
@click.option(
    "--strategy",
    type=click.Choice(["complete", "greedy"]),
    default="complete",
    help="How it places: searching where greedy, which decides as kube-scheduler, leaves pods out; or greedy alone.",
)
@click.option("--budget", metavar="STEPS", type=click.IntRange(min=1), help="Steps that the search may take for a root.")
@click.option("--evict", type=click.Choice(["evict", "delete"]), default="evict", help="How victims leave; evict honours budgets.")
@click.option("--labels/--no-labels", default=True, help="Whether pods are members by label where the server drops spec.schedulingGroup.")
@click.option(
    "--settle", metavar="SECONDS", type=click.FloatRange(0.0, 600.0), default=2.0, help="How long a breach stands before it is told."
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME|none",
    help="By which one of several replicas leads.  [default: muster-sidecar, in MUSTER_LEASE_NAMESPACE or muster-system]",
)
@click.option("--identity", metavar="NAME", help="Who this replica is.  [default: the host's name and the process]")
@click.option("--gates", metavar="A=true,B=false", multiple=True, help="Feature gates of the API server; all on where not named.")
@click.option("--plugin", metavar="NAME,…", multiple=True, help="A placement plugin that is installed beside Muster (repeatable).")
@click.option("--writers", metavar="N", type=click.IntRange(1, 64), default=8, help="Writes at once.")
@click.option(
    "--silence",
    metavar="SECONDS",
    type=click.FloatRange(5.0, 600.0),
    default=90.0,
    help="How long a watch may say nothing before it is begun anew; the server speaks at least once a minute.",
)
@click.option(
    "--probe-bind",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    help="Where probes, figures and /explain are served; port 0 takes a free one.",
)
def sidecar(**given: Any) -> None:
    """Run until it is told to stop."""
    from apiserver.connect import ConnectError, configuration
    from muster.render.answer_json import decision_json
    from scheduler_core.sidecar.process.main import run
    from webhooks import log

    settings = _settings(given)
    bind = _address(given["probe_bind"])
    try:
        found = configuration(given["kubeconfig"], given["context"])
    except ConnectError as error:
        where = f"{given['kubeconfig']}: " if given["kubeconfig"] else ""
        raise click.UsageError(f"there is no cluster to watch: {where}{error}; give --kubeconfig or --context") from None
    try:
        run(found, settings, bind, log=log.write, as_json=decision_json)
    except OSError as error:
        raise click.UsageError(f"--probe-bind {given['probe_bind']}: {error.strerror or error}") from None


def _settings(given: dict[str, Any]) -> Any:
    from scheduler_core.sidecar.process.settings import Mode, Settings
    from scheduler_core.sidecar.writes import Evicting

    names = [each.strip() for each in given["mode"].split(",") if each.strip()]
    for name in names:
        if name not in MODES:
            raise click.UsageError(f"--mode: there is no mode {name!r}{shared.near(name, MODES)}; the modes are {', '.join(MODES)}")
    if not names:
        raise click.UsageError(f"--mode: at least one of {', '.join(MODES)} is needed")
    if "preempt" in names and not {"place", "ungate"} & set(names):
        raise click.UsageError("--mode: preempt makes room for what is placed; it needs place or ungate")
    if not given["scheduler_name"]:
        raise click.UsageError("--scheduler-name must not be empty: no pod has that")
    for option in ("settle", "silence"):
        # Neither below nor above any bound.
        if math.isnan(given[option]):
            raise click.UsageError(f"--{option} must be a number of seconds")
    return Settings(
        modes=frozenset(Mode(each) for each in names),
        scheduler_name=given["scheduler_name"],
        strategy=given["strategy"],
        budget=given["budget"] or 0,
        evicting=Evicting(given["evict"]),
        by_label=given["labels"],
        settle_seconds=given["settle"],
        identity=given["identity"] or f"{socket.gethostname()}_{os.getpid()}",
        lease=_lease(given["lease"]),
        gates=shared.gates_of(given["gates"]),
        plugins=_plugins(given["plugin"]),
        silence_seconds=given["silence"],
        writers=given["writers"],
    )


def _plugins(given: tuple[str, ...]) -> Any:
    from muster.commands import placement_plugins

    names = [name.strip() for each in given for name in each.split(",") if name.strip()]
    if given and not names:
        raise click.UsageError(f"--plugin {','.join(given)!r} {placement_plugins.NAMES_NONE}")
    try:
        return placement_plugins.load(names)
    except placement_plugins.PluginError as error:
        raise click.UsageError(f"--plugin: {error}") from None


def _lease(text: str | None) -> tuple[str, str] | None:
    from validators import content

    if text is None:
        return os.environ.get("MUSTER_LEASE_NAMESPACE", "muster-system"), "muster-sidecar"
    if text == "none":
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise click.UsageError(f"--lease must be NAMESPACE/NAME or none: {text!r}")
    # Asked of the server, each would be answered as if there were no such namespace.
    for part, complaints in (("namespace", content.label(namespace)), ("name", content.subdomain(name))):
        if complaints:
            raise click.UsageError(f"--lease {text!r}: {part}: {complaints[0]}")
    return namespace, name


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--probe-bind must be HOST:PORT: {text!r}")
    return host.strip("[]"), int(port)
