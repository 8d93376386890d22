"""Configuration of the linter: the content of ``.muster.yaml``, or of ``[tool.muster]`` in ``pyproject.toml``.

Its JSON Schema is ``schemas/configuration.json``.
"""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kubeapi.base_structs import Record, record_field
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions import kubernetes_releases
from validators import schema
from validators.field import FieldError
from validators.gates import GateError, Gates
from validators.lint import yaml_values
from validators.lint.finding import UNREADABLE
from validators.lint.places import Chunk, Fault, Lines
from validators.rules.base import Severity

SCHEMA = "configuration"
YAML_NAME, TOML_NAME = ".muster.yaml", "pyproject.toml"
_HEADER = re.compile(r"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*muster[ \t]*[\].]", re.MULTILINE)
_MOST_SHOWN = 5
"""Maximum number of errors in a message."""
_ALWAYS = frozenset({UNREADABLE})
"""Rules that ``select`` and ``ignore`` do not turn off: a file that cannot be read was not checked."""


class ConfigurationError(ValueError):
    """The configuration is invalid; the text has file, line, field and requirement of each error."""


class Override(Record, frozen=True):
    """Severities of rules in the files that match *paths*, lines of .gitignore."""

    paths: tuple[str, ...]
    rules: tuple[tuple[str, Severity], ...]


class Configuration(Record, frozen=True):
    """Valid configuration.

    Attributes:
        file: path of the file; empty if there is none.
        values: its content by key, without ``overrides``.
        overrides: severities by file; of several matches of a file the last one has precedence.

    """

    file: str = ""
    values: Mapping[str, Any] = record_field(default_factory=dict)
    overrides: tuple[Override, ...] = ()


def has_table(text: str) -> bool:
    """Return whether a ``pyproject.toml`` has the table ``tool.muster``, or if it is not TOML a line that seems to begin it."""
    if "muster" not in text:
        return False
    import tomllib  # imported on demand: most repositories have no such table, and start-up must be fast

    try:
        return _table(tomllib.loads(text)) is not None
    except (tomllib.TOMLDecodeError, RecursionError):
        return _HEADER.search(text) is not None


def from_toml(file: str, text: str, rules: Collection[str]) -> Configuration:
    """Return the configuration in the table ``tool.muster``; *rules* are the ids of all rules.

    Raises:
        ConfigurationError: the text is not TOML, or a value is not valid.

    """
    import tomllib  # as above

    try:
        table = _table(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{file}: {error}") from None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{file}: must have the table tool.muster")
    table = _without_times(table)
    return _checked(file, table, [f"{file}: tool.muster.{path}: {message}" for path, message in _errors(table, rules)])


def _table(content: Mapping[str, Any]) -> Any:
    """Return the value ``tool.muster``; None if there is none."""
    tool = content.get("tool")
    return tool.get("muster") if isinstance(tool, dict) else None


def _without_times(value: Any) -> Any:
    """Return a value of TOML with dates and times as text: JSON, and so the schema, has neither."""
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    return str(value) if isinstance(value, dt.date | dt.time) else value


def from_yaml(file: str, text: str, rules: Collection[str]) -> Configuration:
    """Return the configuration in the YAML *text*; *rules* are the ids of all rules.

    Raises:
        ConfigurationError: the text is not one YAML mapping, or a value is not valid.

    """
    lines = Lines(text)
    try:
        documents = [each for each in yaml_values.values(text) if each is not None]
    except Fault as fault:
        raise ConfigurationError(f"{file}:{lines.position(fault.offset)[0]}: {fault.message}") from None
    if not documents:
        return Configuration(file)
    if len(documents) > 1 or not isinstance(documents[0], dict):
        raise ConfigurationError(f"{file}:1: must be one mapping of options to values")
    chunk = Chunk(lines, 0, text, functools.partial(yaml_values.survey, number=0))
    errors = [f"{file}:{chunk.span((), path).line}: {path}: {message}" for path, message in _errors(documents[0], rules)]
    return _checked(file, documents[0], errors)


def _checked(file: str, content: Mapping[str, Any], errors: Sequence[str]) -> Configuration:
    if errors:
        more = f"; and {len(errors) - _MOST_SHOWN} more errors" if len(errors) > _MOST_SHOWN else ""
        raise ConfigurationError(f"{'; '.join(errors[:_MOST_SHOWN])}{more}")
    overrides = tuple(Override(tuple(each["paths"]), _severities(each["rules"])) for each in content.get("overrides", ()))
    return Configuration(file, {key: value for key, value in content.items() if key != "overrides"}, overrides)


def _severities(rules: Mapping[str, str]) -> tuple[tuple[str, Severity], ...]:
    return tuple((rule, Severity(severity)) for rule, severity in sorted(rules.items()))


def _errors(content: dict[str, Any], rules: Collection[str]) -> Iterator[tuple[FieldPath, str]]:
    """Yield the errors of the shape, or if there is none those of names of rules and gates."""
    shape = schema.check(SCHEMA, content)
    yield from ((error.path, _requirement(error)) for error in shape)
    if shape:
        return
    for path, name in _rules_named(content):
        if name not in rules:
            close = difflib.get_close_matches(name, list(rules), n=1)
            yield path, f"there is no rule {name!r}{f'; did you mean {close[0]!r}?' if close else '; `muster explain` lists them'}"
    try:
        minor = kubernetes_releases.names()[content.get("kubernetes", kubernetes_releases.name(kubernetes_releases.TODAY))]
        Gates.from_switches(content.get("gates", {}).items(), minor)
    except GateError as error:
        yield FieldPath("gates"), str(error)


def _requirement(error: FieldError) -> str:
    if error.origin != "schema-unknown-field":
        return str(error)
    known = list(schema.document(SCHEMA)["properties"])
    close = difflib.get_close_matches(str(error.path.parts[-1]), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; must be one of {', '.join(known)}"
    return f"there is no such option{hint}"


def _rules_named(content: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str]]:
    for key in ("select", "ignore"):
        yield from ((FieldPath(key) / number, name) for number, name in enumerate(content.get(key, ())))
    yield from ((FieldPath("rules") / Key(name), name) for name in content.get("rules", ()))
    for number, override in enumerate(content.get("overrides", ())):
        yield from ((FieldPath("overrides") / number / "rules" / Key(name), name) for name in override["rules"])


def severities(
    rules: Collection[str], configured: Mapping[str, Severity], *, select: Collection[str], ignore: Collection[str]
) -> dict[str, Severity]:
    """Return the severities of rules: off if a rule is in *ignore* or not among those of *select*, else as *configured*."""
    off = {rule for rule in rules if rule in ignore or (select and rule not in select)} - _ALWAYS
    return dict(configured) | dict.fromkeys(sorted(off), Severity.OFF)
