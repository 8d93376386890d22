"""Binds that fail: conditions, events and explanations have the answer of the API server while the binds are retried, and after."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.sidecar.scheduling.explanation import MAX_FAILURES
from scheduler_core.sidecar.writes import MOST_URGENT, Bind, RecordEvent, SetCondition, Ungate, WriteOutcome
from tests.scheduler_core.builders import composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, TRUE, Scene, gang, of, said, told

FORBIDDEN = 'HTTP 403: pods "x" is forbidden'


def binding(count: int = 3, *more: Any, **options: Any) -> tuple[Scene, list[Any]]:
    """A scene in which the binds of gang *g* are in flight."""
    scene = Scene(node("n1", cpu="99"), *gang("g", count), *more, **options)
    return scene, of(Bind, scene.writes())


def fail_first(scene: Scene, writes: list[Any], why: str = FORBIDDEN) -> None:
    for write in writes:
        scene.scheduler.retried(write, why, scene.now)


def end(scene: Scene, writes: list[Any], outcome: WriteOutcome, why: str = FORBIDDEN) -> list[Any]:
    return [each for write in writes for each in scene.scheduler.done(write, outcome, why, scene.now)]


def conditions(writes: list[Any]) -> dict[str, tuple[str, str, str]]:
    return {each.target.name: (each.condition.status, each.condition.reason, each.condition.message) for each in of(SetCondition, writes)}


def explained(scene: Scene, name: str = "g") -> Any:
    result = scene.scheduler.explain("default", name)
    assert result is not None
    return result


def test_binds_retried_for_a_second_are_reported_once_with_the_api_servers_answer():
    scene, binds = binding()
    fail_first(scene, binds)
    assert [] == scene.wait(0.75)
    writes = scene.wait(0.25)
    message = f"0 of 3 pods are bound; binding default/g-0 to n1 failed: {FORBIDDEN}; it is retried"
    assert {"g": ("False", "SchedulerError", message)} == conditions(writes)
    assert [message] == [each.message for each in of(RecordEvent, writes)]
    assert [("g", "FailedScheduling")] == told(writes)
    assert [] == scene.wait(100)


def test_the_report_overtakes_the_binds_it_reports():
    scene, binds = binding()
    fail_first(scene, binds)
    (condition,) = of(SetCondition, scene.wait(1.0))
    assert MOST_URGENT == condition.urgency < min(each.urgency for each in binds)


def test_binds_that_succeed_within_a_second_are_not_reported():
    scene, binds = binding()
    fail_first(scene, binds[:1])
    assert TRUE == said(scene.end(binds))
    assert [] == scene.wait(100)


def test_a_bind_that_succeeds_after_the_report_leaves_no_trace_of_it():
    scene, binds = binding()
    fail_first(scene, binds[:1])
    assert ["g"] == [*conditions(scene.wait(1.0))]
    assert {"g": ("True", "Scheduled", "")} == conditions(scene.end(binds))


def test_the_report_counts_the_binds_that_are_done():
    scene, binds = binding()
    scene.end(binds[:1])
    fail_first(scene, binds[1:])
    ((_, _, message),) = conditions(scene.wait(1.0)).values()
    assert message.startswith("1 of 3 pods are bound; binding default/g-1 to n1 failed: ")


def test_a_failed_bind_is_reported_on_its_pod_and_on_the_group():
    scene, binds = binding(2)
    after = conditions(end(scene, binds, WriteOutcome.REFUSED))
    assert ("False", "SchedulerError", f"binding default/g-1 to n1 failed: {FORBIDDEN}") == after["g-1"]
    assert ("False", "SchedulerError", f"0 of 2 pods are bound; binding default/g-0 to n1 failed: {FORBIDDEN}; it is retried") == after["g"]


def test_an_equal_failure_of_the_next_attempt_writes_no_condition_again():
    scene, binds = binding(1, max_bind_failures=99)
    assert {"g", "g-0"} == {*conditions(end(scene, binds, WriteOutcome.REFUSED))}
    for seconds in (1.0, 2.0, 4.0):
        again = of(Bind, scene.wait(seconds))
        assert {} == conditions(end(scene, again, WriteOutcome.REFUSED))


@pytest.mark.parametrize("outcome", [WriteOutcome.GONE, WriteOutcome.DROPPED])
def test_a_bind_of_a_deleted_pod_or_of_a_former_leader_is_no_failure(outcome):
    scene, binds = binding(2)
    fail_first(scene, binds)
    assert {} == conditions(end(scene, binds, outcome))


def test_all_groups_of_a_tree_report_it():
    tree = [composite("top", 2), leaf("a", 1, parent="top"), leaf("b", 1, parent="top"), *pods("a", 1, **MUSTER), *pods("b", 1, **MUSTER)]
    scene = Scene(node("n1"), *tree)
    fail_first(scene, of(Bind, scene.writes()))
    assert {"top", "a", "b"} == {*conditions(scene.wait(1.0))}


def test_a_group_that_was_scheduled_keeps_its_condition():
    """The condition that a gang was scheduled is final, also for pods that come later."""
    scene, binds = binding(1)
    assert TRUE == said(scene.end(binds))
    scene.put(pod("g-9", "g", **MUSTER))
    more = of(Bind, scene.wait(1))
    after = conditions(end(scene, more, WriteOutcome.REFUSED))
    assert {"g-9"} == {*after}


def test_a_single_pod_has_an_event_at_once_and_a_condition_when_the_bind_has_failed():
    scene = Scene(node("n1"), pod("lone", **MUSTER))
    binds = of(Bind, scene.writes())
    fail_first(scene, binds)
    writes = scene.wait(1.0)
    assert ([("lone", "FailedScheduling")], {}) == (told(writes), conditions(writes))
    assert {"lone": ("False", "SchedulerError", f"binding default/lone to n1 failed: {FORBIDDEN}")} == conditions(
        end(scene, binds, WriteOutcome.REFUSED)
    )


def test_the_condition_of_a_pod_with_our_gate_is_left_to_the_api_server():
    scene = Scene(node("n1"), leaf("g", 1), *pods("g", 1, **GATED), place=False, ungate=True)
    writes = of(Ungate, scene.writes())
    assert ["g"] == [*conditions(end(scene, writes, WriteOutcome.REFUSED))]


def test_a_retry_of_before_a_restart_or_of_another_node_is_ignored():
    scene, binds = binding()
    fail_first(scene, [Bind(each.pod, "other") for each in binds])
    scene.scheduler.restart()
    fail_first(scene, binds)
    assert {} == conditions(scene.wait(10))


def test_an_explanation_separates_the_decision_from_its_writes():
    scene, binds = binding(4)
    before = explained(scene).writes
    assert {"queue": "binding", "binds": {"total": 4, "done": 0, "underWay": 4, "failed": 0}} == {
        key: before[key] for key in ("queue", "binds")
    }
    fail_first(scene, binds[2:3])
    scene.end(binds[:1])
    end(scene, binds[1:2], WriteOutcome.REFUSED, "no")
    during = explained(scene)
    assert "Success" == during.decision.status
    assert {"total": 4, "done": 1, "underWay": 2, "failed": 1} == during.writes["binds"]
    assert [
        {"pod": "default/g-1", "node": "n1", "reason": "no"},
        {"pod": "default/g-2", "node": "n1", "reason": FORBIDDEN},
    ] == during.writes["failures"]
    end(scene, binds[2:], WriteOutcome.REFUSED)
    after = explained(scene).writes
    assert ("backoff", {"total": 4, "done": 1, "underWay": 0, "failed": 3}) == (after["queue"], after["binds"])


def test_an_explanation_lists_a_limited_number_of_failures():
    scene, binds = binding(MAX_FAILURES + 5)
    fail_first(scene, binds)
    assert MAX_FAILURES == len(explained(scene).writes["failures"])


def test_an_explanation_of_a_gang_that_is_done_has_no_writes():
    scene, binds = binding(1)
    scene.end(scene.end(binds))
    scene.put(pod("g-0", "g", on="n1", **MUSTER))
    scene.wait(1)
    result = explained(scene)
    assert ("Success", "") == (result.decision.status, result.writes["queue"])


def test_an_explanation_has_no_binds_of_an_earlier_decision():
    scene, binds = binding(2)
    end(scene, binds, WriteOutcome.REFUSED)
    scene.delete("Node", "n1")
    scene.wait(10)
    result = explained(scene)
    assert ("UnschedulableAndUnresolvable", "unschedulable", []) == (
        result.decision.status,
        result.writes["queue"],
        result.writes["failures"],
    )
    assert {"total": 0, "done": 0, "underWay": 0, "failed": 0} == result.writes["binds"]
