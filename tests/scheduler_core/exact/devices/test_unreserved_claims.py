"""Claims that are allocated but reserved for nobody get devices anew if the root does not fit with those that they have."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.cycle.unreserved_claims import sets_to_deallocate
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, message_of, node
from tests.scheduler_core.exact.devices import brute
from tests.scheduler_core.exact.devices.small_clusters import Cluster, clusters, held_name, manifests
from tests.scheduler_core.exact.devices.test_against_brute_force import wrong
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, only_on, request, resource_claim, template, wanting

RANDOM = settings(
    max_examples=sampled(600), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
NOBODY = "nobody"


def variants(cluster: Cluster) -> list[Cluster]:
    """Return *cluster* with each set of those claims deallocated that waiting pods name and that are reserved for nobody."""
    named = {name for pod in cluster.pods for name in pod.shared}
    free = [number for number, (_, users) in enumerate(cluster.held) if not users and held_name(number) in named]
    found = []
    for size in range(len(free) + 1):
        for chosen in itertools.combinations(free, size):
            held = [(device, (NOBODY,) if number in chosen else users) for number, (device, users) in enumerate(cluster.held)]
            found.append(dataclasses.replace(cluster, held=held))
    return found


@RANDOM
@given(st.one_of(clusters(running=2, named=True), clusters(counted=True, running=2, named=True)))
def test_a_root_is_placed_if_and_only_if_that_is_possible_with_these_claims_free(cluster):
    cluster.held = [(device, ()) for device, _ in cluster.held]
    (decision,) = run_cycle(load(manifests(cluster)), CycleOptions(strategy="complete")).decisions
    ways = [each for each in variants(cluster) if brute.possible(each, without=frozenset({NOBODY}))]
    assert bool(ways) == (decision.status is Status.SUCCESS), decision
    if decision.assignments:
        assert any(not wrong(each, decision, without=frozenset({NOBODY})) for each in ways)
        kept = any(each.held == cluster.held for each in ways)
        assert kept != ("it is deallocated first" in message_of(decision))


@pytest.mark.parametrize(("number", "sizes"), [(0, []), (2, [1, 1, 2]), (4, [1] * 4 + [4]), (17, [17])])
def test_sets_of_claims_that_are_deallocated(number, sizes):
    assert sizes == [len(each) for each in sets_to_deallocate([str(name) for name in range(number)])]


def decided(*objects: Json) -> Decision:
    """Return the decision on the group g on a node n, whose device a an unreserved claim has; no row counts devices as it requests them."""
    held = resource_claim("held", request(count=1, tolerations=[{"operator": "Exists"}]), devices=["gpu=n/a"], nodes=only_on("n"))
    (decision,) = run_cycle(
        load([device_class(), template(), node("n", cpu="4"), held, *objects]), CycleOptions(strategy="complete")
    ).decisions
    return decision


def test_counted_devices_and_those_of_a_deallocated_claim_are_not_given_twice():
    pods = wanting("p0", group="g"), wanting("p1", "g:one", "x=held", group="g")
    assert Status.UNSCHEDULABLE is decided(device_slice("n", "a", "b"), leaf("g", 2), *pods).status


def test_message_names_a_deallocated_claim_whose_devices_another_claim_gets():
    cannot_run = wanting("p1", "x=held", group="g", cpu="9")
    decision = decided(device_slice("n", "a"), leaf("g", 1), wanting("p0", group="g"), cannot_run)
    assert {"default/p0": "n"} == decision.assignments
    assert "claim default/held is allocated, but reserved for nobody: it is deallocated first" in message_of(decision)
