"""LeaderWorkerSet's ``subGroupPolicy``: the division of a replica's pods into subgroups, and the resulting groups.

Subgroups become groups only if each has its own domain; otherwise they are only labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from kubeapi.field_path import FieldPath
from validators import field
from workloadbuilder.adapters.leaderworkerset.lws_pods import GroupShape, Subgroups
from workloadbuilder.adapters.shared.adapter_result import PodPlan
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.workload_item import WHOLE

SUBGROUP = "subgroup"
_TYPES = ("LeaderWorker", "LeaderExcluded")


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """Template with *replicas* groups of *size* pods in each replica; each group is by default in one domain of *topology*."""

    template: str
    path: FieldPath
    size: int
    replicas: int
    pods: tuple[PodPlan, ...]
    topology: str = ""
    origin: FieldPath = WHOLE


def read_subgroups(policy: Fields, size: int, exclusive: str) -> Subgroups | None:
    """Return the subgroups of a replica of *size* pods; None if there are none, or if *policy* is invalid."""
    if not policy.given:
        return None
    kind, each = policy.text("subGroupPolicyType", _TYPES[0]), policy.number("subGroupSize", 0, minimum=1)
    path = policy.path / "subGroupSize"
    if kind not in _TYPES:
        policy.errors.append(field.not_supported(policy.path / "subGroupPolicyType", kind, _TYPES))
    elif not each:
        if "subGroupSize" not in policy:
            policy.errors.append(field.required(path, "a subgroup policy must set the number of pods of a subgroup"))
    elif each > size:
        policy.errors.append(field.invalid(path, each, f"must not be greater than the size of a replica ({size})"))
    elif (size - 1) % each == 0:
        leader = 0 if kind == _TYPES[0] else None
        return Subgroups(each, _without_leader(each, leader=leader), 0 if leader is None else each, exclusive)
    elif kind == _TYPES[0] and size % each == 0:
        return Subgroups(each, lambda worker: worker // each, each - 1, exclusive)
    else:
        dividend = (
            f"{size - 1}, the number of workers" if kind == _TYPES[1] else f"{size}, the size of a replica, or {size - 1}, its workers"
        )
        policy.errors.append(field.invalid(path, each, f"must divide {dividend}"))
    return None


def parts(shape: GroupShape, subgroups: Subgroups, leader: str, origin: FieldPath) -> tuple[Part, ...]:
    """Return the groups of each replica: the leader's, whose template is named *leader*, and the other subgroups."""
    has_leader = subgroups.of(0) is not None
    leader_size = 1 + subgroups.with_leader
    count = (shape.size - leader_size) // subgroups.size
    topology = subgroups.exclusive
    lead = Part(
        leader,
        shape.leader.path,
        leader_size,
        1,
        (shape.leaders(leader), *([shape.workers(leader, count=subgroups.with_leader)] if subgroups.with_leader else [])),
        topology if has_leader else "",
        origin,
    )
    if not count:
        return (lead,)
    plan = shape.workers(SUBGROUP, count=subgroups.size, first=lambda positions: leader_size + positions[-1] * subgroups.size)
    return lead, Part(SUBGROUP, shape.worker.path, subgroups.size, count, (plan,), topology, origin)


def _without_leader(size: int, *, leader: int | None) -> Callable[[int], int | None]:
    """Return the subgroup function for subgroups counted from the first worker; the leader is in *leader*, or in none."""

    def subgroup_of(worker: int) -> int | None:
        return leader if worker == 0 else (worker - 1) // size

    return subgroup_of
