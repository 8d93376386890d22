"""Snapshot of a cluster in which some feature gates are off.

The API server drops the fields of a disabled gate when objects are written (KEP-4671, KEP-5732 and KEP-6012, Feature
Enablement), and does not serve CompositePodGroups without their gate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.defaults.drop import drop_disabled_fields
from validators.gates import COMPOSITE, GENERIC_WORKLOAD, Gates
from validators.lookup import KnownObjects
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.objects import Object, namespace_of

_OTHERS = ("PriorityClass", "Node")


def apply_feature_gates(snapshot: ClusterSnapshot, gates: Gates) -> ClusterSnapshot:
    """Return *snapshot* as in a cluster with *gates*; dropped fields and objects are listed in its problems."""
    if not gates.off:
        return snapshot
    problems = list(snapshot.problems)
    groups = tuple(_groups(snapshot.groups, gates, problems))
    pods = snapshot.pods
    if not gates.enabled(GENERIC_WORKLOAD):
        problems += [_dropped(f"Pod {pod.key}", "spec.schedulingGroup", GENERIC_WORKLOAD) for pod in pods if pod.group]
        pods = tuple(dataclasses.replace(pod, group="") if pod.group else pod for pod in pods)
    workloads = [drop_disabled_fields(each, None, gates)[0] for each in snapshot.known.list_kind("Workload") or ()]
    others = [each for kind in _OTHERS for each in snapshot.known.list_kind(kind) or ()]
    known = KnownObjects((*groups, *workloads, *others), complete=False)
    ordered = tuple(sorted(set(problems), key=lambda each: (each.object, each.message)))
    return dataclasses.replace(snapshot, groups=groups, pods=pods, known=known, problems=ordered)


def _groups(groups: Iterable[Group], gates: Gates, problems: list[Problem]) -> Iterator[Group]:
    for group in groups:
        name = f"{group.kind} {namespace_of(group)}/{group.metadata.name}"
        required = COMPOSITE if isinstance(group, CompositePodGroup) else GENERIC_WORKLOAD
        if not gates.enabled(required):
            problems.append(
                Problem(name, f"the feature gate {required} is off: the API server does not serve this kind; the group is left out")
            )
            continue
        kept, dropped = drop_disabled_fields(group, None, gates)
        problems += [_dropped(name, str(path), gate) for path, gate in dropped]
        yield _require_group(kept)


def _require_group(kept: Object) -> Group:
    if not isinstance(kept, (PodGroup, CompositePodGroup)):
        raise TypeError(f"{kept.kind} is not a group kind")
    return kept


def _dropped(name: str, path: str, gate: str) -> Problem:
    return Problem(name, f"{path} is dropped: the feature gate {gate} is off")
