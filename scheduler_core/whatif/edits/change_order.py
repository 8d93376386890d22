"""Order of changes whose weights are equal, by their values."""

from __future__ import annotations

from typing import Any

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from scheduler_core.causes import changes
from scheduler_core.causes.changes import Change
from scheduler_core.causes.node_count import NodeLabel
from scheduler_core.model.names import Domain, Name

_ORDER: tuple[type[Change], ...] = (
    changes.AwaitedDeletions,
    changes.AddedDevices,
    changes.AddedVolumes,
    changes.AddedNodes,
    changes.AddedNodesByDomain,
    changes.CreatedClassesLike,
    changes.CreatedClasses,
    changes.DroppedAllowedTopologies,
    changes.RaisedAttachLimits,
    changes.ChangedDeviceClass,
    changes.DroppedDeviceConstraint,
    changes.ToleratedDeviceTaint,
    changes.LoweredMinimums,
    changes.DroppedSelectors,
    changes.UncordonedNodes,
    changes.DroppedPodRules,
    changes.MovedPods,
    changes.EvictedUnits,
    changes.DeletedBudgets,
    changes.RemovedGates,
    changes.RemovedSelectedNodes,
    changes.DroppedDeviceSelectors,
    changes.RaisedCapacities,
    changes.ToleratedTaint,
    changes.DroppedTopology,
    changes.WidenedTopology,
    changes.EnabledPlugin,
    changes.Successive,
)
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


def order_key(change: Change) -> tuple[Any, ...]:
    """Return a sort key: the kind of change, then its fields in their order."""
    return _RANK[type(change)], _sortable(change)


def _sortable(value: Any) -> Any:  # noqa: PLR0911 - one case for each type
    """Return *value* as nested tuples of texts and numbers that can be compared with those of other values of the same field."""
    match value:
        case None:
            return ()
        case changes.Successive():
            return order_key(value.first), order_key(value.second)
        case changes.LoweredMinimum():
            # Minimums of pods come before those of groups.
            return value.group.kind != "PodGroup", _sortable(value.group), value.before, value.minimum
        case Name():
            return value.kind, value.namespace, value.name
        case Domain():
            return _without_prefix(value.key), value.value
        case NodeLabel():
            return _without_prefix(value.key), *value.values
        case Taint():
            return value.key, value.value, value.effect
        case tuple():
            return tuple(map(_sortable, value))
    return tuple(_sortable(getattr(value, name)) for name in value.__struct_fields__) if isinstance(value, Record) else value


def _without_prefix(key: str) -> str:
    return key.rpartition("/")[2]
