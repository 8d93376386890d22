"""Click's forms of declared options, the options that several subcommands share, and the Settings made from them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

from muster import standard_output
from validators import rule_options
from validators.gates import Gates
from validators.options import FILE, NAME, Option, OptionType, Value, items
from validators.rules.base import Settings, Severity

Command = TypeVar("Command", bound=Callable[..., Any])

STDOUT = "-"
"""Name of standard output in ``--output FORMAT=FILE``."""
SEVERITIES = tuple(each.value for each in Severity)


def read_list(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a repeatable option, which commas may separate: the callback of click."""
    return tuple(items(values))


def click_option(
    option: Option[Any],
    *,
    text: str = "",
    default: str | None = None,
    has_variable: bool = False,
    shows_variable: bool = False,
    complete: Callable[[click.Context, click.Parameter, str], list[str]] | None = None,
    is_read: bool = True,
) -> Callable[[Command], Command]:
    """Return click's form of a declared option; its parameter is None or () without a value.

    Args:
        option: the declaration.
        text: help, if the command has one of its own.
        default: text of the default; None: a command without the option has no value.
        has_variable: whether the option is also read from its environment variable.
        shows_variable: whether its help names the variable.
        complete: completion of the shell.
        is_read: whether the command gets the value that is read from the texts, not the texts.

    """
    kind = option.type

    def read(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        if value is None or value == ():
            return value
        try:
            return kind.parse(value) if kind.repeatable else kind.parse([value]) if isinstance(value, str) else kind.decode(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(
        option.flag,
        option.field or option.name,
        type=_click_type(kind),
        is_flag=kind.is_flag,
        default=_click_default(kind, default),
        show_default=default is not None,
        multiple=kind.repeatable,
        envvar=option.variable if has_variable else None,
        show_envvar=shows_variable,
        metavar=kind.metavar,
        callback=read if is_read else None,
        shell_complete=complete,
        help=f"{text or option.help}{f'  [default: {option.unset}]' if option.unset else ''}",
    )


def _click_default(kind: OptionType[Any], text: str | None) -> Any:
    if text is None:
        return None
    return kind.parse([text]) if kind.is_flag else [text] if kind.repeatable else text


def _click_type(kind: OptionType[Any]) -> click.ParamType[Any] | None:
    if kind.metavar == FILE.metavar:
        return click.Path(dir_okay=False)
    if kind.choices:
        return click.Choice(kind.choices)
    if kind.bounds is None:
        return None
    low, high = kind.bounds
    return click.IntRange(low, int(high)) if isinstance(low, int) else click.FloatRange(low, high)


KUBECONFIG = Option("--kubeconfig", FILE, "Kubeconfig of the cluster.", unset="as for kubectl")
CONTEXT = Option("--context", NAME, "Context of the kubeconfig.", unset="the current context")
profile = click_option(rule_options.PROFILE, default=rule_options.PROFILE.default, is_read=False)
kubernetes = click_option(rule_options.KUBERNETES, default=rule_options.KUBERNETES.default, is_read=False)
gates = click_option(rule_options.GATES, is_read=False)
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
details = click.option(
    "--verbose", "-v", count=True, help="Show groups with their nodes and reasons; -vv lists every pod with its node, and omits nothing."
)
no_color = click.option(
    "--no-color", is_flag=True, help="No colours. This is the default if NO_COLOR is set or the output is not a terminal."
)


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


rule = click_option(rule_options.RULES, complete=complete_severity, is_read=False)


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
    minor = read_texts(rule_options.KUBERNETES, [kubernetes])
    return Settings(
        profile=read_texts(rule_options.PROFILE, [profile]),
        minor=minor,
        gates=gates_of_version(read_texts(rule_options.GATES, gates), minor),
        severities=severities_of(rules),
        linting=linting,
    )


def gates_of_version(gates: Gates, minor: int) -> Gates:
    """Return *gates* for Kubernetes 1.*minor*.  Raises click.BadParameter if no API server of that version starts with them."""
    try:
        return gates.of_version(minor)
    except ValueError as error:
        raise _mistake(rule_options.GATES.flag, str(error)) from None


def read_texts(option: Option[Value], texts: Sequence[str]) -> Value:
    """Return the value of an option whose texts were not read.  Raises click.BadParameter."""
    try:
        return option.type.parse(texts)
    except ValueError as error:
        raise _mistake(option.flag, str(error)) from None


def severities_of(texts: Sequence[str]) -> tuple[tuple[str, Severity], ...]:
    """Return the severities for ``ID=warning``, by id; if a rule is given twice, the last value is used.

    Raises:
        click.BadParameter: a wrong form, or an unknown rule.

    """
    severities = read_texts(rule_options.RULES, texts)
    for name, _ in severities:
        refuse_unknown_rule(name)
    return severities


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


def report_skipped(command: str, skipped: Mapping[str, int], hint: str) -> None:
    """Report the number of *skipped* files of each other tool; *hint* says how they can be read."""
    from validators.reports.counts import counted

    if skipped:
        tools = ", ".join(f"{tool} {number:,}" for tool, number in sorted(skipped.items()))
        number = counted(sum(skipped.values()), "file")
        standard_output.report(f"{command}: {number} of other tools skipped ({tools}); {hint}")


_OPTIONS_OF_LINT = {"Helm": "--helm", "Kustomize": "--kustomize"}
"""Options with which lint reads what other tools create."""


def nothing_checked(command: str, paths: Iterable[str], skipped: Mapping[str, int]) -> str:
    """Return a sentence that nothing was checked at *paths*, with the commands that check what was *skipped*."""
    from muster.render.file_notes import CreatingTool

    found = [tool for tool in CreatingTool if skipped.get(tool)]
    named = ", ".join("standard input" if each == STDOUT else each for each in paths)
    commands = [f"{command} {_OPTIONS_OF_LINT[tool]} PATH" if command == "muster lint" else tool.rendered_for(command) for tool in found]
    hint = f"; for the objects that they create: {' and '.join(commands)}" if commands else ""
    only = f", only files of other tools ({', '.join(sorted(skipped))})" if skipped else ""
    return f"nothing was checked: there is no Kubernetes object in {named}{only}{hint}"


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
