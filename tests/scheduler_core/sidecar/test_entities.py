"""Whose turn it is, and when."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, UnschedulableEntities
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import Active, Backoff, Event, Gated, Unschedulable
from scheduler_core.sidecar.writes import Ref


def survey(name: str, priority: int = 0) -> RootStatus:
    root = Name("PodGroup", "default", name)
    return RootStatus(root, Ref("PodGroup", "default", name, f"uid-{name}"), 1, priority, (False, 0.0), ())


def empty() -> EntityQueue:
    return EntityQueue(UnschedulableEntities(Cache(), frozenset()))


def begun(turns: EntityQueue, name: str, priority: int = 0) -> QueuedEntity:
    found = survey(name, priority)
    entity = turns.add(found)
    turns.activate(entity, Backoff(), found.order)
    return entity


def test_those_whose_turn_it_is_come_in_the_order_of_the_queue_and_once():
    turns = empty()
    low, high, second = begun(turns, "b"), begun(turns, "a", 5), begun(turns, "a2")
    turns.activate(low, Backoff(), survey("b").order)
    assert [high, second, low, None] == [turns.pop() for _ in range(4)]


def test_what_is_only_reported_comes_last_until_more_is_to_be_done():
    turns = empty()
    urgent, low = turns.add(survey("a", 5)), begun(turns, "b")
    turns.activate(urgent, Backoff(), survey("a", 5).order, last=True)
    assert [low, urgent, None] == [turns.pop() for _ in range(3)]
    for last in (True, False, True):
        turns.activate(urgent, Backoff(), survey("a", 5).order, last=last)
    turns.activate(low, Backoff(), survey("b").order)
    assert [urgent, low, None] == [turns.pop() for _ in range(3)]


def test_root_that_was_dropped_has_no_turn():
    turns = empty()
    turns.delete(begun(turns, "a"))
    assert (None, None) == (turns.due(0.0), turns.pop())
    assert 0 == sum(turns.counts.values())


def test_something_is_due_at_once_or_at_the_first_timer_or_not_by_the_clock():
    turns = empty()
    entity, other = turns.add(survey("a")), turns.add(survey("b"))
    assert None is turns.due(0.0)
    turns.wake_at(entity, 5.0, 0.0)
    turns.wake_at(other, 3.0, 0.0)
    assert 3.0 == turns.due(0.0)
    begun(turns, "c")
    assert 1.0 == turns.due(1.0)


def test_root_is_woken_at_its_first_timer_and_not_again_for_the_later_one():
    turns = empty()
    entity = turns.add(survey("a"))
    for at in (5.0, 3.0, 9.0):
        turns.wake_at(entity, at, 0.0)
    assert [[], [entity], []] == [[*turns.woken(at)] for at in (2.9, 3.0, 9.0)]


def test_timer_that_is_past_is_none():
    turns = empty()
    turns.wake_at(turns.add(survey("a")), 5.0, 5.0)
    assert None is turns.due(5.0)


def test_roots_are_counted_by_what_they_wait_for():
    turns = empty()
    turns.move(begun(turns, "a"), Event.ADD_UNSCHEDULABLE, Unschedulable(NO_HINT, 300.0))
    begun(turns, "b")
    assert (1, 1, 0) == tuple(turns.counts[state, "PodGroup"] for state in (Unschedulable, Active, Gated))


def test_size_of_a_root_is_that_of_the_last_survey():
    turns = empty()
    turns.add(survey("a"))
    assert 7 == turns.add(dataclasses.replace(survey("a"), size=7)).size
