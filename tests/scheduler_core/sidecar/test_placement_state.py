"""What is taken on nodes, added up as pods come and go, and the site that is made of it for one cycle."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import CPU, MEMORY, PODS
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from scheduler_core.sidecar.cache.placement_state import MAX_PENDING_CHANGES, LivePlacementState, RequestedByPods
from tests.sampling import sampled
from tests.scheduler_core.builders import record, shape, table
from validators.object_lookup import KnownObjects

PORT, OTHER = ("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 81)
BIG, SMALL = shape(2000, 2**30, serial=0), shape(500, serial=1)


def nodes(count=3, **more):
    return table([{} for _ in range(count)], **more)


def used(taken, row):
    return taken.sums()[row].tolist()


def ports(taken):
    return {node: dict(counts) for node, counts in taken._ports.items()}


def test_what_pods_request_is_added_up_by_node_and_beside_it_as_scores_count_it():
    taken = RequestedByPods(nodes())
    taken.add(BIG, 0, 2)
    taken.add(SMALL, 0, 1)
    taken.add(SMALL, 2, 3)

    assert [4500, 0, 1500] == used(taken, CPU)
    assert [2 * 2**30, 0, 0] == used(taken, MEMORY)
    assert [3, 0, 3] == used(taken, PODS)
    assert [4500, 0, 1500] == used(taken, -2)
    assert [2 * 2**30 + 200 * 2**20, 0, 600 * 2**20] == used(taken, -1)


CHANGES = st.lists(st.tuples(st.sampled_from([BIG, SMALL]), st.integers(0, 2), st.integers(1, 3), st.booleans()), max_size=30)


@settings(max_examples=sampled(50), deadline=None)
@given(CHANGES)
def test_it_does_not_matter_when_the_sums_are_read(changes):
    often, seldom = RequestedByPods(nodes()), RequestedByPods(nodes())
    for what, node, count, leaves in changes:
        for taken in (often, seldom):
            taken.add(what, node, -count if leaves else count)
        often.sums()

    assert often.sums().tolist() == seldom.sums().tolist()


@settings(max_examples=sampled(50), deadline=None)
@given(CHANGES)
def test_what_comes_and_goes_leaves_nothing(changes):
    taken = RequestedByPods(nodes())
    for sign in (1, -1):
        for what, node, count, _ in changes:
            taken.add(what, node, sign * count)

    assert not taken.sums().any()


def test_a_port_is_taken_until_the_last_pod_that_has_it_is_gone():
    taken = RequestedByPods(nodes())
    web, both = shape(ports=(PORT,)), shape(serial=1, ports=(PORT, OTHER))
    taken.add(web, 0, 1)
    taken.add(both, 0, 1)
    taken.add(web, 1, 1)
    assert {0: {PORT: 2, OTHER: 1}, 1: {PORT: 1}} == ports(taken)
    taken.add(both, 0, -1)
    taken.add(web, 1, -1)
    assert {0: {PORT: 1}} == ports(taken)
    taken.add(web, 0, -1)

    assert {} == ports(taken)


def test_unread_records_are_limited():
    taken = RequestedByPods(nodes())
    for serial in range(MAX_PENDING_CHANGES + 500):
        once = shape(serial + 1, serial=serial)
        taken.add(once, 0, 1)
        taken.add(once, 0, -1)

    assert sum(map(len, taken._changes.values())) <= MAX_PENDING_CHANGES
    assert not taken.sums().any()


def ground(**more):
    return LivePlacementState.from_nodes(nodes(**more))


def site(here, *nominated, ignore=frozenset()):
    cluster = ClusterSnapshot(
        nodes=here.nodes, pods=(), groups=(), priorities={}, desired={}, budgets=(), known=KnownObjects((), complete=False)
    )
    return here.start_cycle(PlacingOptions(), ignore, StatefulPlugins(cluster), nominated)


def test_a_site_begins_with_what_is_taken():
    here = ground()
    here.requested.add(BIG, 1, 1)
    here.requested.add(shape(serial=2, ports=(PORT,)), 2, 1)
    found = site(here)

    assert [0, 2000, 0] == found.ledger.used[CPU].tolist()
    assert [0, 2000, 100] == found.ledger.scored[0].tolist()
    assert {2: {PORT: 1}} == {node: dict(counts) for node, counts in found.ledger.ports.items()}


def test_a_trial_in_a_domain_leaves_the_placement_state_unchanged():
    here = ground()
    web = shape(1000, serial=2, ports=(PORT,))
    here.requested.add(web, 0, 1)
    found = site(here)
    for node in (0, 1):
        found.ledger.assume((PodLoad(shape(700, serial=3, ports=(OTHER,)), here.nodes.everything[node : node + 1]),), found.ledger.fresh())
    found.ledger.forget()

    assert [1700, 700, 0] == found.ledger.used[CPU].tolist()
    assert [1000, 0, 0] == used(here.requested, CPU)
    assert {0: {PORT: 1}} == ports(here.requested)
    assert [1000, 0, 0] == site(here).ledger.used[CPU].tolist()


def test_resources_are_reserved_for_nominated_pods_on_their_node_only():
    here = ground()
    promised = record("a", BIG, nominated=2)

    assert [0, 0, 2000] == site(here, promised).ledger.held[CPU].tolist()
    assert [0, 0, 0] == site(here).ledger.held[CPU].tolist()
    assert [0, 0, 0] == used(here.requested, CPU)


def test_where_pods_may_run_is_worked_out_once_for_the_same_fields():
    here = ground()
    none, some = frozenset[str](), frozenset({"spec.volumes"})

    assert here.profile(none) is site(here).profile
    assert here.profile(some) is site(here, ignore=some).profile
    assert here.profile(none) is not here.profile(some)


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param({}, True, id="all have some of both"),
        pytest.param({"cpu": [4000, 0, 4000]}, False, id="one has no cpu"),
        pytest.param({"memory": [0, 1, 1]}, False, id="one has no memory"),
    ],
)
def test_it_is_known_whether_every_node_has_some_of_both(more, want):
    assert want == ground(**more).has_cpu_and_memory == site(ground(**more)).whole
