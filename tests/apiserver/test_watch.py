"""Watching a kind against a scripted server: lists, pages, events, and how a watch is resumed."""

from __future__ import annotations

import pytest

from apiserver.pages import PAGE
from apiserver.watch import FIRST_WAIT, UNSERVED_WAIT, WATCH_SECONDS, WatchStatus
from tests.apiserver.scripted_watch import (
    ADDED,
    BOOKMARK,
    PATH,
    Following,
    broken,
    error_event,
    failed,
    follow,
    line,
    listed,
    thing,
    watched,
)

pytestmark = pytest.mark.usefixtures("clock")


def test_a_list_is_reported_with_its_last_page_and_watched_from_its_version():
    run = follow(listed("a", following="x"), listed("b"), watched(BOOKMARK))

    assert [("LIST", "a", "b")] == run.events
    assert ["list", "list", "10"] == run.places
    assert [{"limit": str(PAGE)}, {"limit": str(PAGE), "continue": "x"}] == run.requests[:2]


def test_a_watch_requests_bookmarks_and_a_timeout():
    run = follow(listed(), watched(BOOKMARK))

    want = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "10", "timeoutSeconds": str(WATCH_SECONDS + 7)}
    assert want == run.requests[1]


@pytest.mark.parametrize(
    ("reported", "place", "messages"),
    [
        pytest.param(BOOKMARK, "20", [], id="a bookmark"),
        pytest.param(ADDED, "11", [("ADDED", "b")], id="an object that came"),
        pytest.param(line("DELETED", thing("a", "12")), "12", [("DELETED", "a")], id="an object that went"),
        pytest.param(line("MODIFIED", thing("a")), "10", [("MODIFIED", "a")], id="an event without a version"),
        pytest.param(ADDED + BOOKMARK, "20", [("ADDED", "b")], id="an event and a bookmark"),
    ],
)
def test_a_watch_is_taken_up_behind_the_last_that_was_said(reported, place, messages):
    run = follow(listed("a"), watched(reported), watched(BOOKMARK))

    assert ["list", "10", place] == run.places
    assert [("LIST", "a"), *messages] == run.events
    assert [] == run.stopped.waits


@pytest.mark.parametrize("end", [pytest.param(watched, id="and ends"), pytest.param(broken, id="and breaks off")])
def test_a_stream_that_is_cut_inside_an_event_loses_nothing(end):
    late = line("ADDED", thing("c", "12"))
    run = follow(listed(), end(ADDED, late[:20]), watched(late))

    assert ["list", "10", "11"] == run.places
    assert [("LIST",), ("ADDED", "b"), ("ADDED", "c")] == run.events


@pytest.mark.parametrize(
    "removed",
    [
        pytest.param(failed(410), id="too old, as an answer"),
        pytest.param(failed(400), id="a version that the server does not read"),
        pytest.param(error_event(410), id="too old, in the stream"),
        pytest.param(error_event(500), id="a failure of the server, in the stream"),
        pytest.param(error_event(504), id="a version that the server does not have yet, in the stream"),
        pytest.param(watched(b"<html>\n"), id="what is no event"),
        pytest.param(watched(b'{"type": "ADDED", "object": {"metadata": []}}\n'), id="an event of another shape"),
        pytest.param(watched(b"\xff\xfe\n"), id="what is no text"),
    ],
)
def test_where_a_watch_cannot_go_on_all_is_listed_again(removed):
    run = follow(listed("a"), removed, listed("b", version="30"), watched(BOOKMARK))

    assert ["list", "10", "list", "30"] == run.places
    assert [("LIST", "a"), ("LIST", "b")] == run.events
    assert [FIRST_WAIT] == run.stopped.waits


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(failed(500), id="a failure of the server"),
        pytest.param(failed(403), id="forbidden"),
        pytest.param(failed(429), id="too many requests, as an answer"),
        pytest.param(error_event(429), id="too many requests, in the stream"),
        pytest.param(broken(), id="a broken connection"),
    ],
)
def test_after_a_bad_moment_a_watch_continues_without_a_new_list(bad):
    run = follow(listed("a"), bad, watched(ADDED))

    assert ["list", "10", "10"] == run.places
    assert [("LIST", "a"), ("ADDED", "b")] == run.events


@pytest.mark.parametrize(("more", "places"), [pytest.param(0, "11", id="at the limit"), pytest.param(1, "list", id="beyond")])
def test_an_event_may_be_so_long_and_one_that_is_longer_does_not_block_the_watch(monkeypatch, more, places):
    monkeypatch.setattr("apiserver.api.LONGEST_LINE", len(ADDED) - more)
    run = follow(listed(), watched(ADDED), listed() if more else watched(ADDED))

    assert ["list", "10", places] == run.places
    assert more == sum("must be at most" in reason for _, reason in run.standings)


def test_pages_that_are_gone_in_the_middle_of_a_list_are_requested_all_at_once():
    run = follow(listed("a", following="x"), failed(410), listed("b", "c", version="30"), watched(BOOKMARK))

    assert [("LIST", "b", "c")] == run.events
    assert ["list", "list", "list", "30"] == run.places
    assert {} == run.requests[2]
    assert [] == run.stopped.waits


def test_of_a_list_that_breaks_off_nothing_is_reported():
    run = follow(listed("a", following="x"), failed(500), listed("b"), watched(BOOKMARK))

    assert [("LIST", "b")] == run.events
    assert {"limit": str(PAGE)} == run.requests[2]


@pytest.mark.parametrize("content", [{}, {"metadata": {"resourceVersion": "7"}}, {"kind": "Status", "metadata": {}}])
def test_an_object_without_items_is_no_list_and_nothing_is_reported_of_it(content):
    run = follow((200, {}, content), listed("b"), watched(BOOKMARK))

    assert [("LIST", "b")] == run.events


def test_a_list_may_be_null():
    run = follow((200, {}, {"items": None, "metadata": {"resourceVersion": "7"}}), watched(BOOKMARK))

    assert [("LIST",)] == run.events


@pytest.mark.parametrize(
    "answers", [pytest.param((failed(404),), id="in a list"), pytest.param((listed("old"), failed(404)), id="in a watch")]
)
def test_a_kind_that_is_not_found_is_searched_for_elsewhere_and_listed_there(answers):
    run = follow(*answers, listed("a"), watched(BOOKMARK), find=(PATH, "/elsewhere"))

    assert [PATH, "/elsewhere"] == run.found
    assert ("LIST", "a") == run.events[-1]
    assert ["list", "10"] == run.places[-2:]


def test_a_kind_that_is_not_served_is_requested_again_after_a_while():
    run = follow(listed("a"), watched(BOOKMARK), find=("", "", PATH))

    assert [(WatchStatus.NOT_SERVED, "")] * 2 == run.standings[:2]
    assert [UNSERVED_WAIT] * 2 == run.stopped.waits
    assert [("LIST", "a")] == run.events


def test_once_stopped_nothing_more_is_reported():
    class Ending(Following):
        def change(self, event, content, version):
            super().change(event, content, version)
            self.stopped.set()

    run = Ending([listed(), watched(ADDED, line("ADDED", thing("c", "12")))], [PATH]).run(5.0)

    assert [("LIST",), ("ADDED", "b")] == run.events


def test_that_a_watch_broke_off_because_it_was_stopped_is_no_failure():
    run = follow(listed())

    assert [(WatchStatus.ACTIVE, "")] == run.standings
    assert [] == run.stopped.waits


@pytest.mark.parametrize(
    ("version", "want"),
    [pytest.param("12", True, id="lower than an event"), pytest.param("20", False, id="the same"), pytest.param("30", False, id="higher")],
)
def test_a_list_with_a_lower_version_than_before_is_reported_before_its_objects(version, want):
    run = follow(listed("a"), watched(line("ADDED", thing("b", "20"))), error_event(410), listed("a", version=version), watched(BOOKMARK))

    assert want == (WatchStatus.RESTORED in [standing for standing, _ in run.standings])
    assert (("LIST", "a"), version) == (run.events[-1], run.complete[2])
