"""Complete search with volumes compared with exhaustive search, on random small clusters."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.exact.volumes import brute
from tests.scheduler_core.exact.volumes.small_clusters import BOUND, DYNAMIC, Cluster, attached_clusters, clusters, manifests

RANDOM = settings(
    max_examples=sampled(1_000, share=10), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def decide(cluster: Cluster) -> Decision:
    (decision,) = run_cycle(load(manifests(cluster)), CycleOptions(strategy="complete")).decisions
    return decision


def wrong(cluster: Cluster, decision: Decision) -> list[str]:
    """Return what is wrong with the placement of *decision* and its volumes."""
    assignment = {pod.removeprefix("default/"): node for pod, node in decision.assignments.items()}
    found = brute.problems(cluster, assignment)
    chosen = {claim.removeprefix("default/"): each.volume for claim, each in decision.volumes.items()}
    delayed = {name for pod in cluster.pods if pod.name in assignment for name in pod.claims if cluster.claim(name).storage_class != BOUND}
    if delayed != chosen.keys():
        found.append(f"volumes for {sorted(chosen)}, not for {sorted(delayed)}")
    elif chosen not in brute.volumes(cluster, assignment):
        found.append(f"no valid choice of volumes: {chosen}")
    return found


def check(cluster: Cluster) -> None:
    decision = decide(cluster)
    assert [] == (wrong(cluster, decision) if decision.assignments else [])
    assert brute.possible(cluster) == (decision.status is Status.SUCCESS), decision
    assert decision.status is Status.SUCCESS or decision.search.outcome == "infeasible"


@RANDOM
@given(clusters())
def test_a_root_is_placed_if_and_only_if_that_is_possible(cluster):
    check(cluster)


@RANDOM
@given(attached_clusters())
def test_pods_are_placed_if_they_can_attach_their_volumes_in_any_order(cluster):
    check(cluster)


@pytest.mark.usefixtures("without_greedy")
def test_the_search_needs_no_result_of_greedy():
    RANDOM(given(clusters())(check))()


def check_evictions(cluster: Cluster) -> None:
    decision = decide(cluster)
    running = sorted(each.name for each in cluster.pods if each.node)
    victims = frozenset(key.removeprefix("default/") for key in decision.victims)
    if brute.possible(cluster):
        assert (Status.SUCCESS, frozenset()) == (decision.status, victims)
        return
    # Volumes that running pods use too need no unit while these pods stay, so fewer evictions can help where all do not.
    sets = (frozenset(each) for size in range(1, len(running) + 1) for each in itertools.combinations(running, size))
    fewest = next((each for each in sets if brute.possible(cluster, without=each)), frozenset())
    assert len(fewest) == len(victims), decision
    assert not victims or brute.possible(cluster, without=victims)
    shared = any({*one.claims} & {*other.claims} for one in cluster.pods for other in cluster.pods if one.node and not other.node)
    assert bool(fewest) <= (decision.status is Status.UNSCHEDULABLE) <= (bool(fewest) or shared)


@RANDOM
@given(clusters(running=3, priority=0))
def test_pods_are_evicted_if_and_only_if_that_helps(cluster):
    check_evictions(cluster)


@RANDOM
@given(attached_clusters(running=4, priority=0))
def test_users_of_attached_volumes_stay_if_only_that_helps(cluster):
    check_evictions(cluster)


@RANDOM
@given(attached_clusters(running=4, priority=0))
def test_users_of_attached_volumes_stay_for_a_single_pod_if_only_that_helps(cluster):
    pods = [dataclasses.replace(each, group="") for each in cluster.pods if each.node or each.name == "p0"]
    check_evictions(dataclasses.replace(cluster, minimum={}, pods=pods))


def with_little_storage(cluster: Cluster) -> Cluster:
    """Return *cluster* with one required pod, and storage for one or two volumes in a rack."""
    return dataclasses.replace(cluster, minimum=dict.fromkeys(cluster.minimum, 1), capacity={"r0": 10, "r1": 5})


@RANDOM
@given(clusters(running=0, groups=3, kinds=(DYNAMIC,)).map(with_little_storage))
def test_no_pod_is_left_out_that_the_storage_is_enough_for(cluster):
    decision = decide(cluster)
    assignment = {pod.removeprefix("default/"): node for pod, node in decision.assignments.items()}
    assert [] == (wrong(cluster, decision) if assignment else [])
    assert not assignment or [] == brute.more(cluster, assignment)
