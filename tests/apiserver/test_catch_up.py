"""Bringing a receiver to the version that the server has now, beside a watch that may be late."""

from __future__ import annotations

import pytest

from apiserver.api import ReplyError
from apiserver.watch import BOOKMARK_WATCH, LIST_POLL, Watcher
from tests.apiserver.fake import serving
from tests.apiserver.scripted_watch import BOOKMARK, PATH, Following, broken, error_event, failed, line, listed, thing, watched

LARGE = listed("a", following="x", version="20")
"""First page of a list that is too large to be read again."""


def catch_up(*answers, version="10", path=PATH, done=lambda _: False):
    """Catch up while the watch is at *version*; return the run, and the versions that were reported with the number of events before."""
    run = Following(answers, [path])
    reported = []
    with serving(run.answer) as (_, api):
        watcher = Watcher(api, run.path, run, silence=5.0)
        watcher._stopped, watcher._version = run.stopped, version
        watcher.catch_up(lambda reached: reported.append((reached, len(run.complete))), lambda: done(run))
    assert not run.answers, "requests were expected"
    return run, reported


def test_a_short_list_is_a_consistent_read_of_all_objects():
    run, reported = catch_up(listed("a", "b", version="20"))

    assert ([("LIST", "a", "b")], ["20"], [("20", 0)]) == (run.events, run.complete, reported)
    assert "resourceVersion" not in run.requests[0]


def test_of_a_long_list_only_the_changes_are_read():
    change = line("ADDED", thing("b", "15"))
    run, reported = catch_up(LARGE, watched(change, BOOKMARK))

    assert ([("ADDED", "b")], ["15", "20"], [("20", 0)]) == (run.events, run.complete, reported)
    want = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "10", "timeoutSeconds": str(BOOKMARK_WATCH)}
    assert want == run.requests[1]


def test_a_change_at_the_version_ends_the_watch():
    run, _ = catch_up(LARGE, watched(line("MODIFIED", thing("b", "21")), line("ADDED", thing("c", "22"))))

    assert [("MODIFIED", "b")] == run.events


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(watched(line("ADDED", thing("b", "19"))), id="too early"),
        pytest.param(watched(line("BOOKMARK", thing("", "not a number"))), id="a version without order"),
        pytest.param(error_event(410), id="an error"),
        pytest.param(failed(410), id="a version that has expired"),
        pytest.param(failed(403), id="no permission"),
        pytest.param(watched(b"{\n"), id="no event"),
        pytest.param(broken(line("ADDED", thing("b", "19"))), id="an end inside an event"),
    ],
)
def test_where_a_watch_does_not_show_the_version_all_is_listed(shown):
    run, _ = catch_up(LARGE, shown, listed("a", following="y", version="30"), listed("b", version="30"))

    assert (("LIST", "a", "b"), "30") == (run.events[-1], run.complete[-1])


def test_nothing_more_is_read_once_the_receiver_is_complete():
    run, reported = catch_up(LARGE, done=lambda _: True)

    assert ([], [("20", 0)]) == (run.events, reported)


def test_the_first_list_is_awaited_instead_of_read_twice():
    class Listing(Following):
        def __init__(self, answers, find):
            super().__init__(answers, find)
            self.stopped.wait = self.finish_list

        def finish_list(self, _):
            self.watcher._version = "20"

    run = Listing([LARGE, watched(BOOKMARK)], [PATH])
    with serving(run.answer) as (_, api):
        run.watcher = Watcher(api, run.path, run, silence=5.0)
        run.watcher._stopped = run.stopped
        run.watcher.catch_up(lambda _: None, lambda: False)

    assert (["list", "20"], ["20"]) == (run.places, run.complete)


def test_a_version_that_the_watch_loses_meanwhile_is_not_replaced_by_any():
    # Without a version, the server sends all objects in any order: the first does not show that those before it are known.
    class Losing(Watcher):
        versions = ["15", ""]

        @property
        def _version(self):
            return self.versions.pop(0) if len(self.versions) > 1 else self.versions[0]

        @_version.setter
        def _version(self, _):
            pass

    run = Following([LARGE, watched(BOOKMARK)], [PATH])
    with serving(run.answer) as (_, api):
        losing = Losing(api, run.path, run, silence=5.0)
        losing._stopped = run.stopped
        losing.catch_up(lambda _: None, lambda: False)

    assert ["list", "15"] == run.places


def test_the_first_list_is_not_awaited_for_ever():
    run, _ = catch_up(LARGE, version="", done=lambda run: len(run.stopped.waits) == 3)

    assert [LIST_POLL] * 3 == run.stopped.waits


def test_what_is_not_served_is_complete():
    run, reported = catch_up(path="")

    assert ([], [("0", 0)]) == (run.requests, reported)


def test_failures_are_raised():
    with pytest.raises(ReplyError, match="403"):
        catch_up(failed(403))
