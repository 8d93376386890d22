"""What is presumed counts at once, gives way to what is seen, and is taken back where it failed."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED, LivePod
from scheduler_core.sidecar.writes import Condition, Ref
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar.histories import Json, Watched
from tests.scheduler_core.sidecar.test_scheduler import G, bound
from tests.scheduler_core.sidecar.world import TERMINATING

PLACED = "PodGroupInitiallyScheduled"
TRUE = Condition(PLACED, "True", "Scheduled", "")
FALSE = Condition(PLACED, "False", "Unschedulable", "no room")


class CachedObjects(Watched):
    """A store with two nodes and a group with a pod that waits and one that runs, and what is presumed of them."""

    def __init__(self, *more: Json) -> None:
        super().__init__(node("n1"), node("n2"), leaf("g", 2), pod("g-0", "g"), pod("g-1", "g", on="n2"), *more)
        self.assumed = AssumedPods(self.store)
        self.store.reporter.pop_changes()
        self.store.usage.placement_state()

    def pod(self, name: str = "g-0") -> LivePod:
        return self.store.usage.pods.pods[f"default/{name}"]

    def where(self, name: str = "g-0") -> str:
        return self.store.usage.node_of(self.pod(name))

    def requested(self, where: str) -> int:
        """Millicores that are taken on a node."""
        ground = self.store.usage.placement_state()
        return int(ground.requested.sums()[ground.nodes.row["cpu"], ground.nodes.index[where]])

    def condition(self) -> Condition | None:
        live = self.store.group("PodGroup", "default", "g")
        assert live is not None
        return live.condition(PLACED)


@pytest.fixture
def known() -> CachedObjects:
    return CachedObjects()


def gone(name: str, kind: str = "Pod") -> tuple[str, str, str]:
    return kind, "" if kind == "Node" else "default", name


def with_condition(condition: Condition) -> Json:
    fields = {"type": condition.type, "status": condition.status, "reason": condition.reason, "message": condition.message}
    return {**leaf("g", 2), "status": {"conditions": [fields]}}


def test_assumed_pod_uses_resources_of_its_node(known):
    assert known.assumed.assume(known.pod().ref, "n1")
    assert ("n1", 1000) == (known.where(), known.requested("n1"))
    assert not known.pod().acknowledged


@pytest.mark.parametrize(
    ("spoil", "name", "where"),
    [
        pytest.param(lambda known: known.happens(gone("g-0")), "g-0", "n1", id="it is gone"),
        pytest.param(lambda known: known.happens(gone("g-0"), pod("g-0", "g")), "g-0", "n1", id="another of its name is there"),
        pytest.param(lambda known: None, "g-1", "n1", id="it has a node"),
        pytest.param(lambda known: known.assumed.assume(known.pod().ref, "n2"), "g-0", "n1", id="it is on its way to a node"),
        pytest.param(
            lambda known: known.assumed.expect_deletion(known.pod().ref, evicted=False), "g-0", "n1", id="it is about to be deleted"
        ),
        pytest.param(lambda known: known.happens(deleted(pod("g-0", "g"))), "g-0", "n1", id="it is being deleted"),
        pytest.param(lambda known: None, "g-0", "n9", id="there is no such node"),
    ],
)
def test_pod_that_cannot_be_bound_is_not_assumed(known, spoil, name, where):
    ref = known.pod(name).ref
    spoil(known)
    assert not known.assumed.assume(ref, where)
    assert 0 == known.requested("n1")


def deleted(each: Json) -> Json:
    return {**each, "metadata": {**each["metadata"], "deletionTimestamp": TERMINATING}}


def test_pod_that_was_not_bound_frees_its_resources_and_its_root_is_attempted(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.assumed.acknowledge(known.pod().ref)
    known.store.reporter.pop_changes()
    known.assumed.forget(known.pod().ref)
    news = known.store.reporter.pop_changes()
    assert ("", 0, False) == (known.where(), known.requested("n1"), known.pod().acknowledged)
    assert ({"n1"}, {G}, True) == (news.freed_nodes, news.roots, news.pods_moved)


@pytest.mark.parametrize(
    "take_back",
    [
        pytest.param(lambda known: known.assumed.forget(known.pod().ref), id="a bind that was not begun"),
        pytest.param(lambda known: known.assumed.forget(known.pod("g-1").ref), id="a bind that shows"),
        pytest.param(lambda known: known.assumed.cancel_deletion(known.pod("g-1").ref), id="a deletion that was not begun"),
        pytest.param(lambda known: known.assumed.forget_nomination(known.pod().ref), id="a nomination that was not begun"),
        pytest.param(lambda known: known.assumed.forget(Ref("Pod", "default", "none", "1")), id="a bind of a pod that is not there"),
        pytest.param(lambda known: known.assumed.assume_nomination(known.pod("g-1").ref, "n1"), id="a nomination of a pod with a node"),
    ],
)
def test_nothing_changes_where_nothing_was_presumed(known, take_back):
    before = known.store.reporter.change_count
    take_back(known)
    assert (before, False) == (known.store.reporter.change_count, bool(known.store.reporter.changes))
    assert (0, 1000) == (known.requested("n1"), known.requested("n2"))


def test_only_what_was_assumed_is_acknowledged(known):
    known.assumed.acknowledge(known.pod().ref)
    assert not known.pod().acknowledged
    known.assumed.assume(known.pod().ref, "n1")
    known.assumed.acknowledge(known.pod().ref)
    assert known.pod().acknowledged


def test_bind_that_shows_takes_the_place_of_what_was_assumed(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.happens(bound(pod("g-0", "g"), "n2"))
    assert ("n2", "", 0, 2000) == (known.where(), known.pod().assumed, known.requested("n1"), known.requested("n2"))


def test_event_that_does_not_show_the_bind_yet_leaves_the_pod_where_it_is_assumed(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.assumed.acknowledge(known.pod().ref)
    known.happens(pod("g-0", "g", labels={"app": "a"}))
    assert ("n1", True, 1000) == (known.where(), known.pod().acknowledged, known.requested("n1"))


def test_pod_of_the_same_name_made_since_has_none_of_it(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.assumed.expect_deletion(known.pod("g-1").ref, evicted=True)
    known.happens(gone("g-0"), pod("g-0", "g"), gone("g-1"), pod("g-1", "g", on="n2"))
    assert ("", 0, False, False) == (known.where(), known.requested("n1"), known.pod("g-1").deletion_assumed, known.pod("g-1").evicted)


def test_node_that_goes_takes_along_what_was_assumed_on_it(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.happens(gone("n1", "Node"))
    assert "" == known.where()
    assert known.assumed.assume(known.pod().ref, "n2")
    assert 2000 == known.requested("n2")


@pytest.mark.parametrize("evicted", [pytest.param(True, id="for a preemption"), pytest.param(False, id="with its gang")])
def test_pod_that_is_about_to_be_deleted_counts_as_terminating(known, evicted):
    known.assumed.expect_deletion(known.pod("g-1").ref, evicted=evicted)
    record = known.store.usage.record(known.pod("g-1"))
    assert (True, evicted, 1000) == (record.terminating, record.preempted, known.requested("n2"))


def test_pod_that_is_being_deleted_already_is_not_leaving_for_us():
    known = CachedObjects(deleted(pod("old", on="n1")))
    known.assumed.expect_deletion(known.pod("old").ref, evicted=True)
    assert (False, False) == (known.pod("old").deletion_assumed, known.store.usage.record(known.pod("old")).preempted)


def test_pod_whose_deletion_failed_counts_as_before_and_its_root_is_attempted(known):
    known.assumed.expect_deletion(known.pod("g-1").ref, evicted=True)
    known.store.reporter.pop_changes()
    known.assumed.cancel_deletion(known.pod("g-1").ref)
    record = known.store.usage.record(known.pod("g-1"))
    assert (False, False, {G}) == (record.terminating, record.preempted, known.store.reporter.pop_changes().roots)


def test_eviction_that_shows_is_still_known_to_be_a_preemption(known):
    known.assumed.expect_deletion(known.pod("g-1").ref, evicted=True)
    known.happens(deleted(pod("g-1", "g", on="n2")))
    record = known.store.usage.record(known.pod("g-1"))
    assert (True, True, False) == (record.terminating, record.preempted, known.pod("g-1").deletion_assumed)


@pytest.mark.parametrize(
    ("stands", "node_", "want"),
    [
        pytest.param("", "n1", "n1", id="a first nomination"),
        pytest.param("n2", "n1", "n1", id="another node than before"),
        pytest.param("n2", "", "", id="none any more"),
        pytest.param("n1", "n1", "n1", id="the same"),
    ],
)
def test_promise_counts_until_it_is_taken_back(stands, node_, want):
    known = CachedObjects(pod("one", nominated=stands))
    ref = known.pod("one").ref
    known.assumed.assume_nomination(ref, node_)
    assert want == known.pod("one").nominated
    assert (want != "") == ("default/one" in known.store.usage.pods.nominated)
    known.assumed.forget_nomination(ref)
    assert stands == known.pod("one").nominated


def test_node_of_a_cleared_nomination_is_reported_as_freer(known):
    known.assumed.assume_nomination(known.pod().ref, "n1")
    assert set() == known.store.reporter.pop_changes().freed_nodes
    known.assumed.assume_nomination(known.pod().ref, "n1")
    assert set() == known.store.reporter.pop_changes().freed_nodes
    known.assumed.assume_nomination(known.pod().ref, "n2")
    assert {"n1"} == known.store.reporter.pop_changes().freed_nodes
    known.assumed.forget_nomination(known.pod().ref)
    assert {"n2"} == known.store.reporter.pop_changes().freed_nodes


def test_a_nomination_is_assumed_until_the_event_that_shows_it(known):
    known.assumed.assume_nomination(known.pod().ref, "n1")
    known.happens(pod("g-0", "g", labels={"app": "a"}))
    assert "n1" == known.pod().nominated
    known.happens(pod("g-0", "g", nominated="n1"))
    known.happens(pod("g-0", "g", nominated="n2"))
    assert "n2" == known.pod().nominated


def test_condition_that_is_being_written_counts_until_an_event_shows_the_group():
    known = CachedObjects(with_condition(FALSE))
    live = known.store.group("PodGroup", "default", "g")
    assert live is not None
    known.assumed.assume_condition(Ref("PodGroup", "default", "g", live.uid), TRUE)
    assert TRUE == known.condition()
    known.happens(with_condition(FALSE))
    assert FALSE == known.condition()


@pytest.mark.parametrize(
    ("uid", "want"),
    [
        pytest.param("", TRUE, id="any of that name"),
        pytest.param("another", FALSE, id="another of that name"),
    ],
)
def test_condition_is_presumed_of_the_group_that_is_written_alone(uid, want):
    known = CachedObjects(with_condition(FALSE))
    known.assumed.assume_condition(Ref("PodGroup", "default", "none", uid), TRUE)
    known.assumed.assume_condition(Ref("PodGroup", "default", "g", uid), TRUE)
    assert want == known.condition()


def test_condition_that_was_not_written_leaves_the_existing_one():
    known = CachedObjects(with_condition(FALSE))
    known.assumed.assume_condition(Ref("PodGroup", "default", "g"), TRUE)
    known.assumed.forget_condition(Ref("PodGroup", "default", "g"), "OfAnotherType")
    assert TRUE == known.condition()
    known.assumed.forget_condition(Ref("PodGroup", "default", "g"), PLACED)
    assert FALSE == known.condition()


def test_condition_that_is_taken_away_is_none():
    known = CachedObjects(with_condition(FALSE))
    known.assumed.assume_condition(Ref("PodGroup", "default", "g"), Condition(PLACED, "", "", ""))
    assert known.condition() is None


def test_condition_of_a_pod_counts_until_its_write_failed(known):
    ref, why = known.pod().ref, Condition(SCHEDULED, "False", "Unschedulable", "no room")
    known.assumed.assume_condition(ref, why)
    assert why == known.pod().pod_scheduled
    known.assumed.forget_condition(ref, SCHEDULED)
    assert known.pod().pod_scheduled is None


def test_nothing_is_presumed_after_a_reset():
    known = CachedObjects(with_condition(FALSE), pod("one", nominated="n2"))
    known.assumed.assume(known.pod().ref, "n1")
    known.assumed.acknowledge(known.pod().ref)
    known.assumed.expect_deletion(known.pod("g-1").ref, evicted=False)
    known.assumed.assume_nomination(known.pod("one").ref, "n1")
    known.assumed.assume_condition(Ref("PodGroup", "default", "g"), TRUE)
    known.store.reporter.pop_changes()
    known.assumed.reset()
    running = known.pod("g-1")
    assert ("", False, 0) == (known.where(), known.pod().acknowledged, known.requested("n1"))
    assert (False, False, False) == (running.deletion_assumed, running.evicted, known.store.usage.record(running).terminating)
    assert ("n2", FALSE) == (known.pod("one").nominated, known.condition())
    assert {"n1"} == known.store.reporter.pop_changes().freed_nodes


@pytest.mark.parametrize(
    "presumption",
    [
        pytest.param(lambda known, ref: known.assumed.assume(ref, "n1"), id="a bind"),
        pytest.param(lambda known, ref: known.assumed.expect_deletion(ref, evicted=True), id="an eviction"),
        pytest.param(lambda known, ref: known.assumed.assume_nomination(ref, "n1"), id="a nomination"),
    ],
)
def test_presumption_and_its_end_both_count_as_changes(known, presumption):
    def change_count() -> int:
        return known.store.reporter.change_count

    ref: Any = known.pod().ref
    before = change_count()
    presumption(known, ref)
    between = change_count()
    known.assumed.forget(ref)
    known.assumed.cancel_deletion(ref)
    known.assumed.forget_nomination(ref)
    assert before < between < change_count()


def test_root_of_a_single_pod_is_the_pod():
    known = CachedObjects(pod("one"))
    known.assumed.assume(known.pod("one").ref, "n1")
    known.assumed.forget(known.pod("one").ref)
    assert {Name("Pod", "default", "one")} == known.store.reporter.pop_changes().roots


def test_single_pod_that_runs_on_waits_for_nothing():
    known = CachedObjects(pod("one", on="n1"))
    known.assumed.expect_deletion(known.pod("one").ref, evicted=True)
    known.assumed.cancel_deletion(known.pod("one").ref)
    assert (set(), False) == (known.store.reporter.pop_changes().roots, known.pod("one").deletion_assumed)


def test_pod_of_a_deleted_group_has_no_root_to_attempt(known):
    known.assumed.assume(known.pod().ref, "n1")
    known.happens(gone("g", "PodGroup"))
    known.store.reporter.pop_changes()
    known.assumed.forget(known.pod().ref)
    assert (set(), 0) == (known.store.reporter.pop_changes().roots, known.requested("n1"))
