"""Whose turn it is, and when."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Name
from scheduler_core.sidecar.queue.entities import EntityQueue, EntityState, Phase
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.writes import Ref


def survey(name: str, priority: int = 0) -> RootStatus:
    root = Name("PodGroup", "default", name)
    return RootStatus(root, Ref("PodGroup", "default", name, f"uid-{name}"), 1, priority, (False, 0.0), ())


def begun(turns: EntityQueue, name: str, priority: int = 0) -> EntityState:
    found = survey(name, priority)
    state = turns.state(found)
    turns.ready(state, found)
    return state


def test_those_whose_turn_it_is_come_in_the_order_of_the_queue_and_once():
    turns = EntityQueue()
    low, high, second = begun(turns, "b"), begun(turns, "a", 5), begun(turns, "a2")
    turns.ready(low, survey("b"))
    assert [high, second, low, None] == [turns.next() for _ in range(4)]


def test_root_that_was_dropped_has_no_turn():
    turns = EntityQueue()
    begun(turns, "a")
    turns.delete_entity(Name("PodGroup", "default", "a"))
    assert (None, None) == (turns.due(0.0), turns.next())
    assert 0 == sum(turns.counts.values())


def test_something_is_due_at_once_or_at_the_first_timer_or_not_by_the_clock():
    turns = EntityQueue()
    state, other = turns.state(survey("a")), turns.state(survey("b"))
    assert None is turns.due(0.0)
    turns.wake_at(state, 5.0, 0.0)
    turns.wake_at(other, 3.0, 0.0)
    assert 3.0 == turns.due(0.0)
    begun(turns, "c")
    assert 1.0 == turns.due(1.0)


def test_root_is_woken_at_its_first_timer_and_not_again_for_the_later_one():
    turns = EntityQueue()
    state = turns.state(survey("a"))
    for at in (5.0, 3.0, 9.0):
        turns.wake_at(state, at, 0.0)
    assert [[], [state], []] == [[*turns.woken(at)] for at in (2.9, 3.0, 9.0)]


def test_timer_that_is_past_is_none():
    turns = EntityQueue()
    turns.wake_at(turns.state(survey("a")), 5.0, 5.0)
    assert None is turns.due(5.0)


def test_roots_are_counted_by_what_they_wait_for():
    turns = EntityQueue()
    state = turns.state(survey("a"))
    turns.set_phase(state, Phase.PARKED)
    begun(turns, "b")
    assert (1, 1, 0) == tuple(turns.counts[phase, "PodGroup"] for phase in (Phase.PARKED, Phase.ACTIVE, Phase.WAITING))


def test_size_of_a_root_is_that_of_the_last_survey():
    turns = EntityQueue()
    turns.state(survey("a"))
    assert 7 == turns.state(dataclasses.replace(survey("a"), size=7)).size
