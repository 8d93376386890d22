"""Configuration files: defaults for the options of ``muster lint`` and ``muster lsp``, and severities by file.

The file is ``.muster.yaml``, or ``pyproject.toml`` with the table ``tool.muster``, in the working directory or the nearest
directory above it, up to the root of the repository.  Paths and patterns in it are relative to its directory.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from muster import standard_output
from muster.commands.options import Command, read_list
from validators.rules.base import Severity

if TYPE_CHECKING:
    from validators.lint.configuration import Configuration
    from validators.lint.path_patterns import PathPatterns
    from validators.rules.base import Settings

_META = "muster.configuration"
_LARGEST = 1_000_000
"""Limit for the size of a configuration file, in bytes."""
_AS_IS = ("profile", "kubernetes", "select", "ignore", "exclude", "include")


def options(command: Command) -> Command:
    """Add --config, --no-config, --select and --ignore; the options of *command* get their defaults from the file."""
    added = (
        _rules_option("--ignore", "Do not report these rules (repeatable)."),
        _rules_option("--select", "Report only these rules (repeatable)."),
        click.option("--no-config", is_flag=True, is_eager=True, expose_value=False, callback=_load, help="Read no configuration file."),
        click.option(
            "--config",
            metavar="FILE",
            is_eager=True,
            expose_value=False,
            callback=_load,
            help="Configuration; default: .muster.yaml or pyproject.toml here or above.",
        ),
    )
    for option in added:
        command = option(command)
    return command


def _complete_rule(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from muster.commands import options as shared

    return shared.complete_rule(context, parameter, incomplete)


def _load(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Set the defaults of the options, once both options about the file are known."""
    known: dict[str, Any] = context.meta.setdefault(f"{_META}.options", {})
    known[str(parameter.name)] = value
    if len(known) < 2 or context.resilient_parsing:
        return
    if known["no_config"] and known["config"]:
        raise click.UsageError("--config and --no-config exclude each other")
    path = "" if known["no_config"] else known["config"] or _nearest()
    if path:
        configuration = _read(path)
        context.meta[_META] = configuration
        context.default_map = dict(_defaults(configuration))


def read_again(context: click.Context, folder: str | None) -> None:
    """Set the parameters of a command that its command line does not set, by the configuration for the directory *folder*.

    None: without a configuration.  Nothing changes if the command line names the configuration.

    Raises:
        click.UsageError: the file cannot be read or is invalid; the parameters are those before.

    """
    if any(context.meta[f"{_META}.options"].values()):
        return
    path = _nearest(folder) if folder else ""
    other = context.command.make_context(context.info_name, ["--config", path] if path else ["--no-config"])
    for name, value in other.params.items():
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            context.params[name] = value
            context.set_parameter_source(name, other.get_parameter_source(name) or ParameterSource.DEFAULT)
    context.meta[_META] = other.meta.get(_META)


def _defaults(configuration: Configuration) -> Iterator[tuple[str, Any]]:
    """Yield parameters of the command with their defaults."""
    folder, values = _folder(configuration), configuration.values
    for key in _AS_IS:
        if key in values:
            yield key, values[key]
    if "gates" in values:
        yield "gates", [f"{name}={str(on).lower()}" for name, on in values["gates"].items()]
    if "objects" in values:
        yield "objects", [os.path.join(folder, each) for each in values["objects"]]  # noqa: PTH118 - names are kept as given
    if "baseline" in values:
        yield "baseline", os.path.join(folder, values["baseline"])  # noqa: PTH118 - the same
    if "fail-on" in values:
        yield "fail_on", values["fail-on"]


def _folder(configuration: Configuration) -> str:
    return os.path.dirname(configuration.file)  # noqa: PTH120 - empty for the working directory


def current() -> Configuration | None:
    """Return the configuration that the running command has read."""
    configuration: Configuration | None = click.get_current_context().meta.get(_META)
    return configuration


def _rules_option(flag: str, text: str) -> Callable[[Command], Command]:
    return click.option(flag, multiple=True, metavar="ID,...", callback=read_list, shell_complete=_complete_rule, help=text)


def bases(option: str, folders: Sequence[str]) -> Sequence[str]:
    """Return the directories to which the patterns of *option* are relative: that of the file, or *folders* if it was given."""
    configuration = current()
    if configuration is None or click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT_MAP:
        return folders
    return (_folder(configuration) or ".",)


def severities(
    given: Sequence[tuple[str, Severity]], select: Sequence[str], ignore: Sequence[str]
) -> tuple[tuple[tuple[str, Severity], ...], Callable[[str, str], Severity | None] | None]:
    """Return the severities by rule, and the function that returns the severity of a rule in a file if it has another one there.

    Raises:
        click.UsageError: a rule does not exist, or a pattern of the file is invalid.

    """
    from muster.commands import options as shared
    from validators import rules
    from validators.lint import configuration as files

    for option, names in (("--select", select), ("--ignore", ignore)):
        for name in names:
            shared.refuse_unknown_rule(name, option)
    configuration = current() or files.Configuration()
    configured = {rule: Severity(severity) for rule, severity in configuration.values.get("rules", {}).items()}
    everywhere = files.severities(rules.discover(), configured | dict(given), select=select, ignore=ignore)
    if not configuration.overrides:
        return tuple(sorted(everywhere.items())), None
    demanded = files.severities(
        rules.discover(), dict(given), select=_of_command_line("select", select), ignore=_of_command_line("ignore", ignore)
    )
    by_file = _SeverityByFile(configuration, everywhere, demanded)
    return tuple(sorted((rule, severity) for rule, severity in everywhere.items() if rule not in by_file.elsewhere_off)), by_file


def _of_command_line(option: str, values: Sequence[str]) -> Sequence[str]:
    """Return *values* of an option; none if they are those of the configuration."""
    source = click.get_current_context().get_parameter_source(option)
    return () if source is ParameterSource.DEFAULT_MAP else values


class _SeverityByFile:
    """Severities of rules by file, from the overrides of a configuration; the rules *demanded* have those of the command line.

    A rule that is off everywhere but in some files runs for all files; ``elsewhere_off`` has these rules.
    """

    def __init__(self, configuration: Configuration, everywhere: Mapping[str, Severity], demanded: Collection[str]) -> None:
        folder = _folder(configuration) or "."
        self._overrides = [
            (
                _patterns(configuration.file, number, each.paths, folder),
                {rule: severity for rule, severity in each.rules if rule not in demanded},
            )
            for number, each in enumerate(configuration.overrides)
        ]
        mentioned = {rule for _, rules in self._overrides for rule in rules}
        self.elsewhere_off = {rule for rule in mentioned if everywhere.get(rule) is Severity.OFF}

    def __call__(self, file: str, rule: str) -> Severity | None:
        from validators.lint import path_patterns

        path = os.path.abspath(file)  # noqa: PTH100 - links stay as written
        for patterns, rules in reversed(self._overrides):
            if rule in rules and path_patterns.includes((patterns,), path):
                return rules[rule]
        return Severity.OFF if rule in self.elsewhere_off else None


def _patterns(file: str, number: int, lines: Sequence[str], folder: str) -> PathPatterns:
    from validators.lint import path_patterns

    try:
        return path_patterns.patterns(lines, folder)
    except path_patterns.PatternError as error:
        raise click.UsageError(f"{file}: overrides[{number}].paths: {error}: must be lines of .gitignore") from None


def settings(
    profile: str, kubernetes: str, gates: Sequence[str], rules: Sequence[str], *, select: Sequence[str], ignore: Sequence[str]
) -> Settings:
    """Return the settings of the linter for the options and the configuration."""
    from muster.commands import device_selectors
    from muster.commands import options as shared

    given = shared.settings_of(profile, kubernetes, gates, rules=rules, linting=True)
    everywhere, by_file = severities(given.severities, select, ignore)
    selectors = device_selectors.installed_selectors()
    return dataclasses.replace(given, severities=everywhere, by_file=by_file, whole_documents=True, selectors=selectors)


def show_options(parameters: Mapping[str, Any]) -> str:
    """Return the options in effect in the form of the file, as YAML; a comment names the file."""
    from muster.commands import options as shared
    from muster.render import yaml_text
    from validators import rule_options

    configuration = current()
    rules = dict(configuration.values.get("rules", {})) if configuration else {}
    rules |= {rule: severity.value for rule, severity in shared.severities_of(parameters["rules"])}
    values: dict[str, Any] = {
        "profile": parameters["profile"],
        "kubernetes": parameters["kubernetes"],
        "gates": dict(rule_options.gate_switches(parameters["gates"])),
        "rules": rules,
        **{key: list(parameters[key]) for key in ("select", "ignore", "objects", "exclude", "include")},
        "overrides": [
            {"paths": list(each.paths), "rules": {rule: severity.value for rule, severity in each.rules}}
            for each in configuration.overrides
        ]
        if configuration
        else [],
        "baseline": parameters["baseline"],
        "fail-on": parameters["fail_on"],
    }
    given = {key: value for key, value in values.items() if value not in ([], {}, None)}
    return f"# {configuration.file if configuration else 'no configuration file'}\n{yaml_text.dump(given)}"


def _nearest(start: str = "") -> str:
    """Return the path of the configuration for the directory *start*; empty if there is none.

    For the working directory, the default, it is relative.
    """
    from validators.lint import configuration as files

    folder = Path(start) if start else Path.cwd()
    for depth, each in enumerate((folder, *folder.parents)):
        above = each if start else Path(*[os.pardir] * depth)
        if (each / files.YAML_NAME).is_file():
            return str(above / files.YAML_NAME)
        if (each / files.TOML_NAME).is_file() and _has_table(str(above / files.TOML_NAME)):
            return str(above / files.TOML_NAME)
        if (each / ".git").exists():
            break
    return ""


def _has_table(path: str) -> bool:
    """Return whether a ``pyproject.toml`` has our table; one of another tool that cannot be read is a warning."""
    from validators.lint import configuration as files

    content, problem = b"", ""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        content.decode("utf-8")
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    if len(content) > _LARGEST:
        problem = f"has more than {_LARGEST:,} bytes"
    has_table = files.has_table(content.decode("utf-8-sig", "replace"))
    if problem and not has_table:
        command = click.get_current_context().command_path
        standard_output.report(f"{command}: {path} {problem}; it is ignored, as no table tool.muster was seen in it")
    return has_table


def _read(path: str) -> Configuration:
    """Return the configuration in the file *path*.

    Raises:
        click.UsageError: the file cannot be read or is invalid; the message has file, line and field of each error.

    """
    from validators import rules
    from validators.lint import configuration as files

    text = _text(path)
    ids = rules.discover()
    try:
        from_text = files.from_toml if path.lower().endswith(".toml") else files.from_yaml
        return from_text(path, text, ids)
    except files.ConfigurationError as error:
        raise click.UsageError(str(error)) from None


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise click.UsageError(f"{path}: must be at most {_LARGEST:,} bytes")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{path}: must be UTF-8") from None
