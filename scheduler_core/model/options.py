"""Options of a cycle."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection

from kubeapi.pods import PLACEMENT_GATE

_INDEX = re.compile(r"\[\d+\]")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}", re.ASCII)
_LONGEST_DOMAIN = 63

GREEDY, COMPLETE = "greedy", "complete"
STRATEGIES = (GREEDY, COMPLETE)
"""Strategies of placement: as kube-scheduler; with a search where greedy leaves pods without a node."""
OWN_GATE = f"spec.schedulingGates[{PLACEMENT_GATE}]"
"""Field that is ignored where pods are placed as by Muster, whose sidecar removes this gate in mode ungate."""
ON, OFF = "on", "off"
SWITCH = (ON, OFF)
"""Values of ``--rank-order``."""
REMEDIES_BY_DEFAULT = 3
"""Roots that get remedies with the strategy ``complete``; with ``greedy`` none do unless the caller requests it."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlacingOptions:
    """Extensions of the KEPs over kube-scheduler 1.37.1; with the default values, ``greedy`` decides as kube-scheduler does.

    Attributes:
        four_statuses: distinguish groups that preemption cannot help (KEP-6012, PlacementFeasible), and skip inadmissible groups
            before any of their pods is tried.
        nominated_first: prefer the domain of nominated members if it is feasible (KEP-5732, Respecting NominatedNodeName).
        percentage_of_placements: stop once this percentage of the placements is feasible (KEP-5732, Limit on the Number of
            Checked Placements); 0 for the adaptive limit, 100 for all.  Where kube-scheduler has such a limit itself, all placements are
            compared, and the percentage only decides when that is noted.  None for no limit, or else for that of the scheduler's profile.
        every_pod: reject a placement if any pod of the group has no node (KEP-5732, Heterogeneous PodGroup Handling).
        sparing: give a claim the volume that fewest other claims can use, not the smallest; hold the volumes of a child of a tree
            while the next children are placed.
        preempt_for_leftovers: preempt for pods of a running gang that could not be placed although others were (KEP-6012,
            Preemption triggering rules).
        preempt: preempt for a root that does not fit.
        leaves_waiting: leave out pods whose devices have binding conditions that are not met; the sidecar binds them later.
        overlooks: reprieve units of which kube-scheduler does not see that they conflict with the group.
        rank_order: after a root is placed, let equal pods of a group exchange nodes so that consecutive ranks are neighbours.

    """

    four_statuses: bool = False
    sparing: bool = False
    nominated_first: bool = False
    percentage_of_placements: int | None = None
    every_pod: bool = False
    preempt_for_leftovers: bool = False
    preempt: bool = True
    leaves_waiting: bool = True
    overlooks: bool = True
    rank_order: bool = False


def is_device_attribute(name: str) -> bool:
    """Return whether *name* is an attribute of devices with its domain: ``gpu.example.com/clique``."""
    domain, slash, own = name.partition("/")
    is_domain = len(domain) <= _LONGEST_DOMAIN and _DOMAIN.fullmatch(domain) is not None
    return bool(slash) and is_domain and _IDENTIFIER.fullmatch(own) is not None


def without_indices(field: str) -> str:
    """Return a field path without the indices of lists."""
    return _INDEX.sub("", field)


def is_ignored(field: str, ignore: Collection[str]) -> bool:
    """Return whether *field* is among the field paths *ignore*, which can have indices."""
    return field in ignore or without_indices(field) in ignore
