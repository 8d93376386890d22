"""Pods counted by what is asked about them, kept from one cycle to the next."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.affinity import Affinity, PodAffinity, PodAffinityTerm
from kubeapi.selectors import LabelSelector
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.sidecar.cache import pod_affinity as module
from scheduler_core.sidecar.cache.pod_affinity import PodAffinityCache
from tests.sampling import sampled
from tests.scheduler_core.builders import HOST, RACK, record, shape, table
from validators.object_lookup import KnownObjects

RACKS = table([{RACK: "r1", HOST: "a"}, {RACK: "r1", HOST: "b"}, {RACK: "r2", HOST: "c"}])
EMPTY = ClusterSnapshot(nodes=RACKS, pods=(), groups=(), priorities={}, desired={}, budgets=(), known=KnownObjects((), complete=False))


def apart(key, serial):
    """A shape whose pods keep away from all others of their namespace."""
    term = PodAffinityTerm(topology_key=key, label_selector=LabelSelector())
    anti = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    return shape(100, serial=serial, affinity=Affinity(pod_anti_affinity=anti))


QUIET, SHY, LONER = shape(100, serial=0), apart(HOST, 1), apart(RACK, 2)


class Live:
    """Pods as the store has them: counted when they come, met while all are counted."""

    def __init__(self):
        self.affinity = PodAffinityCache()
        self.there = {}

    def come(self, name, what, node=-1):
        pod = self.there[name] = record(name, what, node=node)
        self.affinity.count(what, 1)
        self.affinity.add_pod(pod)

    def go(self, name):
        pod = self.there.pop(name)
        self.affinity.count(pod.shape, -1)
        self.affinity.remove_pod(pod)

    def free(self, what=QUIET):
        """The nodes where a pod of *what* may run, as far as others have a say; None where they have none."""
        relations = self.affinity.stateful(EMPTY, RACKS, self.there.values)
        try:
            pod = record("candidate", what)
            if not relations.touches(pod):
                return None
            free = {*range(len(RACKS))}
            for _, mask in relations.filter(pod, RACKS.everything):
                free &= {node for node in free if mask[node]}
            return free
        finally:
            relations.give_back()


def test_nothing_is_counted_while_no_pod_says_anything_about_others():
    live = Live()
    for number in range(3):
        live.come(str(number), QUIET, number)

    assert None is live.free()
    assert (False, False) == (live.affinity.active, live.affinity.counting)


def test_who_keeps_away_keeps_others_away_from_when_it_comes_until_it_goes():
    live = Live()
    live.come("shy", SHY, 0)
    assert {1, 2} == live.free()
    live.come("loner", LONER, 1)
    assert {2} == live.free()
    live.go("loner")
    assert {1, 2} == live.free()
    live.go("shy")

    assert None is live.free()
    assert not live.affinity.active


def test_who_says_nothing_counts_for_those_who_do():
    live = Live()
    live.come("quiet", QUIET, 0)
    live.come("waiting", SHY)
    assert {1, 2} == live.free(SHY)
    live.come("late", QUIET, 1)

    assert {2} == live.free(SHY)


def test_a_question_leaves_what_is_counted_as_it_was():
    live = Live()
    live.come("shy", SHY, 0)

    assert [{1, 2}] * 3 == [live.free() for _ in range(3)]
    assert {2} == live.free(LONER)
    assert {1, 2} == live.free()


@pytest.mark.parametrize(
    "begin_anew", [pytest.param(PodAffinityCache.recount, id="other nodes"), pytest.param(lambda _: None, id="nothing happened")]
)
def test_what_is_counted_anew_is_the_same(begin_anew):
    live = Live()
    live.come("shy", SHY, 0)
    live.free()
    begin_anew(live.affinity)
    live.come("loner", LONER, 2)

    assert {1} == live.free()


def test_after_a_reset_nobody_is_there():
    live = Live()
    live.come("shy", SHY, 0)
    live.free()
    live.affinity.reset()
    live.there.clear()

    assert (False, False) == (live.affinity.active, live.affinity.counting)
    assert None is live.free()


def test_a_shape_that_is_swept_up_and_comes_again_still_speaks():
    live = Live()
    live.come("shy", SHY, 0)
    live.go("shy")
    live.affinity.sweep({QUIET})
    assert {} == live.affinity._terms_by_shape
    live.come("shy", SHY, 0)

    assert {1, 2} == live.free()


@settings(max_examples=sampled(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from([QUIET, SHY, LONER]), st.integers(-1, 2), st.booleans()), max_size=25), st.integers(1, 6))
def test_what_is_kept_from_cycle_to_cycle_is_what_is_counted_anew(steps, often):
    kept = Live()
    for number, (what, node, leaves) in enumerate(steps):
        if leaves and kept.there:
            kept.go(sorted(kept.there)[number % len(kept.there)])
        else:
            kept.come(f"{number:02}", what, node)
        if number % often == 0:
            kept.free()
    fresh = Live()
    for pod in kept.there.values():
        fresh.come(pod.name, pod.shape, pod.node)

    assert [fresh.free(what) for what in (QUIET, SHY, LONER)] == [kept.free(what) for what in (QUIET, SHY, LONER)]


@pytest.mark.parametrize(
    ("changes", "counting"), [pytest.param(10 + 4, True, id="as many as may be"), pytest.param(10 + 5, False, id="one more")]
)
def test_all_is_counted_anew_after_so_many_changes(monkeypatch, changes, counting):
    monkeypatch.setattr(module, "_MIN_CHANGES", 10)
    live = Live()
    live.come("shy", SHY, 0)
    live.free()
    for _ in range(changes):
        live.affinity.count(QUIET, 0)

    assert counting == live.affinity.counting


def test_unread_decisions_are_limited(monkeypatch):
    """A follower, or a leader with nothing to place, is not asked while pods of others come and go."""
    monkeypatch.setattr(module, "_MIN_CHANGES", 100)
    live = Live()
    live.come("shy", SHY, 0)
    live.free()
    for number in range(1000):
        live.come(f"p{number}", shape(number + 1, serial=10 + number), 1)
        live.go(f"p{number}")

    assert not live.affinity.counting
    assert {1, 2} == live.free()
