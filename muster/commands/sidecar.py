"""``muster sidecar``: options of the sidecar, and its process."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from muster import extras
from muster.commands import options as shared
from muster.commands import scheduler_config
from scheduler_core.sidecar.settings import (
    LEASE_NAME,
    LEASE_NAMESPACE,
    NAMESPACE_VARIABLE,
    Knob,
    Mode,
    Settings,
    default_value,
    knobs,
)
from scheduler_core.sidecar.writes import EvictionMethod

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

MODES = tuple(Mode)

Value = Any
"""Value of an option, as click returns it."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* an option for each setting."""
    for field, knob in reversed([*knobs().items()]):
        default = f"  [default: {knob.unset}]" if knob.unset else ""
        option = click.option(
            knob.option,
            metavar=knob.metavar,
            type=_type(knob),
            default=default_value(field),
            multiple=knob.repeatable,
            help=f"{knob.help}{default}",
        )
        command = option(command)
    return command


def _type(knob: Knob) -> click.ParamType[Any] | None:
    if knob.choices:
        return click.Choice([str(each) for each in knob.choices])
    if knob.bounds is None:
        return None
    low, high = knob.bounds
    return click.IntRange(low, None if high is None else int(high)) if isinstance(low, int) else click.FloatRange(low, high)


@click.command(
    "sidecar",
    help=f"Watch a cluster: report invalid trees, place groups, preempt pods, add and remove protection finalizers.\n\n{EXAMPLE}",
    context_settings={"auto_envvar_prefix": "MUSTER", "max_content_width": 120, "show_default": True},
)
@with_options
def sidecar(**given: Any) -> None:
    """Run until it is stopped."""
    extras.require("sidecar")
    from apiserver.connect import ConnectError, configuration
    from muster.render.answer_json import decision_json
    from scheduler_core.sidecar.process.main import run
    from webhooks import log

    settings = _settings(given)
    bind = _address(settings.probe_bind)
    try:
        cluster = configuration(settings.kubeconfig, settings.context)
    except ConnectError as error:
        where = f"{settings.kubeconfig}: " if settings.kubeconfig and settings.kubeconfig not in str(error) else ""
        raise click.UsageError(f"there is no cluster to watch: {where}{error}; give --kubeconfig or --context") from None
    log.capture_libraries()
    try:
        run(cluster, settings, bind, log=log.write, as_json=decision_json)
    except OSError as error:
        raise click.UsageError(f"--probe-bind {settings.probe_bind}: {error.strerror or error}") from None


def _settings(given: Mapping[str, Value]) -> Settings:
    """Return the settings for the options; an option that is not given has its default."""
    values: dict[str, Any] = {
        "lease": (os.environ.get(NAMESPACE_VARIABLE, LEASE_NAMESPACE), LEASE_NAME),
        "identity": _identity(),
    }
    for field, knob in knobs().items():
        value = given[knob.name]
        # NaN is neither below nor above a bound.
        if isinstance(value, float) and math.isnan(value):
            raise click.UsageError(f"{knob.option} must be a number of seconds")
        if value not in _NOT_GIVEN:
            values[field] = _READERS[field](value) if field in _READERS else value
    settings = Settings(**values)
    if settings.scheduler_config is not None and not settings.scheduler_config.profiles.schedules(settings.scheduler_name):
        names = ", ".join(sorted(settings.scheduler_config.profiles.by_name or ()))
        reason = f"there is no profile for --scheduler-name {settings.scheduler_name}; the profiles are {names}"
        raise click.UsageError(f"--scheduler-config {given['scheduler_config']}: {reason}")
    return settings


def _modes(text: str) -> frozenset[Mode]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in MODES:
            raise click.UsageError(f"--mode: there is no mode {name!r}{shared.near(name, MODES)}; the modes are {', '.join(MODES)}")
    if not names:
        raise click.UsageError(f"--mode: at least one of {', '.join(MODES)} is needed")
    if "preempt" in names and not {"place", "ungate"} & set(names):
        raise click.UsageError("--mode: preempt needs place or ungate")
    return frozenset(map(Mode, names))


def _scheduler_name(text: str) -> str:
    if not text:
        raise click.UsageError("--scheduler-name must not be empty")
    return text


def _identity(text: str = "") -> str:
    return text or f"{socket.gethostname()}_{os.getpid()}"


def _plugins(given: tuple[str, ...]) -> Plugins:
    from muster.commands import placement_plugins

    names = [name.strip() for each in given for name in each.split(",") if name.strip()]
    if given and not names:
        raise click.UsageError(f"--plugin {','.join(given)!r} {placement_plugins.NAMES_NONE}")
    try:
        return placement_plugins.load(names)
    except placement_plugins.PluginError as error:
        raise click.UsageError(f"--plugin: {error}") from None


def _lease(text: str) -> tuple[str, str] | None:
    from kubeapi import content

    if text == "none":
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise click.UsageError(f"--lease must be NAMESPACE/NAME or none: {text!r}")
    # The API server would answer as if the namespace did not exist.
    for part, complaints in (("namespace", content.label(namespace)), ("name", content.subdomain(name))):
        if complaints:
            raise click.UsageError(f"--lease {text!r}: {part}: {complaints[0]}")
    return namespace, name


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--probe-bind must be HOST:PORT: {text!r}")
    return host.strip("[]"), int(port)


_NOT_GIVEN = (None, ())
_READERS: Mapping[str, Callable[[Value], Any]] = {
    "modes": _modes,
    "scheduler_name": _scheduler_name,
    "device_topology": shared.device_attributes,
    "scheduler_config": lambda path: scheduler_config.read_file(path)[1],
    "eviction_method": EvictionMethod,
    "lease": _lease,
    "identity": _identity,
    "gates": shared.gates_of,
    "plugins": _plugins,
}
"""Conversion of an option to its setting, by field; other options are used as they are."""
