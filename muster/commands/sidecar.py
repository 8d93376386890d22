"""``muster sidecar``: options of the sidecar, and its process."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from muster import extras
from muster.commands import options, scheduler_config
from scheduler_core.sidecar.settings import LEASE_NAME, LEASE_NAMESPACE, NAMESPACE_VARIABLE, OPTIONS, Mode, Settings
from scheduler_core.sidecar.writes import Deviations

if TYPE_CHECKING:
    from scheduler_core.placement.extension_points import Plugins

EXAMPLE = """\b
Example:
  muster sidecar --kubeconfig ~/.kube/config --mode validate,place --lease none --probe-bind 127.0.0.1:8080
  curl 127.0.0.1:8080/explain/default/train

Every option has an environment variable: --scheduler-name is MUSTER_SCHEDULER_NAME.  The log is written to standard
error, one JSON object per line.

Exit status: 0 stopped by SIGTERM or Ctrl-C, after writes in progress have finished; 1 an internal failure, start it again;
2 the command line is wrong: an unknown mode, no kubeconfig, an address in use.
"""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* an option for each setting."""
    for each in reversed([*OPTIONS.values()]):
        command = options.click_option(each, default=each.default or None, has_variable=True)(command)
    return command


@click.command(
    "sidecar",
    help=f"Watch a cluster: report invalid trees, place groups, preempt pods, add and remove protection finalizers.\n\n{EXAMPLE}",
    context_settings={"max_content_width": 120},
)
@with_options
def sidecar(**given: Any) -> None:
    """Run until it is stopped."""
    extras.require("sidecar")
    from apiserver.connect import ConnectError, find_connection
    from muster.render.answer_json import decision_json
    from scheduler_core.sidecar.process.main import run
    from webhooks import log

    settings = _settings(given)
    if settings.deviations is Deviations.UNDO and Mode.UNGATE not in settings.modes:
        raise click.UsageError("--deviations undo needs --mode ungate: only pods that another scheduler binds deviate")
    try:
        cluster = find_connection(settings.kubeconfig, settings.context)
    except ConnectError as error:
        where = f"{settings.kubeconfig}: " if settings.kubeconfig and settings.kubeconfig not in str(error) else ""
        raise click.UsageError(f"there is no cluster to watch: {where}{error}; give --kubeconfig or --context") from None
    log.capture_libraries()
    try:
        run(cluster, settings, (settings.probe_bind.host, settings.probe_bind.port), log=log.write, as_json=decision_json)
    except OSError as error:
        raise click.UsageError(f"--probe-bind {settings.probe_bind}: {error.strerror or error}") from None


def _settings(given: Mapping[str, Any]) -> Settings:
    """Return the settings for the options; an option that is not given has its default."""
    values: dict[str, Any] = {"lease": (os.environ.get(NAMESPACE_VARIABLE, LEASE_NAMESPACE), LEASE_NAME)}
    source = click.get_current_context().get_parameter_source
    values |= {field: value for field, value in given.items() if source(field) is not ParameterSource.DEFAULT}
    values["identity"] = values.get("identity") or f"{socket.gethostname()}_{os.getpid()}"
    if "plugins" in values:
        values["plugins"] = _plugins(values["plugins"])
    if "scheduler_config" not in values:
        return Settings(**values)
    path = values["scheduler_config"]
    settings = Settings(**{**values, "scheduler_config": scheduler_config.read_file(path, values.get("kubernetes"))[1]})
    if settings.scheduler_config is not None and not settings.scheduler_config.profiles.schedules(settings.scheduler_name):
        names = ", ".join(sorted(settings.scheduler_config.profiles.by_name or ()))
        reason = f"there is no profile for --scheduler-name {settings.scheduler_name}; the profiles are {names}"
        raise click.UsageError(f"--scheduler-config {path}: {reason}")
    return settings


def _plugins(names: tuple[str, ...]) -> Plugins:
    from muster.commands import placement_plugins

    try:
        return placement_plugins.load(names)
    except placement_plugins.PluginError as error:
        raise click.UsageError(f"--plugin: {error}") from None
