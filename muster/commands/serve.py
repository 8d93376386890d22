"""``muster serve``: options, which override the environment, the source of objects, and the server."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from muster import extras, standard_output
from muster.commands import options
from validators.object_lookup import NOTHING
from validators.options import OptionError
from webhooks.settings import OPTIONS, Settings, label

if TYPE_CHECKING:
    from webhooks.lookup.source import Source

EXAMPLE = """\b
Example:
  muster certs issue --out certs --name muster-webhook.muster-system.svc
  muster serve --bind 0.0.0.0:9443 --tls-cert certs/tls.crt --tls-key certs/tls.key --probe-bind 0.0.0.0:8080

The first line on standard output is {"event": "listening", "address": ...}; everything else is logged to standard
error, one JSON object per line.  SIGTERM stops gracefully, with exit code 0.
"""


def environment_help() -> str:
    """Return every variable with its option, default and purpose, as text for ``--help``."""
    wide = min(standard_output.columns() - 2, 78)
    lines = ["\b", "Environment (an option overrides its variable):"]
    for each in OPTIONS.values():
        names = f"{each.variable}{f' ({each.flag})' if each.flag else ''}, default {each.default or 'none'}"
        lines.extend(textwrap.wrap(names, wide, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False))
        lines.extend(textwrap.wrap(each.purpose or each.help, wide, initial_indent="      ", subsequent_indent="      "))
    return "\n".join(lines)


_LAST = ("profile", "kubernetes", "gates", "rules", "enforcement", "finalizers")
"""Options that ``--help`` lists last: those of validation."""


_COMPLETE = {"rules": options.complete_severity, "enforcement": options.complete_enforcement}
"""Completion of the options that have one, by field."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of the settings; one that is not given is read from the environment."""
    for each in sorted((each for each in reversed([*OPTIONS.values()]) if each.flag), key=lambda each: each.field not in _LAST):
        command = options.click_option(each, complete=_COMPLETE.get(each.field))(command)
    return command


@click.command(
    "serve",
    help=f"Run the webhook server: POST /validate, /mutate and /join over TLS.\n\n{EXAMPLE}",
    epilog=environment_help(),
    context_settings={"max_content_width": 120},
)
@with_options
def command(**values: Any) -> None:
    """Run the server until it is stopped."""
    extras.require("webhooks")
    from webhooks.server.process import StartError, serve

    try:
        _demand_client_name(values["client_name"])
        settings = Settings.from_environ(os.environ, given_values(values))
        demand_known_rules([name for name, _ in settings.rules], label("rules"))
        demand_known_rules([name for name, _ in settings.enforcement.rules], label("enforcement"))
        serve(settings, source_of(settings))
    except (OptionError, StartError) as error:
        raise click.UsageError(str(error)) from None


def _demand_client_name(names: tuple[str, ...]) -> None:
    """Refuse an empty ``--client-name``, which would accept every certificate of the CA.  Raises OptionError."""
    if not names and click.get_current_context().get_parameter_source("client_name") is click.core.ParameterSource.COMMANDLINE:
        raise OptionError(f"{label('client_name')} must have a name")


def given_values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options that are given, by field; a source of objects also overrides the variable of the other source."""
    given = {field: value for field, value in parameters.items() if value is not None and value != ()}
    if "objects" in given:
        given.setdefault("cluster", False)
    elif given.get("cluster"):
        given["objects"] = ()
    return given


def source_of(settings: Settings) -> Source:
    """Return the source of objects that rules look up.

    Raises:
        click.UsageError: the objects cannot be read.
        StartError: there is no cluster configuration.
    """
    from webhooks.lookup.source import Fixed

    if settings.cluster:
        from webhooks.lookup.watched import connect

        return connect(settings)
    if not settings.objects:
        return Fixed(NOTHING)
    from muster.commands import known_objects

    return Fixed(known_objects.objects(settings.objects))


def demand_known_rules(ids: Iterable[str], option: str) -> None:
    """Refuse *ids* that no rule has.

    Raises:
        OptionError: the message has the first of them, and names *option*.
    """
    from validators import rules

    names = rules.discover()
    for name in ids:
        if name not in names:
            raise OptionError(f"{option}: there is no rule {name!r}{options.near(name, names)}")
