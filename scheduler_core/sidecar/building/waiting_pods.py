"""Groups of pods that came before their groups, or while no webhook could name them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.pods import POD_GROUP_LABEL, group_in
from scheduler_core.sidecar.building.owned_objects import is_deleted, name_of
from workloadbuilder.adapters.group_objects import members_in
from workloadbuilder.adapters.members import group_of

WAITING, UNKNOWN = "muster.dev/pod-group", "unknown"
"""Label of a pod whose group did not exist when it was created, and its value."""

Json = Mapping[str, Any]


def joins(pods: Iterable[Json], groups: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """Return the merge patch of each of *pods*, by name, for which exactly one of *groups* is found; all are of one namespace."""
    members = {name_of(each)[1]: labels for each in groups if (labels := members_in(each)) and not is_deleted(each)}
    patches = {}
    for pod in pods:
        if not group_in(pod) and (group := group_of(section(pod, "metadata", "labels"), members)):
            patches[name_of(pod)[1]] = {"metadata": {"labels": {POD_GROUP_LABEL: group, WAITING: None}}}
    return patches
