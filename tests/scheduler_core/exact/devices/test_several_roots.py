"""Single pods with devices, placed one after the other: each gets devices if and only if earlier pods leave enough for it."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.exact.devices import brute
from tests.scheduler_core.exact.devices.clusters_with_all import clusters_with_all
from tests.scheduler_core.exact.devices.small_clusters import Cluster, clusters, manifests

RANDOM = settings(
    max_examples=sampled(600, share=10), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
Chosen = dict[str, list[tuple[str, str]]]
"""Request and device by claim."""


def alone(cluster: Cluster) -> Cluster:
    """Return *cluster* with each waiting pod on its own."""
    return dataclasses.replace(cluster, minimum={}, by_rack=[], pods=[dataclasses.replace(each, group="") for each in cluster.pods])


def devices_of(decision: Decision) -> Chosen:
    """Return the devices of *decision*."""
    return {
        claim.label.removeprefix("default/"): sorted((one.request, "/".join(one.id[1:])) for one in allocation.devices)
        for claim, allocation in decision.devices.items()
    }


def ways(cluster: Cluster, assignment: dict[str, str]) -> list[Chosen]:
    """Return all ways to give devices to the pods of *assignment*; none if a node has too little cpu."""
    if any("cpu" in each for each in brute.problems(cluster, assignment)):
        return []
    return [{claim: sorted(each) for claim, each in one.items()} for one in brute.devices(cluster, assignment)]


@pytest.mark.parametrize("several", [clusters(counted=True), clusters(), clusters_with_all()], ids=["counted", "any", "all"])
@RANDOM
@given(st.data())
def test_each_pod_gets_what_earlier_pods_leave(several, data):
    cluster = alone(data.draw(several))
    assignment: dict[str, str] = {}
    chosen: Chosen = {}
    for decision in run_cycle(load(manifests(cluster)), CycleOptions(strategy="complete", budget=100_000)).decisions:
        name = decision.root.name
        if decision.status is Status.SUCCESS:
            assignment[name] = decision.assignments[f"default/{name}"]
            chosen |= devices_of(decision)
            assert chosen in ways(cluster, assignment)
        else:
            assert decision.search.outcome == "infeasible"
            for node in cluster.rack:
                assert not any(chosen.items() <= each.items() for each in ways(cluster, {**assignment, name: node})), decision
