"""What follows from each way in which each kind of write may end."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.next_action import Action
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.states import Backoff, Binding, Preempting
from scheduler_core.sidecar.writes import (
    AddFinalizer,
    Bind,
    Condition,
    Deviations,
    Evict,
    Nominate,
    RecordEvent,
    Ref,
    Remove,
    RemoveFinalizer,
    SetCondition,
    Ungate,
    WriteOutcome,
)
from tests.scheduler_core.builders import HOST, composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_scheduler import (
    GATED,
    MUSTER,
    TRUE,
    Crowded,
    G,
    Scene,
    bound,
    gang,
    nodes_of,
    of,
    said,
    told,
)

NOT_DONE = [WriteOutcome.GONE, WriteOutcome.REFUSED, WriteOutcome.FAILED, WriteOutcome.DROPPED]
ENDED = [WriteOutcome.DONE, WriteOutcome.GONE]
OPEN = [WriteOutcome.REFUSED, WriteOutcome.FAILED, WriteOutcome.DROPPED]
PLACED = INITIALLY_SCHEDULED["PodGroup"]


def queue_of(scene: Scene) -> SchedulingQueue:
    return scene.scheduler._queue


def entity_of(scene: Scene, root: Name = G) -> QueuedEntity:
    return queue_of(scene).entities.by_root[root]


def node_of(scene: Scene, name: str = "g-0") -> str:
    return scene.store.usage.node_of(scene.store.usage.pods.pods[f"default/{name}"])


def flying(count: int = 1, *more: Json, **options: Any) -> tuple[Scene, list[Any]]:
    """A scene in which the binds of a gang are under way, on a node that nothing else fits on."""
    scene = Scene(node("n1", cpu=str(count)), *gang("g", count), *more, **options)
    return scene, of(Bind, scene.writes())


# Binds.


@pytest.mark.parametrize(
    ("outcome", "want"),
    [
        pytest.param(WriteOutcome.DONE, "n1", id="it is there"),
        pytest.param(WriteOutcome.GONE, "", id="the pod is gone"),
        pytest.param(WriteOutcome.REFUSED, "", id="it was refused"),
        pytest.param(WriteOutcome.DROPPED, "", id="it was not tried"),
        pytest.param(WriteOutcome.FAILED, "n1", id="it may be there"),
    ],
)
def test_resources_are_freed_only_where_the_bind_is_known_to_have_failed(outcome, want):
    scene, binds = flying()
    scene.end(binds, outcome)
    assert want == node_of(scene)
    assert {} == queue_of(scene).binds.by_pod


@pytest.mark.parametrize(
    ("outcome", "want"),
    [
        pytest.param(WriteOutcome.DONE, 0, id="made"),
        pytest.param(WriteOutcome.GONE, 0, id="of a pod that is gone"),
        pytest.param(WriteOutcome.DROPPED, 0, id="not tried"),
        pytest.param(WriteOutcome.REFUSED, 1, id="refused"),
        pytest.param(WriteOutcome.FAILED, 1, id="given up"),
    ],
)
def test_event_on_the_pod_reports_a_bind(outcome, want):
    scene, binds = flying(2)
    events = of(RecordEvent, scene.end(binds[:1], outcome))
    assert [("g-0", "FailedScheduling")] * want == told(events)
    assert ["binding default/g-0 to n1 failed: so it is"] * want == [each.message for each in events]


def test_bind_without_a_result_is_repeated_after_each_backoff():
    scene, binds = flying()
    for seconds in (1.0, 2.0, 4.0):
        scene.end(binds, WriteOutcome.FAILED)
        assert [] == of(Bind, scene.wait(seconds - 0.25))
        assert binds == of(Bind, scene.wait(0.25))
        assert Binding is type(entity_of(scene).state)
    assert TRUE == said(scene.end(binds))


def test_bind_that_shows_after_all_is_not_repeated():
    scene, binds = flying(2)
    scene.end(binds, WriteOutcome.FAILED)
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    assert ["g-1"] == [bind.pod.name for bind in of(Bind, scene.wait(10))]


def test_gang_is_not_said_to_be_placed_while_nothing_is_known_of_one_bind():
    scene, binds = flying(2)
    assert "True" not in [status for _, _, status in said(scene.end(binds[:1]) + scene.end(binds[1:], WriteOutcome.FAILED))]


@pytest.mark.parametrize("outcome", list(WriteOutcome))
def test_root_is_left_alone_until_its_last_bind_has_ended(outcome):
    scene, binds = flying(2)
    scene.end(binds[:1], outcome)
    assert (Binding, [binds[1].pod]) == (type(entity_of(scene).state), [*queue_of(scene).binds.by_pod])
    assert [] == scene.wait(1000)


@pytest.mark.parametrize("outcome", NOT_DONE)
def test_attempt_in_which_a_bind_failed_counts_once_however_many_failed(outcome):
    scene, binds = flying(3)
    scene.end(binds[:1])
    scene.end(binds[1:], outcome)
    assert (1, 1) == (entity_of(scene).bind_failures, entity_of(scene).attempts)


@pytest.mark.parametrize("outcome", [WriteOutcome.REFUSED, WriteOutcome.FAILED, WriteOutcome.DROPPED])
def test_back_off_grows_while_binds_fail_and_begins_anew_once_they_succeed(outcome):
    scene, binds = flying(max_bind_failures=99)
    for seconds in (1.0, 2.0, 4.0, 8.0, 10.0):
        scene.end(binds, outcome)
        assert [] == of(Bind, scene.wait(seconds - 0.25))
        binds = of(Bind, scene.wait(0.25))
        assert {"g-0": "n1"} == nodes_of(binds)
    entity = entity_of(scene)
    scene.end(binds)
    assert (0, 0) == (entity.bind_failures, entity.attempts)


def test_bind_of_a_deleted_root_frees_its_resources_unless_it_succeeded():
    for outcome in WriteOutcome:
        scene, binds = flying()
        scene.delete("PodGroup", "g")
        scene.wait(0)
        assert [] == said(scene.end(binds, outcome))
        assert ("n1" if outcome is WriteOutcome.DONE else "") == node_of(scene)
        assert {} == queue_of(scene).binds.by_pod


@pytest.mark.parametrize("outcome", OPEN)
def test_pod_whose_bind_fails_after_its_group_was_recreated_is_bound_for_it(outcome):
    scene, binds = flying()
    scene.delete("PodGroup", "g")
    scene.wait(0)
    scene.put(leaf("g", 1))
    scene.wait(0)
    scene.end(binds, outcome)
    assert (0, "") == (entity_of(scene).bind_failures, node_of(scene))
    assert {"g-0": "n1"} == nodes_of(scene.wait(0))


@pytest.mark.parametrize("outcome", list(WriteOutcome))
def test_bind_of_before_a_restart_is_not_taken_for_the_one_that_was_begun_since(outcome):
    scene = Scene(node("n1", cpu="1"), node("n2", cpu="1"), *gang("g", 1))
    old = of(Bind, scene.writes())
    scene.put(node(old[0].node, cpu="1", unschedulable=True))
    scene.scheduler.restart()
    new = of(Bind, scene.wait(0))
    assert {old[0].node, new[0].node} == {"n1", "n2"}
    assert [] == said(scene.end(old, outcome))
    assert (new[0].node, Binding) == (node_of(scene), type(entity_of(scene).state))
    assert TRUE == said(scene.end(new))


def test_same_bind_of_before_a_restart_counts():
    scene, old = flying()
    scene.scheduler.restart()
    new = of(Bind, scene.wait(0))
    assert old == new
    assert TRUE == said(scene.end(old))
    assert [] == scene.end(new)
    assert "n1" == node_of(scene)


def test_single_pod_has_its_event_whether_or_not_the_bind_shows_already():
    for shows in (False, True):
        scene = Scene(node("n1"), pod("lone", **MUSTER))
        binds = of(Bind, scene.writes())
        if shows:
            scene.put(bound(pod("lone", **MUSTER), "n1"))
            scene.wait(0)
        events = scene.end(binds)
        assert [("lone", "Scheduled")] == told(events)
        assert "Successfully assigned default/lone to n1" == events[0].message
        assert binds[0].pod == events[0].target


@pytest.mark.parametrize("outcome", NOT_DONE)
def test_single_pod_that_was_not_bound_is_not_said_to_be(outcome):
    scene = Scene(node("n1"), pod("lone", **MUSTER))
    assert "Scheduled" not in [reason for _, reason in told(scene.end(of(Bind, scene.writes()), outcome))]


def test_single_pod_that_is_opened_has_its_event_from_its_scheduler():
    scene = Scene(node("n1"), pod("lone", **GATED), place=False, ungate=True)
    opened = of(Ungate, scene.writes())
    assert (1, []) == (len(opened), scene.end(opened))


def test_tree_is_remembered_as_placed_only_where_its_root_is():
    tree = [composite("top", 1), leaf("a", 1, parent="top"), leaf("b", 2, parent="top"), *pods("a", 1, **MUSTER), *pods("b", 1, **MUSTER)]
    scene = Scene(node("n1"), *tree)
    scene.end(of(Bind, scene.writes()))
    found = {each.key[2]: each.binds_acknowledged for each in scene.store.groups()}
    assert {"top": True, "a": False, "b": False} == found


def test_gang_has_one_event_however_many_binds():
    scene, binds = flying(2)
    assert [("g", "Scheduled")] == told(scene.end(binds))


def test_gang_that_lacks_members_in_the_end_is_not_remembered_as_placed():
    scene, binds = flying(2)
    scene.end(binds[:1])
    scene.end(binds[1:], WriteOutcome.REFUSED)
    assert [False] == [each.binds_acknowledged for each in scene.store.groups()]


# Conditions.


def recorded(**options: Any) -> tuple[Scene, list[Any]]:
    """A gang whose pods are bound, and the condition that is to say so."""
    scene, binds = flying(**options)
    after = of(SetCondition, scene.end(binds))
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    scene.wait(0)
    return scene, after


@pytest.mark.parametrize("outcome", OPEN)
def test_record_that_a_gang_was_placed_is_repeated_later_each_time(outcome):
    scene, writes = recorded()
    for seconds in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        scene.end(writes, outcome)
        assert [] == scene.wait(seconds - 0.25)
        writes = of(SetCondition, scene.wait(0.25))
        assert TRUE == said(writes)
        scene.wait(0)


@pytest.mark.parametrize("outcome", ENDED)
def test_record_that_was_made_or_whose_group_is_gone_is_not_repeated(outcome):
    scene, writes = recorded()
    if outcome is WriteOutcome.GONE:
        scene.delete("PodGroup", "g")
    scene.end(writes, outcome)
    assert [] == scene.wait(1000)


def test_record_of_a_group_that_was_made_anew_does_not_wait_for_the_one_before():
    scene, writes = recorded()
    scene.end(writes, WriteOutcome.GONE)
    scene.delete("PodGroup", "g")
    scene.put(leaf("g", 1))
    assert TRUE == said(scene.wait(0))


def test_failures_of_one_record_count_once_however_many_groups_there_are():
    names = ["a", "b", "c"]
    tree = [composite("top", 3), *(leaf(name, 1, parent="top") for name in names), *(pods(name, 1, **MUSTER)[0] for name in names)]
    scene = Scene(node("n1"), *tree)
    writes = of(SetCondition, scene.end(of(Bind, scene.writes())))
    scene.end(writes, WriteOutcome.REFUSED)
    assert (4, 1) == (len(writes), entity_of(scene, Name("CompositePodGroup", "default", "top")).commit_failures)
    assert [] == said(scene.wait(0.75))
    assert writes == of(SetCondition, scene.wait(0.25))


def test_record_that_failed_is_forgotten_once_nothing_failed_for_a_long_time():
    scene, writes = recorded(flush_seconds=300.0)
    scene.end(writes, WriteOutcome.REFUSED)
    scene.end(of(SetCondition, scene.wait(1.0)))
    assert [] == scene.wait(299.75)
    assert 1 == entity_of(scene).commit_failures
    assert [] == scene.wait(0.25)
    assert {} == queue_of(scene).entities.by_root


@pytest.mark.parametrize(
    ("target", "type_", "status"),
    [
        pytest.param("g", PLACED, "False", id="that a group was not placed"),
        pytest.param("g", "DisruptionTarget", "True", id="that a group is to leave"),
        pytest.param("g", "muster.dev/Valid", "True", id="that a group is valid"),
        pytest.param("g-0", SCHEDULED, "False", id="why a pod waits"),
        pytest.param("none", PLACED, "True", id="of a group that is not there"),
    ],
)
@pytest.mark.parametrize("outcome", OPEN)
def test_other_conditions_are_not_repeated(target, type_, status, outcome):
    scene = Scene(node("n1", cpu="1"), *gang("g", 2))
    scene.writes()
    ref = Ref("Pod" if target == "g-0" else "PodGroup", "default", target)
    assert [] == scene.end([SetCondition(ref, Condition(type_, status, "Reason", ""))], outcome)
    assert (0, 0.0) == (entity_of(scene).commit_failures, entity_of(scene).commit_after)


@pytest.mark.parametrize("outcome", NOT_DONE)
def test_condition_that_was_not_written_is_written_with_the_next_failure(outcome):
    scene = Scene(node("n1", cpu="1"), *gang("g", 2), report_seconds=0.0)
    writes = of(SetCondition, scene.writes())
    assert [] == said(scene.wait(301))
    scene.end(writes, outcome)
    assert said(writes) == said(scene.wait(301))


# Nominations.


def test_nomination_counts_as_long_as_the_plan():
    scene = Crowded()
    victims = [write.pod.name for write in scene.plan()]
    scene.approve()
    scene.put(leaf("thief", 1, priority=5), pod("thief-0", "thief", priority=5, **MUSTER))
    scene.delete("Pod", victims[0])
    assert {} == nodes_of(scene.wait(0))
    scene.delete("Pod", victims[1])
    assert {"g-0": "n1", "g-1": "n1"} == nodes_of(scene.wait(0))


def test_nobody_is_evicted_before_all_nominations_are_written():
    scene = Crowded()
    plan = scene.plan()
    first, last = writes = list(scene.scheduler.approve(G, scene.now))
    assert [Nominate, Nominate] == [type(each) for each in writes]
    assert [] == scene.end([first])
    assert plan == tuple(of(Evict, scene.end([last])))


@pytest.mark.parametrize("outcome", NOT_DONE)
def test_plan_without_a_written_nomination_evicts_no_pod_and_is_made_again(outcome):
    scene = Crowded()
    plan = scene.plan()
    first, last = scene.scheduler.approve(G, scene.now)
    taken_back = scene.end([first], outcome)
    assert {("g-0", ""), ("g-1", "")} == {(write.pod.name, write.node) for write in taken_back}
    assert [] == scene.end([last, *taken_back])
    assert ([False, False], {}) == ([leaves(scene, each) for each in plan], queue_of(scene).entities.plans)
    (again,) = [each.plan for each in scene.scheduler.attempt(scene.now + 20) if each.plan]
    assert plan == again


def two_plans() -> tuple[Scene, Name, Name, dict[Name, tuple[Evict, ...]]]:
    """Two roots of one cycle with their plans, in their order."""
    scene = Crowded(leaf("h", 2, priority=10), *pods("h", 2, priority=10, **MUSTER))
    plans = {each.root: each.plan for each in scene.scheduler.attempt(scene.now) if each.plan}
    first, second = plans
    return scene, first, second, plans


def test_later_plan_waits_for_the_earlier_one_whichever_dry_run_ends_first():
    scene, first, second, plans = two_plans()
    assert [] == scene.approve(second)
    assert [*plans[first], *plans[second]] == of(Evict, scene.approve(first))


def test_later_plan_is_dropped_if_the_earlier_one_is_decided_again():
    scene, first, second, plans = two_plans()
    scene.put(pod("new", "absent"))
    assert [*plans[first]] == of(Evict, scene.approve(first))
    assert ([first], [False, False]) == ([*queue_of(scene).entities.plans], [leaves(scene, each) for each in plans[second]])
    assert [second] == [each.root for each in scene.scheduler.attempt(scene.now) if each.plan]


def test_plan_behind_one_that_is_gone_is_not_left_waiting():
    scene, first, second, _ = two_plans()
    assert [] == scene.approve(second)
    scene.delete("Pod", f"{first.name}-0", f"{first.name}-1")
    (again,) = [each for each in scene.scheduler.attempt(scene.now) if each.plan]
    assert second == again.root
    assert [*again.plan] == of(Evict, scene.approve(second))


def test_pod_whose_bind_fails_keeps_the_capacity_that_its_victims_freed():
    scene = Crowded(node("n2", cpu="4"), pod("full", cpu="4", on="n2", priority=20))
    victims = [write.pod.name for write in scene.plan()]
    scene.end(scene.approve())
    # It is placed elsewhere than planned.
    scene.delete("Pod", "full")
    scene.put(pod("new", cpu="2", on="n1", priority=20))
    scene.delete("Pod", *victims)
    binds = of(Bind, scene.wait(0))
    assert {"g-0": "n2", "g-1": "n2"} == nodes_of(binds)
    scene.end(binds, WriteOutcome.REFUSED)
    assert {"n2"} == {scene.store.usage.pods.pods[f"default/g-{number}"].nominated for number in range(2)}


@pytest.mark.parametrize(("outcome", "want"), [(WriteOutcome.DONE, ""), *((each, "n1") for each in NOT_DONE)])
def test_nomination_that_could_not_be_cleared_is_kept(outcome, want):
    scene = Scene(
        node("n1", cpu="1"), pod("other", on="n1", priority=9), leaf("g", 1), pod("g-0", "g", nominated="n1", **MUSTER), preempt=True
    )
    scene.end(of(Nominate, scene.writes()), outcome)
    assert want == scene.store.usage.pods.pods["default/g-0"].nominated


# Evictions.


def under_way(**options: Any) -> tuple[Crowded, list[Evict]]:
    """A plan whose evictions are sent."""
    scene = Crowded(**options)
    scene.plan()
    return scene, of(Evict, scene.approve())


def leaves(scene: Scene, write: Evict) -> bool:
    found = scene.store.pod(write.pod)
    return found is not None and found.deletion_assumed


@pytest.mark.parametrize(("outcome", "want"), [*((each, True) for each in ENDED), *((each, False) for each in OPEN)])
def test_victim_counts_as_leaving_unless_its_eviction_failed(outcome, want):
    scene, evictions = under_way()
    assert [] == scene.end(evictions[:1], outcome)
    assert (want, True) == (leaves(scene, evictions[0]), leaves(scene, evictions[1]))


@pytest.mark.parametrize("outcome", OPEN)
def test_plan_goes_on_with_the_victims_that_are_left(outcome):
    scene, evictions = under_way()
    scene.end(evictions[:1], outcome)
    plan = queue_of(scene).entities.plans[G]
    assert [evictions[1].pod] == [*plan.victims.values()]
    assert ([], Preempting) == (scene.wait(100), type(entity_of(scene).state))


@pytest.mark.parametrize("outcome", OPEN)
def test_plan_ends_when_no_victim_is_left_and_is_not_repeated_without_a_change(outcome):
    scene, evictions = under_way()
    scene.end(evictions, outcome)
    assert (Backoff, {}) == (type(entity_of(scene).state), queue_of(scene).entities.plans)
    again = [each for each in scene.scheduler.attempt(scene.now + 2) if each.root == G]
    assert [()] == [each.plan for each in again]


def test_root_whose_last_victim_refused_is_placed_in_what_came_free_meanwhile():
    scene, evictions = under_way()
    scene.put(node("n2", cpu="4"))
    assert [] == of(Bind, scene.wait(1)), "its victims are on their way"
    scene.end(evictions, WriteOutcome.REFUSED)
    assert [] == of(Bind, scene.wait(0)), "it backs off"
    assert {"g-0": "n2", "g-1": "n2"} == nodes_of(scene.wait(10))


@pytest.mark.parametrize(
    ("refused", "want"),
    [
        pytest.param(["low-0"], [], id="the other left"),
        pytest.param(["low-0", "low-1"], [("low", "DisruptionTarget", "")], id="nobody left"),
    ],
)
def test_group_of_which_nobody_leaves_after_all_is_disrupted_no_more(refused, want):
    low = [{**leaf("low", 2, priority=0, disruptionMode={"all": {}})}, *pods("low", 2, on="n1", priority=0)]
    scene = Scene(node("n1", cpu="2"), *low, leaf("g", 2, priority=10), *pods("g", 2, priority=10, **MUSTER), preempt=True)
    scene.writes()
    writes = scene.approve()
    assert [("low", "DisruptionTarget", "True")] == said([*writes])
    found = []
    for write in of(Evict, [*writes]):
        found += scene.end([write], WriteOutcome.REFUSED if write.pod.name in refused else WriteOutcome.DONE)
    assert want == said(found)


def test_eviction_that_fails_leaves_the_plans_of_others_alone():
    scene = Crowded(leaf("h", 2, priority=10), *pods("h", 2, priority=10, **MUSTER))
    plans = {each.root: each.plan for each in scene.scheduler.attempt(scene.now) if each.plan}
    for root in plans:
        scene.approve(root)
    scene.end([*plans[G]], WriteOutcome.REFUSED)
    (left,) = queue_of(scene).entities.plans.values()
    assert ("h", {each.pod for each in plans[Name("PodGroup", "default", "h")]}) == (left.root.name, {*left.victims.values()})


def test_eviction_that_fails_when_its_root_is_gone_leaves_the_victim_where_it_is():
    scene, evictions = under_way()
    scene.delete("Pod", "g-0", "g-1")
    scene.wait(0)
    assert [] == scene.end(evictions, WriteOutcome.REFUSED)
    assert [False, False] == [leaves(scene, each) for each in evictions]


@pytest.mark.parametrize("outcome", OPEN)
def test_eviction_before_a_restart_requires_a_new_proof_of_the_plan(outcome):
    scene, evictions = under_way()
    scene.scheduler.restart()
    plan = scene.plan()
    assert {each.pod for each in evictions} == {each.pod for each in plan}
    assert [] == scene.end(evictions, outcome)
    assert scene.scheduler.awaits(G, plan)
    assert plan == tuple(of(Evict, scene.approve()))


def test_gang_of_a_victim_that_is_not_evicted_is_attempted_again():
    other = {"schedulingGates": [{"name": "other"}]}
    partial = [
        leaf("r", 2, priority=0),
        bound(pod("r-0", "r", priority=0, **MUSTER), "n1"),
        pod("r-1", "r", priority=0, **{**other, **MUSTER}),
    ]
    scene = Scene(node("n1", cpu="1"), *partial, preempt=True, partial_seconds=30.0, plan_seconds=9999.0)
    scene.writes()
    scene.put(leaf("g", 1, priority=10), pod("g-0", "g", priority=10, **MUSTER))
    (plan,) = [each.plan for each in scene.scheduler.attempt(scene.now) if each.plan]
    scene.approve()
    assert ["r-0"] == [write.pod.name for write in plan]
    assert [] == of(Remove, scene.wait(40)), "it leaves"
    scene.end([*plan], WriteOutcome.FAILED)
    assert [] == of(Remove, scene.wait(0) + scene.wait(29))
    assert ["r-0"] == [write.pod.name for write in of(Remove, scene.wait(31))], "it could not be finished"


# Deletions.


def undone(**options: Any) -> tuple[Scene, list[Any]]:
    """A gang that is partial, for which there is no room, and the deletion of what is bound of it."""
    scene = Scene(node("n1", cpu="2"), pod("other", on="n1"), *gang("g", 2), **options)
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    return scene, of(Remove, scene.writes())


@pytest.mark.parametrize("outcome", ENDED)
def test_gang_that_is_undone_waits_for_its_pods_to_go(outcome):
    scene, removals = undone()
    assert (1, []) == (len(removals), scene.end(removals, outcome))
    assert [] == scene.wait(1000)


@pytest.mark.parametrize("outcome", OPEN)
def test_gang_that_could_not_be_undone_is_tried_again_after_its_back_off(outcome):
    scene, removals = undone()
    scene.end(removals, outcome)
    assert [] == scene.wait(0.75)
    scene.delete("Pod", "other")
    assert {"g-1": "n1"} == nodes_of(scene.wait(0.25))


def test_deletion_of_a_pod_that_is_gone_by_then_is_nothing():
    scene, removals = undone()
    scene.delete("Pod", "g-0")
    assert [] == scene.end(removals, WriteOutcome.FAILED)


def test_undone_gang_is_left_alone_for_a_while_and_its_failures_are_reset():
    scene = Scene(node("n1"), *gang("g", 2), max_bind_failures=3)
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    removals: list[Any] = []
    while not removals:
        writes = scene.wait(20)
        removals = of(Remove, writes)
        scene.end(of(Bind, writes), WriteOutcome.REFUSED)
    assert "pods that it needs are missing, gated or could not be bound" in of(RecordEvent, writes)[-1].message
    entity = entity_of(scene)
    assert (0, True) == (entity.bind_failures, scene.now < entity.backoff_expiration)


def pinned(*more: Json, **options: Any) -> Scene:
    """A gang that is pinned to n1 and does not come to be bound."""
    first = pod("g-0", "g", nodeSelector={HOST: "n1"})
    first["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
    return Scene(node("n1"), leaf("g", 2), first, *more, **{"place": False, "ungate": True, "deviations": Deviations.UNDO, **options})


def test_pinned_pods_that_cannot_be_deleted_are_not_retried_at_once():
    scene = pinned(bound(pod("g-1", "g"), "n1"))
    scene.wait(0)
    for _ in range(3):
        assert [] == of(Remove, scene.wait(299.75))
        removals = of(Remove, scene.wait(0.25))
        assert ["g-0"] == [write.pod.name for write in removals]
        assert "its pods were not bound to the nodes to which they are pinned" in removals[0].message
        scene.end(removals, WriteOutcome.REFUSED)


def test_pinned_gang_is_undone_once_where_what_is_left_of_it_is_not_ours():
    scene = pinned(bound(pod("g-1", "g"), "n1"))
    writes = scene.wait(0) + scene.wait(300)
    assert ([("g", "PlacementDeviated"), ("g", "PlacementUndone")], 1) == (told(writes), len(of(Remove, writes)))
    assert [] == scene.wait(1000)


@pytest.mark.parametrize("task", [Action.SCHEDULE, Action.REBIND], ids=["it needs a decision", "there is no bind to repeat"])
def test_task_that_cannot_be_done_without_a_decision_is_a_mistake(task):
    scene = Scene(node("n1"), *gang("g", 1))
    queue = queue_of(scene)
    queue.handle_changes(0.0)
    entity, found = queue.entities.pop(), queue.status_of(G)
    assert entity is not None
    assert found is not None
    with pytest.raises(ValueError, match="internal error"):
        scene.scheduler._write_results.perform_action(task, entity, found, 0.0)


# Others.


@pytest.mark.parametrize("outcome", list(WriteOutcome))
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(RecordEvent(Ref("PodGroup", "default", "g"), "Normal", "Reason", ""), id="an event"),
        pytest.param(AddFinalizer(Ref("PodGroup", "default", "g"), "f"), id="a finalizer"),
        pytest.param(RemoveFinalizer(Ref("PodGroup", "default", "g"), "f"), id="the end of a finalizer"),
    ],
)
def test_nothing_follows_from_how_it_ended(write, outcome):
    scene, _ = flying()
    before = queue_of(scene).entities.due(scene.now)
    assert [] == scene.end([write], outcome)
    assert before == queue_of(scene).entities.due(scene.now)
