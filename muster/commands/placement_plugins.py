"""Placement plugins that other packages register by entry points, loaded by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from importlib import metadata

from muster.commands.options import near
from scheduler_core.placement.extension_points import Plugins

GROUPS = {
    "generators": "muster.placement_generators",
    "scorers": "muster.placement_scorers",
    "checks": "muster.feasibility_checks",
}
"""Where each kind is registered: an entry point names a class, or a function, that is called without arguments and gives the plugin."""

NAMES_NONE = "names no placement plugin: give the name of one that is installed, or leave the option out"
"""What is wrong with an option that is given, and has nothing but commas and spaces."""


class PluginError(ValueError):
    """A plugin that is not there, or that cannot be loaded."""


def load(names: Iterable[str]) -> Plugins:
    """The plugins of these names, in the order given.

    Raises:
        PluginError: there is none of that name, or it cannot be loaded.

    """
    plugins = Plugins()
    for name in names:
        matches = [(kind, point) for kind, group in GROUPS.items() for point in metadata.entry_points(group=group, name=name)]
        if not matches:
            known = {point.name for group in GROUPS.values() for point in metadata.entry_points(group=group)}
            raise PluginError(f"there is no placement plugin {name!r} installed{near(name, known)}")
        for kind, point in matches:
            plugins = dataclasses.replace(plugins, **{kind: (*getattr(plugins, kind), _made(name, point))})
    return plugins


def _made(name: str, point: metadata.EntryPoint) -> object:
    try:
        return point.load()()
    except Exception as error:
        raise PluginError(f"placement plugin {name!r} ({point.value}) cannot be loaded: {error}") from error
