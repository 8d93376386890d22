"""Optional dependencies: the extras of the distribution, and the libraries that each installs."""

from __future__ import annotations

import importlib.util

import click

from muster import library_messages

DISTRIBUTION = "muster-scheduling"
ARGUMENTS = "muster.arguments"
"""Key of the arguments of the command line in ``click.Context.meta``."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "simulate": ("cel_expr_python", "jinja2", "numpy", "re2"),
    "editor": ("lsprotocol", "pygls"),
    "cluster": ("urllib3", "websocket"),
    "webhooks": ("cryptography", "flask", "gunicorn", "httptools", "prometheus_client", "uvicorn", "uvicorn_worker", "uvloop", "werkzeug"),
    "sidecar": ("a2wsgi", "cel_expr_python", "flask", "numpy", "prometheus_client", "re2", "uvicorn"),
}
"""Modules by extra.  ``webhooks`` and ``sidecar`` include ``cluster``; ``all`` includes all of them."""
_INCLUDED = {"webhooks": ("cluster",), "sidecar": ("cluster",), "all": tuple(LIBRARIES)}


def libraries(extra: str) -> frozenset[str]:
    """Return the modules that *extra* installs, those of included extras too."""
    included = (name for each in _INCLUDED.get(extra, ()) for name in libraries(each))
    return frozenset((*LIBRARIES.get(extra, ()), *included))


def require(*extras: str) -> None:
    """Demand the libraries of all *extras* for the command that is running; those that write log records print none.

    Raises:
        click.ClickException: at least one is not installed; the message has the command that installs it.

    """
    absent = {extra: {each for each in libraries(extra) if importlib.util.find_spec(each) is None} for extra in extras}
    if missing := sorted(set().union(*absent.values())):
        command = click.get_current_context().command_path.removeprefix("kubectl ").removeprefix("muster ")
        listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        wanted = ",".join(extra for extra in extras if absent[extra])
        verb = "is" if len(missing) == 1 else "are"
        installs = f"pip install '{DISTRIBUTION}[{wanted}]' (in a checkout: pip install '.[{wanted}]')"
        raise click.ClickException(f"{command} needs {listed}, which {verb} not installed: {installs}")
    if any("urllib3" in libraries(extra) for extra in extras):
        library_messages.hide_records()
