"""Wording of a verdict: the first sentence of a reason in one line, with the clauses that decide and those that fit in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from scheduler_core.causes import changes
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.device_refusals import DeviceRefusal
from scheduler_core.causes.domains import AttemptFailed, NodeCause, PodRule
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
from scheduler_core.wording.decision_words import sentences
from scheduler_core.wording.domain_words import SEPARATE_TAINTS, rest_clause, taints_clause
from scheduler_core.wording.sentences import Clause, ClauseDomains
from scheduler_core.wording.truncation import cut

_LONG = 240
"""Characters of the clauses to which further ones are added."""
_LONGEST = 600
"""Characters of a line whose clauses cannot be left out."""

_REMOVED: dict[type, Any] = {
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
_PROVIDED: dict[type, type] = {changes.AddedVolumes: VolumesOfClass, changes.RaisedAttachLimits: AttachableVolumes}
"""Resources of which a change provides more."""


def verdict_line(causes: Sequence[Cause], removed: changes.Change | None = None) -> str:
    """Return the first sentence of *causes*, with its main clauses; empty without causes.

    The clause that decides is that of the cause which the change *removed* removes; without one, that about the filter without which
    more pods would fit.
    """
    first = next(iter(sentences(causes)), None)
    if first is None:
        return ""
    clauses = _main_clauses(_taints_together(first.clauses, removed), removed)
    return cut(": ".join(filter(None, (first.lead, clauses))).rstrip("."), _LONGEST)


def _main_clauses(clauses: Sequence[Clause], removed: changes.Change | None) -> str:
    """Return the clauses that decide, and others that fit in; of these, those about the largest parts of the nodes, until all are stated.

    Clauses about domains are in their order, and those left out are counted at the end.
    """
    deciding = [each for each in clauses if any(_removes(removed, cause) for cause in each.causes)]
    deciding = deciding[:1] or [each for each in clauses if each.is_condition]
    others = [each for each in clauses if not (each.is_further or each.is_rest) and not any(each is other for other in deciding)]
    main: list[Clause] = []
    length, part = sum(len(each.text) for each in deciding), sum(each.part for each in deciding if not each.is_condition)
    for each in sorted(others, key=lambda each: (each.is_condition, -each.part)):
        first = not (main or deciding)
        if first or ((each.part == 1 or part < 1) and length + len(each.text) <= _LONG):
            main.append(each)
            length, part = length + len(each.text), part + each.part
    if any(each.domains is not None for each in clauses):
        return "; ".join(each.text for each in _by_domain(clauses, [*main, *deciding]))
    kept = [*main, *deciding] if all(each.is_condition for each in deciding) else [*deciding, *main]
    return "; ".join(each.text for each in kept)


def _by_domain(clauses: Sequence[Clause], kept: Sequence[Clause]) -> list[Clause]:
    """Return those of *clauses* that are *kept*, in their order, and one that counts the domains of the others."""
    left_out = [each.domains for each in clauses if each.domains is not None and each not in kept]
    shown = [each for each in clauses if each in kept]
    if not left_out:
        return shown
    # Domains that were not examined can hold any number.
    held = [each.most for each in left_out if each.most is not None]
    most = max(held) if len(held) == len(left_out) else None
    return [*shown, rest_clause(ClauseDomains(sum(each.number for each in left_out), left_out[0].key, most))]


def _removes(change: changes.Change | None, cause: NodeCause | AttemptFailed | PodRule) -> bool:
    """Return whether *change* removes *cause*; a change of capacity removes none alone."""
    match change:
        case changes.ToleratedTaint():
            return isinstance(cause, UntoleratedTaint) and cause.taint == change.taint
        case changes.Successive():
            return _removes(change.first, cause) or _removes(change.second, cause)
    if isinstance(cause, _REMOVED.get(type(change), ())):
        return True
    provided = _PROVIDED.get(type(change))
    return provided is not None and any(isinstance(each, provided) for each in _resources(cause))


def _resources(cause: NodeCause | AttemptFailed | PodRule) -> tuple[Resource, ...]:
    """Return the resources that a cause is about; none for other causes."""
    match cause:
        case InsufficientResource() | NoneFree() | RequestTooLarge() | FragmentedResource():
            return (cause.resource,)
        case FragmentedResources() | InsufficientOnNodes():
            return tuple(each.resource for each in cause.amounts)
    return ()


def _taints_together(clauses: Sequence[Clause], removed: changes.Change | None) -> list[Clause]:
    """Return *clauses*, with one in place of those about taints that the pods do not tolerate; that of the change is named first."""
    plain = (() if each.is_condition or each.domains else each.causes for each in clauses)
    about = [bool(causes) and all(isinstance(each, UntoleratedTaint) for each in causes) for causes in plain]
    taints = [cause for each in itertools.compress(clauses, about) for cause in each.causes if isinstance(cause, UntoleratedTaint)]
    if len(taints) < SEPARATE_TAINTS:
        return [*clauses]
    together = taints_clause(sorted(taints, key=lambda cause: not _removes(removed, cause)))
    before = about.index(True)
    return [*clauses[:before], together, *(each for each, apart in zip(clauses[before:], about[before:], strict=True) if not apart)]
