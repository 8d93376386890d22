"""Options that several subcommands share, and the Settings made from them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubeapi.versions import releases
from muster import standard_output
from scheduler_core.behavior.scheduler_behavior import BEHAVIORS
from scheduler_core.model.options import COMPLETE, ON, STRATEGIES, SWITCH, is_device_attribute
from validators.rules.base import Profile, Settings, Severity

if TYPE_CHECKING:
    from validators.gates import Gates

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_KUBERNETES = releases.name(releases.TODAY)
STDOUT = "-"
"""Name of standard output in ``--output FORMAT=FILE``."""
SEVERITIES = tuple(each.value for each in Severity)
_SWITCHES = {"true": True, "false": False}

profile = click.option(
    "--profile",
    type=click.Choice([each.value for each in Profile]),
    default=Profile.KEP.value,
    show_default=True,
    help="kep: all rules of the KEPs; upstream: only the rules of the API server.",
)
kubernetes = click.option(
    "--kubernetes",
    type=click.Choice(tuple(releases.names())),
    default=DEFAULT_KUBERNETES,
    show_default=True,
    help="Version of the API server to mirror.",
)
scheduler_kubernetes = click.option(
    "--kubernetes",
    type=click.Choice(tuple(BEHAVIORS)),
    help=f"Version of kube-scheduler to mirror.  [default: that of the cluster if it is known, else {DEFAULT_KUBERNETES}]",
)
gates = click.option("--gates", multiple=True, metavar="NAME=true|false,...", help="Feature gates of the API server; all others are on.")
objects = click.option(
    "--objects",
    multiple=True,
    metavar="PATH",
    help="File or directory with cluster objects that rules look up; they are not validated (repeatable).",
)

exclude = click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Leave out files below a directory, as a line of .gitignore (repeatable)."
)
include = click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Read files below a directory that would be left out or skipped, as a line of .gitignore (repeatable).",
)
verbose = click.option("--verbose", "-v", is_flag=True, help="List every pod with its node, and omit nothing.")
no_color = click.option(
    "--no-color", is_flag=True, help="No colours. This is the default if NO_COLOR is set or the output is not a terminal."
)
strategy = click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default=COMPLETE,
    show_default=True,
    help="greedy: decide as kube-scheduler; complete: also search where greedy leaves pods without a node.",
)
rank_order = click.option(
    "--rank-order",
    type=click.Choice(SWITCH),
    default=ON,
    show_default=True,
    help="Give equal pods of a group nodes by their indexes, so that consecutive ones are neighbours; greedy never does.",
)
budget = click.option("--budget", type=click.IntRange(1), metavar="STEPS", help="Maximum number of search steps for a root.")
ignore = click.option("--ignore", multiple=True, metavar="FIELD", help="Ignore a field that is not modelled (repeatable).")


def device_attributes(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes in *texts*, each separated by commas.  Raises click.BadParameter if one has no domain."""
    attributes = tuple(each.strip() for text in texts for each in text.split(","))
    for each in attributes:
        if not is_device_attribute(each):
            raise _mistake("--device-topology", f"{each!r} must be an attribute with its domain, such as gpu.example.com/clique")
    return attributes


def _device_topology(variable: str | None = None) -> Callable[[Command], Command]:
    return click.option(
        "--device-topology",
        multiple=True,
        callback=lambda _context, _parameter, texts: device_attributes(texts),
        envvar=variable,
        show_envvar=variable is not None,
        metavar="ATTRIBUTE,...",
        help="Attribute of devices, such as gpu.example.com/clique, that is a topology key: a node is in the domain that its devices name"
        " (repeatable).",
    )


device_topology = _device_topology()
device_topology_of_sidecar = _device_topology("MUSTER_DEVICE_TOPOLOGY")
"""The same option, with the variable of the sidecar."""
plugin = click.option("--plugin", multiple=True, metavar="NAME,...", help="An installed placement plugin (repeatable).")


def outputs(formats: Sequence[str], text: str) -> Callable[[Command], Command]:
    """Return the option ``--output FORMAT=FILE`` for *formats*, with the help *text*."""

    def complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        return [f"{each}=" for each in formats if each.startswith(incomplete)]

    return click.option("--output", "-o", "outputs", multiple=True, metavar="FORMAT=FILE", shell_complete=complete, help=text)


def complete_rule(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids of rules that begin with *incomplete*, for the shell."""
    from validators import rules

    return [each for each in rules.discover() if each.startswith(incomplete)]


def complete_rule_or_kind(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids of rules, and the kinds that rules are about, that begin with *incomplete*, for the shell."""
    from validators import rules

    kinds = sorted({kind for each in rules.discover().values() for kind in each.kinds})
    return [*complete_rule(ctx, parameter, incomplete), *(each for each in kinds if each.lower().startswith(incomplete.lower()))]


def complete_severity(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the completions of ``ID=SEVERITY``, for the shell."""
    return _complete_by_rule(ctx, parameter, incomplete, SEVERITIES)


def complete_enforcement(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the completions of ``MODE`` and ``ID=MODE``, for the shell."""
    from webhooks.enforcement import Enforcement

    modes = tuple(each.value for each in Enforcement)
    return [*(each for each in modes if each.startswith(incomplete)), *_complete_by_rule(ctx, parameter, incomplete, modes)]


def _complete_by_rule(ctx: click.Context, parameter: click.Parameter, incomplete: str, values: Sequence[str]) -> list[str]:
    name, equals, value = incomplete.partition("=")
    if not equals:
        return [f"{each}=" for each in complete_rule(ctx, parameter, name)]
    return [f"{name}={each}" for each in values if each.startswith(value)]


rule = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="ID=error|warning|off",
    shell_complete=complete_severity,
    help="Set the severity of a rule (repeatable).",
)


def judging(command: Command) -> Command:
    """Add the options of Settings: --profile, --kubernetes, --gates, --rule."""
    for option in (rule, gates, kubernetes, profile):
        command = option(command)
    return command


def settings_of(profile: str, kubernetes: str, gates: Sequence[str], *, rules: Sequence[str], linting: bool) -> Settings:
    """Return the Settings for the options of ``judging``.

    Raises:
        click.BadParameter: an unknown gate, rule or severity, or gates with which no API server starts.

    """
    return Settings(
        profile=Profile(profile),
        minor=releases.names()[kubernetes],
        gates=gates_of(gates),
        severities=severities_of(rules),
        linting=linting,
    )


def gates_of(texts: Iterable[str]) -> Gates:
    """Return the gates for ``A=true,B=false``; if a gate is given twice, the last value is used.

    Raises:
        click.BadParameter: a wrong form, an unknown gate, or gates with which no API server starts.

    """
    from validators.gates import GateError, Gates

    try:
        return Gates.from_switches(switches_of(texts))
    except GateError as error:
        raise _mistake("--gates", str(error)) from None


def switches_of(texts: Iterable[str]) -> list[tuple[str, bool]]:
    """Return names and values of ``A=true,B=false``.  Raises click.BadParameter."""
    switches: list[tuple[str, bool]] = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, equals, switch = (each.strip() for each in part.partition("="))
        if not part:
            continue
        if not equals or switch.lower() not in _SWITCHES:
            raise _mistake("--gates", f"{part!r} must be NAME=true or NAME=false")
        switches.append((name, _SWITCHES[switch.lower()]))
    return switches


def severities_of(texts: Iterable[str]) -> tuple[tuple[str, Severity], ...]:
    """Return the severities for ``ID=warning``, by id; if a rule is given twice, the last value is used.

    Raises:
        click.BadParameter: a wrong form, or an unknown rule.

    """
    severities: dict[str, Severity] = {}
    for text in texts:
        name, equals, severity = (each.strip() for each in text.partition("="))
        if not equals or severity not in SEVERITIES:
            raise _mistake("--rule", f"{text!r} must be ID=error, ID=warning or ID=off")
        refuse_unknown_rule(name)
        severities[name] = Severity(severity)
    return tuple(sorted(severities.items()))


def near(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean …?`` for a misspelt name, or an empty string."""
    matches = difflib.get_close_matches(name, sorted(names), n=3)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def report_empty_directories(command: str, paths: Iterable[str]) -> bool:
    """Report those of *paths* that are directories without a manifest; return whether there are any."""
    from validators.lint import files

    empty = files.empty_directories(paths)
    if empty:
        standard_output.report(f"muster {command}: no {', '.join(files.SUFFIXES)} file in {', '.join(empty)}")
    return bool(empty)


def refuse_unknown_rule(name: str, option: str = "--rule") -> None:
    """Raise click.BadParameter if no rule has the id *name*."""
    from validators import rules

    if name not in rules.discover():
        raise _mistake(option, f"there is no rule {name!r}{near(name, rules.discover())}")


def demand_replicas(texts: Iterable[str]) -> None:
    """Refuse values of ``--replica`` that are not HOST:PORT.  Raises click.UsageError."""
    for each in texts:
        host, colon, port = each.rpartition(":")
        if not (host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise click.UsageError(f"--replica must be HOST:PORT: {each!r}")


def _mistake(option: str, message: str) -> click.BadParameter:
    return click.BadParameter(message, ctx=click.get_current_context(silent=True), param_hint=option)
