"""Library that turns a controller's object into the Workload that describes it to the scheduler (KEP-6089).

A controller describes its object as a tree of ``WorkloadItem``: for each part its defaults, the user's scheduling blocks, and
callbacks that set what only the controller knows.  ``Builder`` resolves the tree, reports all errors with their paths in the
user's own object, and builds the Workload, the PodGroups and the CompositePodGroups.  ``changes`` returns the updates for a
changed object.

It uses no files, clock or network, and knows no controller; ``adapters`` does.

blocks                decoding of the building blocks in a user's object
blueprint             creation of groups from the templates of a Workload, at any depth
builder               builder of Workload, PodGroups and CompositePodGroups from a controller's tree of items
check                 validation of the blocks of a resolved tree; all errors at once, with paths in the user's object
check_tree            validation across the items of a tree: unique names, width, one priority, and unique names of groups
errors                exceptions, each with all field errors at once
existing_workload     reading of an existing Workload, created by this library or another program, to create its groups or to compare with it
groups                all groups of a tree: ``replicas`` groups of each item below each group of its parent, parents first
workload_item         description of a controller's object
names                 names of Workloads and groups: those of the controllers of Kubernetes if the owner has a uid
resolve               resolution of each item's configuration
shapes                decoding of the user's building blocks, with all errors in their shape
template_annotations  annotations on a child object that name the template of its group and the group's parent
templates             templates of a Workload, in plain JSON, from a resolved tree
type_checks           type checks of the items and configurations that a controller's code creates
unchanged             immutable fields of an existing Workload: everything but the minimum of a gang
update                changes from an existing Workload to another one: objects to patch, recreate, create and delete
workload_owner        name, owner and options of a Workload: their validation and their JSON
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workloadbuilder.blocks import IntentReading, map_composite_group_config, map_pod_group_config, read_intent
    from workloadbuilder.builder import Builder, BuildOptions
    from workloadbuilder.errors import BlockError, BuildError
    from workloadbuilder.resolve import Resolved, Source
    from workloadbuilder.update import Action, Change, changes
    from workloadbuilder.workload_item import (
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
    return getattr(importlib.import_module(f"workloadbuilder.{_MODULE_OF.get(name, 'workload_item')}"), name)
