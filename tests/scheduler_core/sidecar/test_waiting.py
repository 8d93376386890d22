"""Roots that wait for members, parents, gates or replacements: their conditions and explanations."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.sidecar.writes import Bind, Deviations, RecordEvent, Remove, SetCondition, Ungate, WriteOutcome
from tests.scheduler_core.builders import composite, leaf, message_of, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, TRUE, Scene, bound, gang, of, said

OTHER_GATE = {"schedulingGates": [{"name": "quota"}]}


def reports(writes: list[Any]) -> dict[str, str]:
    """Return the messages of conditions with reason Waiting, by group."""
    waiting = [each for each in of(SetCondition, writes) if each.condition.reason == "Waiting"]
    assert all(each.condition.status == "False" for each in waiting)
    assert all(each.condition.type == INITIALLY_SCHEDULED[each.target.kind] for each in waiting)
    return {each.target.name: each.condition.message for each in waiting}


def members(count: int, **more: Any) -> list[Json]:
    return pods("g", count, **{**MUSTER, **more})


def explained(scene: Scene, name: str = "g") -> tuple[str, str, str]:
    result = scene.scheduler.explain("default", name)
    assert result is not None
    return result.decision.status, message_of(result.decision), result.writes["queue"]


FEW = 'PodGroup "g" has 1 of 3 pods, 2 missing'


def test_a_gang_that_lacks_members_says_so_after_two_seconds_and_once():
    scene = Scene(node("n1"), leaf("g", 3), *members(1))
    assert {} == reports(scene.writes()) | reports(scene.wait(1.75))
    writes = scene.wait(0.25)
    assert ({"g": FEW}, 1) == (reports(writes), len(writes))
    assert [] == scene.end(writes)
    assert [] == scene.wait(1000)


def test_a_gang_whose_members_come_within_two_seconds_is_not_reported():
    scene = Scene(node("n1"), leaf("g", 3), *members(1))
    scene.wait(1.0)
    scene.put(*members(3))
    assert 3 == len(of(Bind, scene.writes()))
    assert {} == reports(scene.wait(100))


def test_changes_are_reported_at_most_every_ten_seconds():
    scene = Scene(node("n1"), leaf("g", 9), *members(1))
    written = {}
    for second in range(40):
        if second < 6:
            scene.put(*members(second + 2))
        for message in reports(scene.wait(1.0)).values():
            written[second] = message
    assert [2, 12] == [*written]
    assert 'PodGroup "g" has 7 of 9 pods, 2 missing' == written[12]


@pytest.mark.parametrize(
    ("objects", "name", "text"),
    [
        pytest.param([leaf("g", 1), *members(1, **OTHER_GATE)], "g", "scheduling gates of members: default/g-0 [quota]", id="a gate"),
        pytest.param([leaf("g", 1, parent="top"), *members(1)], "g", 'waiting for CompositePodGroup "top", the parent', id="a parent"),
        pytest.param(
            [composite("top", 2), leaf("g", 1, parent="top"), *members(1)], "top", "has 1 of 2 ready child groups", id="a child group"
        ),
    ],
)
def test_each_precondition_is_named(objects, name, text):
    scene = Scene(node("n1"), *objects)
    scene.writes()
    found = reports(scene.wait(2.0))
    assert text in found[name]
    assert {each["metadata"]["name"] for each in objects if each["kind"] != "Pod"} == {*found}
    status, message, queue = explained(scene)
    assert ("Wait", "gated") == (status, queue)
    assert text in message


def test_the_report_gives_way_to_the_next_decision():
    scene = Scene(node("n1", cpu="1"), leaf("g", 2), *members(1))
    scene.writes()
    scene.end(scene.wait(2.0))
    scene.put(*members(2))
    reasons = {each.condition.reason for each in of(SetCondition, scene.wait(1.0)) if each.target.kind == "PodGroup"}
    assert {"Unschedulable"} == reasons


def test_a_gang_that_was_found_unschedulable_and_loses_a_member_waits():
    scene = Scene(node("n1", cpu="1"), leaf("g", 2), *members(2))
    scene.end(scene.writes())
    scene.delete("Pod", "g-1")
    scene.writes()
    assert {"g": 'PodGroup "g" has 1 of 2 pods, 1 missing'} == reports(scene.wait(2.0))


def test_a_report_that_could_not_be_written_is_repeated():
    scene = Scene(node("n1"), leaf("g", 3), *members(1))
    scene.writes()
    for seconds in (2.0, 10.0, 10.0):
        writes = scene.wait(seconds)
        assert {"g": FEW} == reports(writes)
        scene.end(writes, WriteOutcome.REFUSED)
    scene.end(scene.wait(10.0))
    assert [] == scene.wait(1000)


def test_nothing_is_written_after_a_restart_when_the_condition_is_right():
    scene = Scene(node("n1"), leaf("g", 3), *members(1))
    scene.writes()
    (write,) = of(SetCondition, scene.wait(2.0))
    group = leaf("g", 3)
    condition = write.condition
    group["status"] = {
        "conditions": [{"type": condition.type, "status": condition.status, "reason": condition.reason, "message": condition.message}]
    }
    scene.put(group)
    scene.restart()
    assert [] == scene.wait(1000)


def test_a_group_that_was_scheduled_is_not_reported():
    scene = Scene(node("n1"), *gang("g", 2))
    assert TRUE == said(scene.end(of(Bind, scene.writes())))
    scene.put(*(bound(each, "n1") for each in members(2)), pod("g-9", "g", **MUSTER, **OTHER_GATE))
    assert {} == reports(scene.wait(100))


def test_a_single_pod_with_a_gate_is_left_to_the_api_server():
    scene = Scene(node("n1"), pod("lone", **MUSTER, **OTHER_GATE))
    assert [] == scene.wait(100)


def partial(**options: Any) -> Scene:
    """A gang of three that lost a pod while it was being bound; the scheduler's clock began at 2026-01-01."""
    scene = Scene(node("n1"), *gang("g", 3), epoch=1_767_225_600.0, **options)
    binds = of(Bind, scene.writes())
    scene.delete("Pod", "g-2")
    scene.end(binds[:2])
    scene.end(binds[2:], WriteOutcome.GONE)
    return scene


LOST = (
    "partially bound: waiting until 2026-01-01T00:00:30Z for the missing pods; then the 2 pods with a node are deleted; "
    'waiting for minCount pods from a gang to appear in scheduling queue: PodGroup "g" has 2 of 3 pods, 1 missing'
)


def test_a_gang_that_loses_a_pod_while_binding_reports_how_long_it_waits():
    scene = partial()
    writes = scene.writes()
    assert {"g": LOST} == reports(writes)
    assert [("Warning", "Waiting", LOST)] == [(each.type, each.reason, each.message) for each in of(RecordEvent, writes)]
    assert ("Wait", LOST, "gated") == explained(scene)
    assert [] == of(Remove, scene.wait(29.75))
    assert 2 == len(of(Remove, scene.wait(0.25)))


def test_a_gang_whose_lost_pod_is_replaced_in_time_is_scheduled():
    scene = partial()
    scene.end(scene.writes())
    scene.put(*(bound(each, "n1") for each in members(2)), pod("g-3", "g", **MUSTER))
    assert TRUE == said(scene.end(of(Bind, scene.wait(1.0))))


def test_pinned_pods_that_their_scheduler_does_not_bind_say_until_when_they_wait():
    scene = Scene(
        node("n1"), leaf("g", 2), *pods("g", 2, **GATED), place=False, ungate=True, deviations=Deviations.UNDO, epoch=1_767_225_600.0
    )
    scene.end(of(Ungate, scene.writes()))
    scene.writes()
    (message,) = reports(scene.wait(2.0)).values()
    assert "waiting until 2026-01-01T00:05:00Z for the scheduler of its 2 pinned pods; then they are deleted" == message


def test_many_reports_do_not_delay_events_and_decisions():
    """A cycle has a limited number of reports, and they come after the roots that can be placed, whatever their priority."""
    waiting = [each for name in range(9) for each in (leaf(f"w{name}", 2, priority=9), *pods(f"w{name}", 1, priority=9, **MUSTER))]
    scene = Scene(node("n1"), *waiting, batch_roots=4, settle_seconds=2.0)
    scene.writes()
    scene.put(*gang("g", 1))
    scene.scheduler.attempt(scene.now)
    scene.now = 2.0
    cycles = [[write for each in scene.scheduler.attempt(scene.now) for write in each.writes] for _ in range(4)]
    assert [(["g-0"], 3), ([], 4), ([], 2), ([], 0)] == [
        ([each.pod.name for each in of(Bind, cycle)], len(reports(cycle))) for cycle in cycles
    ]


def child_that_lost_a_pod() -> Scene:
    """A tree that was scheduled with child *a*; child *b* lost a pod while it was bound."""
    scene = Scene(node("n1", cpu="9"), composite("top", 1), leaf("a", 1, parent="top"), *pods("a", 1, **MUSTER))
    scene.end(scene.end(of(Bind, scene.writes())))
    scene.put(bound(pod("a-0", "a", **MUSTER), "n1"), leaf("b", 3, parent="top"), *pods("b", 3, **MUSTER), leaf("c", 1, parent="top"))
    binds = of(Bind, scene.wait(1.0))
    scene.delete("Pod", "b-2")
    scene.end(binds[:2])
    scene.end(binds[2:], WriteOutcome.GONE)
    return scene


def test_a_gang_below_a_root_that_was_scheduled_reports_it_too_and_alone():
    scene = child_that_lost_a_pod()
    writes = scene.writes()
    (message,) = reports(writes).values()
    assert (["b"], ["Waiting"]) == ([*reports(writes)], [each.reason for each in of(RecordEvent, writes)])
    assert message.startswith("partially bound: waiting until 1970-01-01T00:00:31Z for the missing pods; then the 2 pods")
    assert ("Wait", message, "gated") == explained(scene, "b")
    assert ["b-0", "b-1"] == [each.pod.name for each in of(Remove, scene.wait(30.0))]


def test_a_group_that_waits_in_a_tree_that_was_scheduled_reports_it():
    scene = Scene(node("n1"), composite("top", 1), leaf("a", 1, parent="top"), *pods("a", 1, **MUSTER))
    scene.end(scene.end(of(Bind, scene.writes())))
    scene.put(bound(pod("a-0", "a", **MUSTER), "n1"), leaf("b", 1, parent="top"), *pods("b", 1, **MUSTER, **OTHER_GATE))
    scene.writes()
    assert {"b": "waiting for scheduling gates of members: default/b-0 [quota]"} == reports(scene.wait(2.0))


def test_a_gang_that_is_undone_says_so_also_when_no_new_pod_comes():
    scene = partial()
    scene.end(scene.writes())
    writes = scene.wait(30.0)
    why = "pods that it needs are missing, gated or could not be bound"
    message = f"partially bound and not completed: {why}; the 2 pods with a node were deleted"
    assert {"g": message} == reports(writes)
    assert ["PlacementUndone"] == [each.reason for each in of(RecordEvent, writes)]
    assert ("Wait", message, "") == explained(scene)
    scene.end(writes)
    scene.delete("Pod", "g-0", "g-1")
    assert {} == reports(scene.wait(100))


def test_a_gang_with_pods_that_are_being_deleted_names_no_time():
    """It is not undone before they are gone."""
    scene = partial()
    scene.end(scene.writes())
    leaving = bound(pod("g-1", "g", **MUSTER), "n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scene.put(leaving)
    scene.writes()
    (message,) = reports(scene.wait(2.0)).values()
    assert message.startswith("partially bound: waiting until its pods that are being deleted are gone; ")
    assert [] == of(Remove, scene.wait(100.0))
    scene.delete("Pod", "g-1")
    assert ["g-0"] == [each.pod.name for each in of(Remove, scene.wait(1.0))]


def test_one_pod_is_counted_in_the_singular():
    scene = Scene(node("n1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    scene.delete("Pod", "g-1")
    scene.end(binds[:1])
    scene.end(binds[1:], WriteOutcome.GONE)
    assert "; then the 1 pod with a node is deleted; " in reports(scene.writes())["g"]


def test_a_large_tree_that_is_being_created_is_reported_less_often():
    """A report of 201 groups is followed by a pause of 20 s."""
    names = [f"l{number}" for number in range(200)]
    scene = Scene(node("n1"), composite("top", 200), *(leaf(name, 1, parent="top") for name in names), pod("l0-0", "l0", **MUSTER))
    written = {}
    for second in range(60):
        if 0 < second < 40:
            scene.put(pod(f"l{second}-0", f"l{second}", **MUSTER))
        if count := len(reports(scene.wait(1.0))):
            written[second] = count
    assert [2, 23, 33, 43] == [*written]
    assert 201 == written[2]


@pytest.mark.parametrize("group", [leaf("g", 3), leaf("g")], ids=["a gang", "a basic group"])
def test_a_group_that_loses_all_its_pods_reports_it_once(group):
    gated = members(2, **OTHER_GATE)
    scene = Scene(node("n1"), group, *gated)
    scene.writes()
    scene.end(scene.wait(2.0))
    scene.delete("Pod", "g-0", "g-1")
    scene.writes()
    written = reports(scene.wait(20.0))
    assert [f'PodGroup "g" has 0 of {3 if "gang" in group["spec"]["schedulingPolicy"] else 1} pods, '] == [
        each.partition("pods, ")[0] + "pods, " for each in written.values()
    ]
    assert ([], 0) == (scene.wait(1000), sum(scene.scheduler.counts().values()))


def test_a_failed_gang_that_loses_all_its_pods_waits():
    for cpu, outcome in (("1", WriteOutcome.DONE), ("9", WriteOutcome.REFUSED)):
        scene = Scene(node("n1", cpu=cpu), *gang("g", 2))
        scene.end(scene.writes(), outcome)
        scene.delete("Pod", "g-0", "g-1")
        scene.writes()
        assert {"g": 'PodGroup "g" has 0 of 2 pods, 2 missing'} == reports(scene.wait(20.0))


def test_a_scheduled_or_recreated_group_reports_nothing_without_pods():
    scene = Scene(node("n1"), *gang("g", 2))
    scene.end(scene.end(of(Bind, scene.writes())))
    scene.delete("Pod", "g-0", "g-1")
    assert [] == scene.wait(100)
    scene = Scene(node("n1"), leaf("g", 3), *members(1))
    scene.writes()
    scene.delete("Pod", "g-0")
    scene.delete("PodGroup", "g")
    scene.put({**leaf("g", 3), "metadata": {**leaf("g", 3)["metadata"], "uid": "another"}})
    assert [] == scene.wait(100)
