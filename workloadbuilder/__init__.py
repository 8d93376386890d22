"""From a controller's object to the Workload that describes it to the scheduler (KEP-6089).

A controller says what its object is made of, in a tree of ``WorkloadItem``: for each part its defaults, what the user wrote
in its scheduling blocks, and callbacks that fill in what only the controller knows.  ``Builder`` resolves the tree, says all
that is wrong with it at the places in the user's own object, and makes the Workload, the PodGroups and the
CompositePodGroups; ``changes`` says what to do when the object changed.

It reads no file, no clock and no network, and knows no controller: ``adapters`` does.
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

_ROOMS = {
    "blocks": ("IntentReading", "map_composite_group_config", "map_pod_group_config", "read_intent"),
    "builder": ("BuildOptions", "Builder"),
    "errors": ("BlockError", "BuildError"),
    "resolve": ("Resolved", "Source"),
    "update": ("Action", "Change", "changes"),
}
_ELSEWHERE = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    # Found when asked for: whoever wants the items alone need not wait for the rest.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"workloadbuilder.{_ELSEWHERE.get(name, 'item')}"), name)
