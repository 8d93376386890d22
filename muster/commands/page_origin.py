"""Origin of a page: the command line, the version of Muster, the time, and the source of the cluster."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from muster import __version__
from muster.extras import ARGUMENTS

if TYPE_CHECKING:
    from muster.html.page_content import Origin

EPOCH = "SOURCE_DATE_EPOCH"
"""Variable that replaces the current time and limits the time of files, so that equal input gives equal bytes (reproducible-builds.org)."""
_NAMED = 4
"""Limit of files that are named."""


def page_origin(sources: Iterable[str], live: str | None = None) -> Origin:
    """Return the origin of a page of the command that is running.

    Args:
        sources: paths of the objects and of the cluster, ``-`` for standard input.
        live: the context of the live cluster that was read; None if none was.

    """
    from muster.html.page_content import Origin

    context = click.get_current_context()
    now, latest = _times()
    named = [*dict.fromkeys(sources)]
    texts = [_source(each, latest) for each in named[:_NAMED]]
    texts += [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    if live is not None:
        texts.append(f"live cluster{f', context {live}' if live else ''}")
    return Origin(
        command=context.command_path,
        line=" ".join(["muster", *map(_argument, context.meta.get(ARGUMENTS, ()))]),
        version=__version__,
        written=_time_text(now),
        sources=tuple(texts),
    )


def _times() -> tuple[float, float | None]:
    """Return the time of the page, and the latest time of a file; seconds since 1970.

    Raises:
        click.UsageError: the variable is not a number of seconds.

    """
    given = os.environ.get(EPOCH)
    if not given:
        return dt.datetime.now(dt.UTC).timestamp(), None
    if not given.isdecimal() or len(given) > len("253402300799"):
        raise click.UsageError(f"environment variable {EPOCH}: {given!r} must be a number of seconds since 1970")
    return float(given), float(given)


def _time_text(seconds: float) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M} UTC"


def _source(path: str, latest: float | None) -> str:
    """Return a file with the time of its last change; of a directory, that of its newest file."""
    if path == "-":
        return "standard input"
    from validators.lint import files

    # A pipe has no time of its own.
    inside = [path] if os.path.isfile(path) else files.identities([path]) if os.path.isdir(path) else []  # noqa: PTH112, PTH113
    times = [os.stat(each).st_mtime for each in inside if os.path.isfile(each)]  # noqa: PTH113, PTH116 - names are kept as given
    if not times:
        return near(path)
    changed = max(times) if latest is None else min(max(times), latest)
    return f"{near(path)} of {_time_text(changed)}"


def near(path: str) -> str:
    """Return *path* relative to the working directory, or to the home directory, if it is below one of them."""
    if not os.path.isabs(path):  # noqa: PTH117 - names are kept as given
        return path
    below = os.path.relpath(path)
    home = os.path.relpath(path, os.path.expanduser("~"))  # noqa: PTH111 - as above
    return path if below.startswith(os.pardir) and home.startswith(os.pardir) else f"~/{home}" if below.startswith(os.pardir) else below


def _argument(argument: str) -> str:
    """Return an argument for a shell, with a path in it as ``near`` returns it."""
    option, sign, value = argument.partition("=")
    if not (sign and option.startswith("-")):
        option, sign, value = "", "", argument
    text = near(value)
    # A shell expands only a tilde that is not quoted.
    home = "~/" if text != value and text.startswith("~/") else ""
    return f"{option}{sign}{home}{shlex.quote(text.removeprefix(home)) if text else ''}"
