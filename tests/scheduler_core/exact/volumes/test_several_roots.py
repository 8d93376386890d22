"""Single pods with volumes, placed one after the other: each gets volumes if and only if earlier pods leave enough for it."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, Phase, example, given, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.exact.volumes import brute
from tests.scheduler_core.exact.volumes.small_clusters import DYNAMIC, Claim, Cluster, Node, Pod, clusters, manifests

RANDOM = settings(
    max_examples=sampled(1_000, share=10), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
OF_NODES = ("cpu", "disk", "attach", "users")
"""Words of the problems that are not about groups."""
SHARED = Cluster(
    nodes=[Node("n0", "r0", 3, {}, [])],
    volumes=[],
    claims=[Claim("common", DYNAMIC, 10), Claim("own", DYNAMIC, 5)],
    pods=[Pod("p0", "", ["common"]), Pod("p1", "", ["common"]), Pod("p2", "", ["own"])],
    minimum={},
    by_rack=[],
    capacity={"r0": 20},
)
"""The storage is enough if the claim that two pods share counts once."""


def ways(cluster: Cluster, assignment: dict[str, str]) -> list[dict[str, str]]:
    """Return all ways to give volumes to the pods of *assignment*; none if they cannot be on their nodes."""
    if any(word in each for each in brute.problems(cluster, assignment) for word in OF_NODES):
        return []
    return [*brute.volumes(cluster, assignment)]


@RANDOM
@given(clusters())
@example(SHARED)
def test_each_pod_gets_what_earlier_pods_leave(cluster):
    pods = [dataclasses.replace(each, group="") for each in cluster.pods]
    cluster = dataclasses.replace(cluster, minimum={}, by_rack=[], pods=pods)
    assignment: dict[str, str] = {}
    chosen: dict[str, str] = {}
    for decision in run_cycle(load(manifests(cluster)), CycleOptions(strategy="complete", budget=100_000)).decisions:
        name = decision.root.name
        if decision.status is Status.SUCCESS:
            assignment[name] = decision.assignments[f"default/{name}"]
            chosen = {claim.removeprefix("default/"): each.volume for claim, each in decision.volumes.items()} | chosen
            assert chosen in ways(cluster, assignment)
        else:
            assert decision.search.outcome == "infeasible"
            for node in cluster.nodes:
                assert not any(chosen.items() <= each.items() for each in ways(cluster, {**assignment, name: node.name})), decision
