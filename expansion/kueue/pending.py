"""Jobs that Kueue has to admit: their parts, each with a number of equal pods and what these request; and Workloads that wait for it too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.base_structs import Record

NEWEST = "~"
"""Time of creation of a job that does not exist yet: after all others."""


class PodSet(Record, frozen=True):
    """Equal pods of a job.

    Attributes:
        name: its name.
        count: number of pods.
        requests: what each of them requests: millicores of cpu, units of all else.
        spec: their specification.
        minimum: number with which the job can be admitted too; None: only with all.
        levels: node labels of the topology levels that it requests; None if it requests no topology at all.
        together: name of the group of the parts that must have one flavor; empty if it is in none.

    """

    name: str
    count: int
    requests: Mapping[str, int]
    spec: Mapping[str, Any]
    minimum: int | None = None
    levels: tuple[str, ...] | None = None
    together: str = ""


class PendingJob(Record, frozen=True):
    """Job to admit, with its priority in the queue and the time of its creation."""

    pod_sets: Sequence[PodSet]
    priority: int = 0
    created: str = NEWEST


class Waiting(Record, frozen=True):
    """Workload without quota.

    Attributes:
        name: its namespace and name.
        priority: its priority.
        created: time of its creation.
        owners: kind and name of its jobs.

    """

    name: tuple[str, str]
    priority: int
    created: str
    owners: frozenset[tuple[str, str]]


def ahead(waiting: Sequence[Waiting], owner: tuple[str, str, str], priority: int) -> list[tuple[str, str]]:
    """Return the names of those *waiting* that come before a job of the object *owner* (kind, namespace, name) with *priority*.

    They have a higher priority, or the same and were created before its own Workload.  Without one it is the newest.  Source:
    ``baseCompareFunc`` in ``pkg/cache/queue``.
    """
    kind, namespace, name = owner
    own = [each for each in waiting if each.name[0] == namespace and (kind, name) in each.owners]
    created = min((each.created for each in own), default=NEWEST)
    before = [each for each in waiting if each not in own and (-each.priority, each.created) < (-priority, created)]
    return [each.name for each in sorted(before, key=lambda each: (-each.priority, each.created, each.name))]
