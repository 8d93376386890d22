"""Complete search with devices compared with exhaustive search, on random small clusters."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.exact.devices import brute
from tests.scheduler_core.exact.devices.clusters_with_all import clusters_with_all
from tests.scheduler_core.exact.devices.small_clusters import Cluster, clusters, manifests

RANDOM = settings(
    max_examples=sampled(400), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def decide(cluster: Cluster) -> Decision:
    (decision,) = run_cycle(load(manifests(cluster)), CycleOptions(strategy="complete")).decisions
    return decision


def wrong(cluster: Cluster, decision: Decision, without: frozenset[str] = frozenset()) -> list[str]:
    """Return what is wrong with the placement of *decision* and its devices; pods in *without* do not run any more."""
    assignment = {pod.removeprefix("default/"): node for pod, node in decision.assignments.items()}
    found = brute.problems(cluster, assignment)
    chosen = {
        claim.label.removeprefix("default/"): sorted((one.request, "/".join(one.id[1:])) for one in allocation.devices)
        for claim, allocation in decision.devices.items()
    }
    if not any(
        chosen == {claim: sorted(each) for claim, each in one.items()} for one in brute.devices(cluster, assignment, without=without)
    ):
        found.append(f"no valid choice of devices: {chosen}")
    return found


def check(cluster: Cluster) -> None:
    decision = decide(cluster)
    assert [] == (wrong(cluster, decision) if decision.assignments else [])
    if decision.search.outcome != "budget":
        assert brute.possible(cluster) == (decision.status is Status.SUCCESS), decision
        assert decision.status is Status.SUCCESS or decision.search.outcome == "infeasible"


def check_counted(cluster: Cluster) -> None:
    decision = decide(cluster)
    assert [] == (wrong(cluster, decision) if decision.assignments else [])
    assert brute.possible(cluster) == (decision.status is Status.SUCCESS), decision
    assert decision.status is Status.SUCCESS or decision.search.outcome == "infeasible"


@RANDOM
@given(clusters(counted=True))
def test_a_root_with_counted_devices_is_placed_if_and_only_if_that_is_possible(cluster):
    check_counted(cluster)


@pytest.mark.usefixtures("without_greedy")
def test_the_search_of_counted_devices_needs_no_result_of_greedy():
    RANDOM(given(clusters(counted=True))(check_counted))()


@RANDOM
@given(clusters())
def test_a_root_with_any_devices_is_placed_if_and_only_if_that_is_possible(cluster):
    check(cluster)


@pytest.mark.usefixtures("without_greedy")
def test_the_search_of_any_devices_needs_no_result_of_greedy():
    RANDOM(given(clusters())(check))()


@RANDOM
@given(clusters_with_all())
def test_a_root_with_requests_for_all_devices_is_placed_iff_possible(cluster):
    check(cluster)


@pytest.mark.usefixtures("without_greedy")
def test_the_search_of_requests_for_all_devices_needs_no_result_of_greedy():
    RANDOM(given(clusters_with_all())(check))()


@RANDOM
@given(clusters(counted=True, running=3, priority=0))
def test_pods_are_evicted_if_and_only_if_that_frees_enough(cluster):
    check_victims(cluster)


@RANDOM
@given(clusters(running=3, priority=0))
def test_pods_are_evicted_if_and_only_if_that_frees_enough_of_any_devices(cluster):
    check_victims(cluster)


def check_victims(cluster: Cluster) -> None:
    decision = decide(cluster)
    running = frozenset(each.name for each in cluster.pods if each.node)
    victims = frozenset(key.removeprefix("default/") for key in decision.victims)
    if brute.possible(cluster):
        assert (Status.SUCCESS, frozenset()) == (decision.status, victims)
    else:
        helps = brute.possible(cluster, without=running)
        assert helps == bool(victims), decision
        assert not helps or decision.status is Status.UNSCHEDULABLE
        assert not helps or brute.possible(cluster, without=victims)


@settings(RANDOM, max_examples=sampled(1_500))
@given(clusters(running=3, priority=0, named=True))
def test_pods_are_evicted_iff_that_frees_enough_of_named_claims(cluster):
    check_named(cluster)


@settings(RANDOM, max_examples=sampled(1_500))
@given(clusters(counted=True, running=3, priority=0, named=True))
def test_pods_are_evicted_iff_that_frees_enough_counted_devices_of_named_claims(cluster):
    check_named(cluster)


def check_named(cluster: Cluster) -> None:
    """Check the victims against all sets of running pods: without all of them a claim is free, and can be worse than allocated."""
    decision = decide(cluster)
    assert [] == (wrong(cluster, decision) if decision.assignments else [])
    running = [each.name for each in cluster.pods if each.node]
    sets = [frozenset(each) for size in range(len(running) + 1) for each in itertools.combinations(running, size)]
    enough = next((each for each in sets if brute.possible(cluster, without=each)), None)
    victims = frozenset(key.removeprefix("default/") for key in decision.victims)
    assert (enough == frozenset()) == (decision.status is Status.SUCCESS), decision
    assert bool(enough) == bool(victims), decision
    assert enough is None or decision.status is not Status.UNRESOLVABLE
    if enough and decision.preemption is not None:
        assert brute.possible(cluster, without=victims)
        assert decision.preemption.lower <= len(enough)
        assert not decision.preemption.proved or len(victims) == len(enough)
