"""Causes that a change of the cluster removes: the one that decides is stated first, and its constraint is the one that conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_core.causes import changes
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.device_refusals import DeviceRefusal
from scheduler_core.causes.domains import AttemptFailed, NodeCause, PodRule, Relaxable
from scheduler_core.causes.groups import PodsDoNotFit, PodsLeftOver, failing_groups
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, UntoleratedTaint
from scheduler_core.causes.other_pods import OtherPodsCause
from scheduler_core.causes.resources import (
    FragmentedResource,
    FragmentedResources,
    InsufficientOnNodes,
    InsufficientResource,
    NoneFree,
    RequestTooLarge,
)
from scheduler_core.causes.volume_causes import (
    InsufficientStorage,
    NoFreeVolume,
    OtherNodeSelected,
    OutsideAllowedTopologies,
    StorageShortage,
    UnboundClaim,
    VolumeReserved,
)
from scheduler_core.model.resource_values import AttachableVolumes, Resource, VolumesOfClass

RemovableCause = NodeCause | AttemptFailed | Relaxable
"""Cause in a domain, or a filter that is dropped there."""

REMOVED: dict[type, Any] = {
    changes.DroppedSelectors: NodeAffinityMismatch,
    changes.UncordonedNodes: Cordoned,
    changes.DroppedPodRules: OtherPodsCause | PodRule,
    changes.ToleratedDeviceTaint: DeviceRefusal,
    changes.DroppedDeviceSelectors: DeviceRefusal,
    changes.ChangedDeviceClass: DeviceRefusal,
    changes.DroppedDeviceConstraint: DeviceRefusal,
    changes.AddedDevices: DeviceRefusal,
    changes.AddedVolumes: NoFreeVolume | VolumeReserved,
    changes.RaisedCapacities: InsufficientStorage | StorageShortage,
    changes.DroppedAllowedTopologies: OutsideAllowedTopologies,
    changes.RemovedSelectedNodes: OtherNodeSelected,
    changes.CreatedClasses: UnboundClaim,
    changes.CreatedClassesLike: UnboundClaim,
}
"""Causes that a change removes, by their classes."""
PROVIDED: dict[type, type] = {changes.AddedVolumes: VolumesOfClass, changes.RaisedAttachLimits: AttachableVolumes}
"""Resources of which a change provides more."""


def removes(change: changes.Change | None, cause: RemovableCause) -> bool:
    """Return whether *change* removes *cause*; a change of capacity removes none alone."""
    match change:
        case changes.ToleratedTaint():
            return isinstance(cause, UntoleratedTaint) and cause.taint == change.taint
        case changes.Successive():
            return removes(change.first, cause) or removes(change.second, cause)
    if isinstance(cause, REMOVED.get(type(change), ())):
        return True
    provided = PROVIDED.get(type(change))
    return provided is not None and any(isinstance(each, provided) for each in _resources(cause))


def _resources(cause: RemovableCause) -> tuple[Resource, ...]:
    """Return the resources that a cause is about; none for other causes."""
    match cause:
        case InsufficientResource() | NoneFree() | RequestTooLarge() | FragmentedResource():
            return (cause.resource,)
        case FragmentedResources() | InsufficientOnNodes():
            return tuple(each.resource for each in cause.amounts)
    return ()


def stated_filters(causes: Sequence[Cause]) -> Iterator[RemovableCause]:
    """Yield what keeps pods of the groups that fail out of the domains that *causes* describe."""
    for cause, _ in failing_groups(causes):
        domains = cause.domains if isinstance(cause, PodsDoNotFit) else (cause.domain,) if isinstance(cause, PodsLeftOver) else ()
        for domain in domains:
            yield from (*domain.decisive, *domain.causes)
            if domain.relaxation is not None:
                yield domain.relaxation.dropped
