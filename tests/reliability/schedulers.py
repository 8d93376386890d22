"""Random clusters, decided by a real kube-scheduler and by ``simulate --strategy greedy``, as in ``tests.cluster.test_scheduler_agreement``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cluster.control_plane import ControlPlane
from tests.cluster.random_clusters import Drawing
from tests.cluster.random_devices import NAMESPACE_LABELS, CountedDrawing, DeviceDrawing
from tests.cluster.random_groups import GroupsDrawing
from tests.cluster.random_profiles import TEAM, AffinityDrawing, placing_profile, profile_name
from tests.cluster.scheduler_agreement import PartlyBoundError
from tests.cluster.scheduler_configs import configuration
from tests.cluster.test_scheduler_agreement import CONTROLLERS, TRIES, comparison
from tests.cluster.volumes import Provisioner
from tests.reliability.campaign import Campaign, Round

Json = dict[str, Any]
OF_EACH = 4
"""Clusters of each drawing in a round; the rounds continue after the seeds of the test."""
_FIRST = 10_000
_DRAWINGS: tuple[tuple[Callable[..., Drawing], dict[str, str] | None], ...] = (
    (Drawing, None),
    (DeviceDrawing, NAMESPACE_LABELS),
    (CountedDrawing, NAMESPACE_LABELS),
    (AffinityDrawing, TEAM),
    (GroupsDrawing, None),
)


def run(seed: int) -> Round:
    """Compare clusters of each drawing, and as many that are placed by random profiles."""
    seeds = range(_FIRST + seed * OF_EACH, _FIRST + (seed + 1) * OF_EACH)
    profiles = configuration({"schedulerName": "default-scheduler"}, *map(placing_profile, seeds))
    cases = [(each, drawing, labels, "default-scheduler") for drawing, labels in _DRAWINGS for each in seeds]
    cases += [(each, AffinityDrawing, TEAM, profile_name(each)) for each in seeds]
    failures, partly = [], 0
    with ControlPlane() as plane:
        plane.start_controllers(CONTROLLERS)
        plane.start_scheduler(profiles)
        with Provisioner(plane.api):
            for number, drawing, labels, scheduler in cases:
                try:
                    difference = _difference(plane, number, profiles, drawing=drawing, labels=labels, scheduler=scheduler)
                except PartlyBoundError:
                    partly += 1
                    continue
                if difference:
                    failures.append(f"{drawing.__name__} {number} {scheduler}: {difference}")
    return Round(len(cases) - partly, tuple(failures), {"gangs of which kube-scheduler binds a part": partly})


def _difference(plane: ControlPlane, seed: int, profiles: Json, **options: Any) -> str:
    """Return the difference that comes each time; kube-scheduler can decide before it has seen all objects."""
    difference = ""
    for _ in range(TRIES):
        difference = comparison(plane.api, seed, configuration=profiles, **options).difference
        if not difference:
            break
    return difference


CAMPAIGN = Campaign(
    "schedulers",
    "random clusters, placed by kube-scheduler and by `simulate`",
    "same pods on the same nodes, same victims, volumes and devices",
    2000,
    run,
)
