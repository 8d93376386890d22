"""Waits between the requests of a watcher, and the contacts that it reports."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from apiserver.watch import FIRST_WAIT, LONGEST_WAIT, SHORTEST_WATCH, WatchStatus
from tests.apiserver.scripted_watch import ADDED, BOOKMARK, CHUNKED, broken, error_event, failed, follow, listed, watched

pytestmark = pytest.mark.usefixtures("clock")


def test_failures_wait_twice_as_long_each_time_up_to_a_limit():
    run = follow(*[failed(500)] * 9)

    assert [FIRST_WAIT * 2**number for number in range(6)] == run.stopped.waits[:6]
    assert [LONGEST_WAIT] * 3 == run.stopped.waits[6:]


def test_half_of_a_wait_is_chance(monkeypatch):
    requested = []
    monkeypatch.setattr("apiserver.watch.random", SimpleNamespace(uniform=lambda *limits: requested.append(limits) or limits[0]))
    run = follow(failed(500), failed(500))

    assert [(0.5, 1.0)] * 2 == requested[:2]
    assert [FIRST_WAIT / 2, FIRST_WAIT] == run.stopped.waits


@pytest.mark.parametrize(
    ("requests", "want"),
    [
        pytest.param("3", 3.0, id="longer than we would"),
        pytest.param("0", FIRST_WAIT, id="shorter than we would"),
        pytest.param("9999", LONGEST_WAIT, id="longer than anybody may ask"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", FIRST_WAIT, id="until a day"),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_a_failure_waits_as_long_as_retry_after_says(code, requests, want):
    run = follow(failed(code, Retry_After=requests))

    assert [want] == run.stopped.waits


def test_an_event_resets_the_waits():
    run = follow(failed(500), failed(500), listed(), broken(ADDED), failed(500))

    assert [FIRST_WAIT, 2 * FIRST_WAIT, FIRST_WAIT, 2 * FIRST_WAIT] == run.stopped.waits


def test_a_step_that_succeeded_begins_the_waits_again():
    run = follow(failed(500), failed(500), listed(), failed(500), failed(500))

    assert [FIRST_WAIT, 2 * FIRST_WAIT, FIRST_WAIT, 2 * FIRST_WAIT] == run.stopped.waits


def test_lists_that_no_watch_can_follow_wait_longer_each_time():
    run = follow(*[listed(), failed(410)] * 3, *[listed(), error_event(410)] * 2)

    assert [FIRST_WAIT * 2**number for number in range(5)] == run.stopped.waits


@pytest.mark.parametrize(
    ("seconds", "waits"),
    [
        pytest.param(SHORTEST_WATCH, [], id="after a while"),
        pytest.param(SHORTEST_WATCH - 0.01, [FIRST_WAIT, 2 * FIRST_WAIT], id="at once"),
    ],
)
def test_a_watch_that_ends_without_a_word_is_a_failure_if_it_ends_at_once(clock, seconds, waits):
    def quiet():
        clock.now += seconds
        return watched()

    run = follow(listed("a"), quiet, quiet)

    assert waits == run.stopped.waits
    assert bool(waits) == (WatchStatus.FAILED in {standing for standing, _ in run.standings})
    assert ["list", "10", "10"] == run.places


def test_a_watch_that_lasted_begins_the_waits_again_though_it_said_nothing(clock):
    def lasting():
        clock.now += SHORTEST_WATCH
        return broken()

    run = follow(listed(), failed(500), failed(500), lasting, failed(500))

    assert [FIRST_WAIT, 2 * FIRST_WAIT, FIRST_WAIT, 2 * FIRST_WAIT] == run.stopped.waits


def test_a_watch_that_says_nothing_for_too_long_is_begun_again():
    again = threading.Event()

    def silent():
        again.wait(10)
        return watched()

    def heard():
        again.set()
        return watched(ADDED)

    run = follow(listed(), silent, heard, silence=0.05)

    assert ["list", "10", "10"] == run.places
    assert [("LIST",), ("ADDED", "b")] == run.events
    assert WatchStatus.FAILED in {standing for standing, _ in run.standings}


def test_a_watch_of_a_quiet_resource_is_followed_by_another_and_has_not_failed(clock):
    def quiet():
        clock.now += SHORTEST_WATCH
        return 200, CHUNKED, b""

    run = follow(listed(), quiet, watched(ADDED), silence=0.05)

    assert ["list", "10", "10"] == run.places
    assert [("LIST",), ("ADDED", "b")] == run.events
    assert {WatchStatus.ACTIVE} == {standing for standing, _ in run.standings}


def test_each_contact_is_reported():
    run = follow(failed(403), listed("a"), watched(BOOKMARK))

    received = (WatchStatus.ACTIVE, "")
    assert [(WatchStatus.FORBIDDEN, "HTTP 403: no"), received, received, received] == run.standings
