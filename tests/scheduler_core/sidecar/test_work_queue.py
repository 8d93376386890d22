from __future__ import annotations

import pytest

from scheduler_core.sidecar.writer.work_queue import MAX_EVENTS, QueuedWrite, WorkQueue
from scheduler_core.sidecar.writes import AddFinalizer, Bind, Condition, Nominate, RecordEvent, Ref, RemoveFinalizer, SetCondition


def pod(name):
    return Ref("Pod", "a", name, f"uid-{name}")


def put(lanes, *writes):
    tasks = [QueuedWrite(write, 60.0) for write in writes]
    for each in tasks:
        lanes.add(each)
    return tasks


def drained(lanes, now=0.0):
    """Every write in the order in which it may be begun, each done at once."""
    found = []
    while (task := lanes.get(now)) is not None:
        found.append(task.write)
        lanes.done(task)
    return found


def test_writes_of_one_object_are_one_after_the_other():
    lanes = WorkQueue()
    first, second = put(lanes, Nominate(pod("x"), "n1"), Bind(pod("x"), "n1"))

    assert first is lanes.get(0.0)
    assert None is lanes.get(0.0)
    lanes.done(first)
    assert second is lanes.get(0.0)


def test_writes_of_several_objects_are_side_by_side():
    lanes = WorkQueue()
    tasks = put(lanes, Bind(pod("x"), "n"), Bind(pod("y"), "n"))

    assert tasks == [lanes.get(0.0), lanes.get(0.0)]


def test_a_bind_goes_before_a_condition_and_events_last():
    lanes = WorkQueue()
    event, condition, bind = (
        RecordEvent(pod("e"), "Normal", "R", ""),
        SetCondition(pod("c"), Condition("T", "True", "R", "")),
        Bind(pod("b"), "n"),
    )
    put(lanes, event, condition, bind)

    assert [bind, condition, event] == drained(lanes)
    assert 0 == len(lanes)


def test_a_failed_write_comes_again_at_its_time_and_holds_its_lane():
    lanes = WorkQueue()
    first, second = put(lanes, Nominate(pod("x"), "n1"), Bind(pod("x"), "n1"))
    lanes.get(0.0)
    lanes.add_after(first, 5.0)

    assert (None, 5.0) == (lanes.get(4.9), lanes.next_at())
    assert first is lanes.get(5.0)
    lanes.done(first)
    assert second is lanes.get(5.0)


@pytest.mark.parametrize("failed", [pytest.param(True, id="that did not get through"), pytest.param(False, id="whose turn has not come")])
def test_nothing_waits_for_an_event_of_its_object(failed):
    lanes = WorkQueue()
    (event,) = put(lanes, RecordEvent(pod("x"), "Warning", "FailedScheduling", "no room"))
    if failed:
        lanes.get(0.0)
        lanes.add_after(event, 5.0)
    (bind,) = put(lanes, Bind(pod("x"), "n1"))

    assert bind is lanes.get(0.0)
    lanes.done(bind)
    assert event is lanes.get(5.0)


def test_events_of_one_object_are_one_after_the_other():
    lanes = WorkQueue()
    first, second = put(lanes, *(RecordEvent(pod("x"), "Normal", reason, "") for reason in "AB"))

    assert [first, None] == [lanes.get(0.0), lanes.get(0.0)]
    lanes.done(first)
    assert second is lanes.get(0.0)


def condition(type_, status):
    return SetCondition(pod("x"), Condition(type_, status, "R", ""))


@pytest.mark.parametrize(
    ("waiting", "again", "want"),
    [
        pytest.param([condition("T", "True")], condition("T", "True"), False, id="a condition"),
        pytest.param([condition("T", "True"), condition("U", "True")], condition("T", "True"), False, id="one before another condition"),
        pytest.param([condition("T", "True"), condition("T", "")], condition("T", "True"), True, id="one that is taken back since"),
        pytest.param([condition("T", "True")], condition("T", "False"), True, id="one that says something else"),
        pytest.param([AddFinalizer(pod("x"), "f")], AddFinalizer(pod("x"), "f"), False, id="a finalizer"),
        pytest.param([AddFinalizer(pod("x"), "f")], AddFinalizer(pod("x"), "g"), True, id="another finalizer"),
        pytest.param(
            [AddFinalizer(pod("x"), "f"), RemoveFinalizer(pod("x"), "f")], AddFinalizer(pod("x"), "f"), True, id="one that is removed since"
        ),
        pytest.param([AddFinalizer(pod("x"), "f")], AddFinalizer(pod("y"), "f"), True, id="that of another object"),
        pytest.param([Bind(pod("x"), "n1")], Bind(pod("x"), "n1"), True, id="a bind, whose end is waited for each time"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_what_waits_already_does_not_wait_twice(waiting, again, want, begun):
    lanes = WorkQueue()
    put(lanes, *waiting)
    if begun:
        lanes.get(0.0)

    assert want == lanes.add(QueuedWrite(again))
    assert len(waiting) + want == len(lanes)


def test_what_waits_since_another_term_does_not_count():
    lanes = WorkQueue()
    lanes.add(QueuedWrite(condition("T", "True"), term=1))

    assert lanes.add(QueuedWrite(condition("T", "True"), term=2))


def test_nothing_is_started_during_retry_after():
    lanes = WorkQueue()
    put(lanes, Bind(pod("x"), "n"))
    lanes.paused_until = 3.0

    assert (None, 3.0) == (lanes.get(2.9), lanes.next_at())
    assert lanes.get(3.0) is not None


def test_an_empty_queue_has_no_time_at_which_to_look():
    assert None is WorkQueue().next_at()


def test_what_is_in_hand_counts_and_events_do_not_press():
    lanes = WorkQueue()
    put(lanes, Bind(pod("x"), "n"), RecordEvent(pod("y"), "Normal", "R", ""))
    task = lanes.get(0.0)

    assert (2, 1) == (len(lanes), lanes.pending)
    lanes.done(task)
    assert (1, 0) == (len(lanes), lanes.pending)


@pytest.mark.parametrize(("before", "want"), [pytest.param(0, True, id="the last that fits"), pytest.param(1, False, id="one too many")])
def test_of_too_many_events_the_last_are_dropped(before, want):
    lanes = WorkQueue()
    for number in range(MAX_EVENTS - 1 + before):
        assert lanes.add(QueuedWrite(RecordEvent(pod(str(number)), "Normal", "R", ""), 60.0))

    assert want == lanes.add(QueuedWrite(RecordEvent(pod("last"), "Normal", "R", ""), 60.0))
    assert lanes.add(QueuedWrite(Bind(pod("b"), "n"), 60.0))


def test_a_write_is_on_its_object():
    assert (pod("x"), pod("y")) == (Bind(pod("x"), "n").target, RecordEvent(pod("y"), "Normal", "R", "").target)
