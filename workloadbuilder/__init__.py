"""Library that turns a controller's object into the Workload that describes it to the scheduler (KEP-6089).

A controller describes its object as a tree of ``WorkloadItem``: for each part its defaults, the user's scheduling blocks, and
callbacks that set what only the controller knows.  ``Builder`` resolves the tree, reports all errors with their paths in the
user's own object, and builds the Workload, the PodGroups and the CompositePodGroups.  ``changes`` returns the updates for a
changed object.

It uses no files, clock or network, and knows no controller; ``adapters`` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workloadbuilder.blocks import IntentReading, map_composite_group_config, map_pod_group_config, read_intent
    from workloadbuilder.builder import Builder, BuildOptions
    from workloadbuilder.errors import BlockError, BuildError
    from workloadbuilder.item import (
        Block,
        DisruptionMode,
        Owner,
        PolicyKind,
        ResourceClaim,
        SchedulingConfig,
        SchedulingPolicy,
        UserIntent,
        WorkloadItem,
    )
    from workloadbuilder.resolve import Resolved, Source
    from workloadbuilder.update import Action, Change, changes

__all__ = [
    "Action",
    "Block",
    "BlockError",
    "BuildError",
    "BuildOptions",
    "Builder",
    "Change",
    "DisruptionMode",
    "IntentReading",
    "Owner",
    "PolicyKind",
    "Resolved",
    "ResourceClaim",
    "SchedulingConfig",
    "SchedulingPolicy",
    "Source",
    "UserIntent",
    "WorkloadItem",
    "changes",
    "map_composite_group_config",
    "map_pod_group_config",
    "read_intent",
]

_MODULES = {
    "blocks": ("IntentReading", "map_composite_group_config", "map_pod_group_config", "read_intent"),
    "builder": ("BuildOptions", "Builder"),
    "errors": ("BlockError", "BuildError"),
    "resolve": ("Resolved", "Source"),
    "update": ("Action", "Change", "changes"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Imported on first use: a program that needs only the items does not wait for the rest.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"workloadbuilder.{_MODULE_OF.get(name, 'item')}"), name)
