"""Jobs that Kueue has to admit: their parts, each with a number of equal pods and what these request."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

NEWEST = "~"
"""Time of creation of a job that does not exist yet: after all others."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet:
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


@dataclasses.dataclass(frozen=True, slots=True)
class PendingJob:
    """Job to admit, with its priority in the queue and the time of its creation."""

    pod_sets: Sequence[PodSet]
    priority: int = 0
    created: str = NEWEST
