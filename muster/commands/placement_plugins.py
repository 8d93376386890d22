"""Placement plugins that other packages register by entry points, loaded by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata

from kubeapi.base_structs import replaced
from muster.commands.options import near
from scheduler_core.placement.extension_points import Plugins

GROUPS = {
    "generators": "muster.placement_generators",
    "scorers": "muster.placement_scorers",
    "checks": "muster.feasibility_checks",
}
"""Entry-point group of each kind: an entry point is a class or function that, called without arguments, returns the plugin."""


class PluginError(ValueError):
    """A plugin that is not installed or cannot be loaded."""


def load(names: Iterable[str]) -> Plugins:
    """Return the plugins of these names, in the given order.

    Raises:
        PluginError: a plugin is not installed or cannot be loaded.

    """
    plugins = Plugins()
    for name in names:
        matches = [(kind, point) for kind, group in GROUPS.items() for point in metadata.entry_points(group=group, name=name)]
        if not matches:
            known = {point.name for group in GROUPS.values() for point in metadata.entry_points(group=group)}
            raise PluginError(f"there is no placement plugin {name!r} installed{near(name, known)}")
        for kind, point in matches:
            plugins = replaced(plugins, **{kind: (*getattr(plugins, kind), _loaded(name, point))})
    return plugins


def _loaded(name: str, point: metadata.EntryPoint) -> object:
    try:
        return point.load()()
    except Exception as error:
        raise PluginError(f"placement plugin {name!r} ({point.value}) cannot be loaded: {error}") from error
