"""A watcher, run against a server that answers by a script: what it asks for next, what it tells, how long it waits."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest

from apiserver.watch import FIRST_WAIT, LONGEST_WAIT, PAGE, SHORTEST_WATCH, UNSERVED_WAIT, WATCH_SECONDS, Watcher, WatchStatus
from tests.apiserver.fake import serving

PATH = "/api/v1/pods"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The watcher's clock, which stands still unless it is moved; and of chance always the most."""
    found = SimpleNamespace(now=0.0)
    monkeypatch.setattr("apiserver.watch.time", SimpleNamespace(monotonic=lambda: found.now))
    monkeypatch.setattr("apiserver.watch.random", SimpleNamespace(uniform=lambda _, most: most, randrange=lambda _: 7))
    return found


def thing(name, version=""):
    return {"metadata": {"name": name, **({"resourceVersion": version} if version else {})}}


def listed(*names, version="10", following=""):
    metadata = {"resourceVersion": version, **({"continue": following} if following else {})}
    return 200, {}, {"items": [thing(each, "1") for each in names], "metadata": metadata}


def line(event, content):
    return json.dumps({"type": event, "object": content}).encode() + b"\n"


def chunks(lines):
    return b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in lines)


CHUNKED = {"Transfer-Encoding": "chunked", "Content-Length": None}


def watched(*lines):
    """A watch that says *lines* and ends."""
    return 200, CHUNKED, chunks(lines) + b"0\r\n\r\n"


def broken(*lines):
    """A watch that says *lines* and breaks off: more was to come."""
    return 200, {**CHUNKED, "Connection": "close"}, chunks(lines)


def failed(code, **headers):
    return code, {name.replace("_", "-"): value for name, value in headers.items()}, {"kind": "Status", "code": code, "message": "no"}


def told_of(code):
    """An error in the middle of a watch."""
    return watched(line("ERROR", {"kind": "Status", "code": code, "message": "no"}))


BOOKMARK = line("BOOKMARK", thing("", "20"))
ADDED = line("ADDED", thing("b", "11"))


def name_of(raw):
    return json.loads(bytes(raw))["metadata"]["name"]


class Stopped:
    """A threading.Event that takes no time to wait, and remembers how long it was to."""

    def __init__(self):
        self.stopped, self.waits = False, []

    def is_set(self):
        return self.stopped

    def set(self):
        self.stopped = True

    def wait(self, seconds):
        self.waits.append(seconds)


class Following:
    """A watcher that is run until the server has no answer left; its sink, and all that happened meanwhile."""

    def __init__(self, answers, find):
        self.answers, self.find = list(answers), find
        self.stopped = Stopped()
        self.asked, self.found, self.told, self.standings = [], [], [], []

    def run(self, silence):
        with serving(self.answer) as (_, api):
            watcher = Watcher(api, self.path, self, silence=silence, name="pods")
            watcher._stopped = self.stopped
            watcher.run()
        return self

    def path(self):
        self.found.append(self.find.pop(0) if len(self.find) > 1 else self.find[0])
        return self.found[-1]

    def answer(self, _, path, __):
        if not self.answers:
            self.stopped.set()
            return failed(500)
        self.asked.append(dict(parse_qsl(urlsplit(path).query)))
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    def replace(self, objects):
        self.told.append(("LIST", *(name_of(each) for each in objects)))

    def change(self, event, content):
        self.told.append((event, name_of(content)))

    def set_status(self, standing, reason):
        self.standings.append((standing, reason))

    @property
    def places(self):
        """Of each request: the version from which it watches, or that it lists."""
        return [each.get("resourceVersion", "list") for each in self.asked]


def follow(*answers, find=(PATH,), silence=5.0):
    return Following(answers, list(find)).run(silence)


def test_a_list_is_told_whole_once_all_its_pages_are_there_and_watched_from_its_version():
    run = follow(listed("a", following="x"), listed("b"), watched(BOOKMARK))

    assert [("LIST", "a", "b")] == run.told
    assert ["list", "list", "10"] == run.places
    assert [{"limit": str(PAGE)}, {"limit": str(PAGE), "continue": "x"}] == run.asked[:2]


def test_a_watch_asks_for_bookmarks_and_to_be_ended_after_some_minutes():
    run = follow(listed(), watched(BOOKMARK))

    want = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "10", "timeoutSeconds": str(WATCH_SECONDS + 7)}
    assert want == run.asked[1]


@pytest.mark.parametrize(
    ("said", "place", "told"),
    [
        pytest.param(BOOKMARK, "20", [], id="a bookmark"),
        pytest.param(ADDED, "11", [("ADDED", "b")], id="an object that came"),
        pytest.param(line("DELETED", thing("a", "12")), "12", [("DELETED", "a")], id="an object that went"),
        pytest.param(line("MODIFIED", thing("a")), "10", [("MODIFIED", "a")], id="an event without a version"),
        pytest.param(ADDED + BOOKMARK, "20", [("ADDED", "b")], id="an event and a bookmark"),
    ],
)
def test_a_watch_is_taken_up_behind_the_last_that_was_said(said, place, told):
    run = follow(listed("a"), watched(said), watched(BOOKMARK))

    assert ["list", "10", place] == run.places
    assert [("LIST", "a"), *told] == run.told
    assert [] == run.stopped.waits


@pytest.mark.parametrize("end", [pytest.param(watched, id="and ends"), pytest.param(broken, id="and breaks off")])
def test_of_a_stream_that_is_cut_inside_an_event_the_rest_comes_again_and_nothing_is_lost(end):
    late = line("ADDED", thing("c", "12"))
    run = follow(listed(), end(ADDED, late[:20]), watched(late))

    assert ["list", "10", "11"] == run.places
    assert [("LIST",), ("ADDED", "b"), ("ADDED", "c")] == run.told


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(failed(410), id="too old, as an answer"),
        pytest.param(told_of(410), id="too old, in the stream"),
        pytest.param(told_of(500), id="a failure of the server, in the stream"),
        pytest.param(told_of(504), id="a version that the server does not have yet, in the stream"),
        pytest.param(watched(b"<html>\n"), id="what is no event"),
        pytest.param(watched(b'{"type": "ADDED", "object": {"metadata": []}}\n'), id="an event of another shape"),
        pytest.param(watched(b"\xff\xfe\n"), id="what is no text"),
    ],
)
def test_where_a_watch_cannot_go_on_all_is_listed_anew(gone):
    run = follow(listed("a"), gone, listed("b", version="30"), watched(BOOKMARK))

    assert ["list", "10", "list", "30"] == run.places
    assert [("LIST", "a"), ("LIST", "b")] == run.told
    assert [FIRST_WAIT] == run.stopped.waits


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(failed(500), id="a failure of the server"),
        pytest.param(failed(403), id="forbidden"),
        pytest.param(failed(429), id="too many requests, as an answer"),
        pytest.param(told_of(429), id="too many requests, in the stream"),
        pytest.param(broken(), id="a broken connection"),
    ],
)
def test_after_a_bad_moment_a_watch_goes_on_without_a_new_list(bad):
    run = follow(listed("a"), bad, watched(ADDED))

    assert ["list", "10", "10"] == run.places
    assert [("LIST", "a"), ("ADDED", "b")] == run.told


@pytest.mark.parametrize(("more", "places"), [pytest.param(0, "11", id="at the limit"), pytest.param(1, "list", id="beyond")])
def test_an_event_may_be_so_long_and_one_that_is_longer_does_not_stand_in_the_way_for_ever(monkeypatch, more, places):
    monkeypatch.setattr("apiserver.api.LONGEST_LINE", len(ADDED) - more)
    run = follow(listed(), watched(ADDED), listed() if more else watched(ADDED))

    assert ["list", "10", places] == run.places
    assert more == sum("must be at most" in reason for _, reason in run.standings)


def test_pages_that_are_gone_in_the_middle_of_a_list_are_asked_for_all_at_once():
    run = follow(listed("a", following="x"), failed(410), listed("b", "c", version="30"), watched(BOOKMARK))

    assert [("LIST", "b", "c")] == run.told
    assert ["list", "list", "list", "30"] == run.places
    assert {} == run.asked[2]
    assert [] == run.stopped.waits


def test_of_a_list_that_breaks_off_nothing_is_told():
    run = follow(listed("a", following="x"), failed(500), listed("b"), watched(BOOKMARK))

    assert [("LIST", "b")] == run.told
    assert {"limit": str(PAGE)} == run.asked[2]


@pytest.mark.parametrize(
    "answers", [pytest.param((failed(404),), id="in a list"), pytest.param((listed("old"), failed(404)), id="in a watch")]
)
def test_a_kind_that_is_not_found_is_looked_for_elsewhere_and_listed_there(answers):
    run = follow(*answers, listed("a"), watched(BOOKMARK), find=(PATH, "/elsewhere"))

    assert [PATH, "/elsewhere"] == run.found
    assert ("LIST", "a") == run.told[-1]
    assert ["list", "10"] == run.places[-2:]


def test_a_kind_that_is_not_served_is_asked_for_again_after_a_while():
    run = follow(listed("a"), watched(BOOKMARK), find=("", "", PATH))

    assert [(WatchStatus.NOT_SERVED, "")] * 2 == run.standings[:2]
    assert [UNSERVED_WAIT] * 2 == run.stopped.waits
    assert [("LIST", "a")] == run.told


def test_failures_wait_twice_as_long_each_time_up_to_a_limit():
    run = follow(*[failed(500)] * 9)

    assert [FIRST_WAIT * 2**number for number in range(6)] == run.stopped.waits[:6]
    assert [LONGEST_WAIT] * 3 == run.stopped.waits[6:]


def test_half_of_a_wait_is_chance(monkeypatch):
    asked = []
    monkeypatch.setattr("apiserver.watch.random", SimpleNamespace(uniform=lambda *limits: asked.append(limits) or limits[0]))
    run = follow(failed(500), failed(500))

    assert [(0.5, 1.0)] * 2 == asked[:2]
    assert [FIRST_WAIT / 2, FIRST_WAIT] == run.stopped.waits


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param("3", 3.0, id="longer than we would"),
        pytest.param("0", FIRST_WAIT, id="shorter than we would"),
        pytest.param("9999", LONGEST_WAIT, id="longer than anybody may ask"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", FIRST_WAIT, id="until a day"),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_a_failure_waits_as_long_as_the_server_asks(code, asked, want):
    run = follow(failed(code, Retry_After=asked))

    assert [want] == run.stopped.waits


def test_what_was_heard_begins_the_waits_anew():
    run = follow(failed(500), failed(500), listed(), broken(ADDED), failed(500))

    assert [FIRST_WAIT, 2 * FIRST_WAIT, FIRST_WAIT, 2 * FIRST_WAIT] == run.stopped.waits


def test_lists_that_no_watch_can_follow_wait_longer_each_time():
    run = follow(*[listed(), failed(410)] * 3, *[listed(), told_of(410)] * 2)

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


def test_a_watch_that_lasted_begins_the_waits_anew_though_it_said_nothing(clock):
    def lasting():
        clock.now += SHORTEST_WATCH
        return broken()

    run = follow(listed(), failed(500), failed(500), lasting, failed(500))

    assert [FIRST_WAIT, 2 * FIRST_WAIT, FIRST_WAIT, 2 * FIRST_WAIT] == run.stopped.waits


def test_a_watch_that_says_nothing_for_too_long_is_begun_anew():
    again = threading.Event()

    def silent():
        again.wait(10)
        return watched()

    def heard():
        again.set()
        return watched(ADDED)

    run = follow(listed(), silent, heard, silence=0.05)

    assert ["list", "10", "10"] == run.places
    assert [("LIST",), ("ADDED", "b")] == run.told
    assert WatchStatus.FAILED in {standing for standing, _ in run.standings}


def test_it_is_told_how_it_stands_with_each_contact():
    run = follow(failed(403), listed("a"), watched(BOOKMARK))

    heard = (WatchStatus.ACTIVE, "")
    assert [(WatchStatus.FAILED, "HTTP 403: no"), heard, heard, heard] == run.standings


def test_once_stopped_nothing_more_is_told():
    class Ending(Following):
        def change(self, event, content):
            super().change(event, content)
            self.stopped.set()

    run = Ending([listed(), watched(ADDED, line("ADDED", thing("c", "12")))], [PATH]).run(5.0)

    assert [("LIST",), ("ADDED", "b")] == run.told


def test_that_a_watch_broke_off_because_it_was_stopped_is_no_failure():
    run = follow(listed())

    assert [(WatchStatus.ACTIVE, "")] == run.standings
    assert [] == run.stopped.waits
