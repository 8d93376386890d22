"""``muster serve``: options, which override the environment, the source of objects, and the server."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from muster import extras
from muster.commands import options
from validators.lookup import NOTHING
from webhooks import settings as knobs

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
    """Return every knob with its option, default and reason, as text for ``--help``."""
    lines = ["\b", "Environment (an option overrides its variable):"]
    for name, option, default, reason in knobs.table():
        lines.append(f"  {name}{f' ({option})' if option else ''}, default {default or 'none'}")
        lines.extend(textwrap.wrap(reason, 72, initial_indent="      ", subsequent_indent="      "))
    return "\n".join(lines)


_LAST = ("profile", "kubernetes", "gates", "rules", "enforcement", "finalizers")
"""Options that ``--help`` lists last: those of validation."""


_COMPLETE = {"--rule": options.complete_severity, "--enforcement": options.complete_enforcement}
"""Completion of the options that have one."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* an option for each knob that has one; one that is not given is read from the environment."""
    for knob in sorted((each for each in reversed(knobs.KNOBS) if each.option), key=lambda each: each.field not in _LAST):
        kind = knob.kind
        option = click.option(
            knob.option,
            knob.field,
            metavar=kind.metavar,
            multiple=kind.repeatable,
            is_flag=kind.is_flag,
            default=None,
            shell_complete=_COMPLETE.get(knob.option),
            help=knob.help,
        )
        command = option(command)
    return command


@click.command(
    "serve",
    help=f"Run the webhook server: POST /validate and /mutate over TLS.\n\n{EXAMPLE}",
    epilog=environment_help(),
    context_settings={"max_content_width": 120},
)
@with_options
def command(**values: Any) -> None:
    """Run the server until it is stopped."""
    extras.require("webhooks")
    from webhooks.server.process import StartError, serve

    try:
        settings = knobs.Settings.from_environ({**os.environ, **as_environment(values)})
        demand_known_rules([name for name, _ in settings.rules], knobs.label("rules"))
        demand_known_rules([name for name, _ in settings.enforcement.rules], knobs.label("enforcement"))
        serve(settings, source_of(settings))
    except (knobs.SettingError, StartError) as error:
        raise click.UsageError(str(error)) from None


def as_environment(values: dict[str, Any]) -> dict[str, str]:
    """Return the given options as environment variables."""
    texts = {}
    for name, value in values.items():
        if value is None or value == ():
            continue
        text = "\n".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else value
        texts[f"MUSTER_{name.upper()}"] = text
    if "MUSTER_OBJECTS" in texts:
        texts.setdefault("MUSTER_CLUSTER", "false")
    elif texts.get("MUSTER_CLUSTER") == "true":
        texts["MUSTER_OBJECTS"] = ""
    return texts


def source_of(settings: knobs.Settings) -> Source:
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
        SettingError: the message has the first of them, and names *option*.
    """
    from validators import rules

    names = rules.discover()
    for name in ids:
        if name not in names:
            raise knobs.SettingError(f"{option}: there is no rule {name!r}{options.near(name, names)}")
