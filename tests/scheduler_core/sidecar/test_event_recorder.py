from __future__ import annotations

import pytest

from scheduler_core.sidecar.client.event_recorder import BURST, FORGET_SECONDS, MAX_REMEMBERED, REFILL_SECONDS, EventRecorder
from scheduler_core.sidecar.writes import RecordEvent, Ref

STAMP = "2026-01-01T00:00:00.000000Z"
GROUP = Ref("PodGroup", "a", "g", "uid-g")
NO_ROOM = RecordEvent(GROUP, "Warning", "FailedScheduling", "no room")


def recorder():
    return EventRecorder("muster.dev/sidecar", "pod-1")


def posting(told, tell=NO_ROOM, now=0.0):
    return told.event_request(tell, "scheduling.k8s.io/v1beta1", now, STAMP)


def test_an_event_has_object_reason_and_reporter():
    body = posting(recorder()).body

    assert ("Warning", "FailedScheduling", "no room") == (body["type"], body["reason"], body["note"])
    assert ("PodGroup", "a", "g", "uid-g") == tuple(body["regarding"][each] for each in ("kind", "namespace", "name", "uid"))
    assert ("muster.dev/sidecar", "pod-1", STAMP) == (body["reportingController"], body["reportingInstance"], body["eventTime"])


def test_an_equal_event_is_counted():
    told = recorder()
    first, second = posting(told), posting(told, now=1.0)

    assert (1, 2) == (first.count, second.count)
    assert first.name == second.name
    assert {"series": {"count": 2, "lastObservedTime": STAMP}} == second.body


def test_another_message_is_another_event():
    told = recorder()
    names = {posting(told).name, posting(told, RecordEvent(GROUP, "Warning", "FailedScheduling", "other")).name}

    assert 2 == len(names)


@pytest.mark.parametrize(
    ("seconds", "count"), [pytest.param(FORGET_SECONDS - 1, 2, id="within"), pytest.param(FORGET_SECONDS, 1, id="after")]
)
def test_an_event_is_counted_for_an_hour(seconds, count):
    told = recorder()
    posting(told)

    assert count == posting(told, now=seconds).count


def test_an_event_that_the_server_has_forgotten_begins_anew():
    told = recorder()
    posting(told)
    told.forget_event(NO_ROOM)

    assert 1 == posting(told).count


def test_an_event_that_is_not_there_is_none_of_too_many():
    told = recorder()
    for _ in range(3 * BURST):
        assert posting(told) is not None
        told.forget_event(NO_ROOM)
    found = [posting(told, RecordEvent(GROUP, "Normal", "R", str(number))) for number in range(BURST + 1)]

    assert BURST == sum(each is not None for each in found)


def test_an_object_with_too_many_events_gets_no_more_until_later():
    told = recorder()
    found = [posting(told, RecordEvent(GROUP, "Normal", "R", str(number))) for number in range(BURST + 1)]

    assert BURST == sum(each is not None for each in found)
    assert None is found[-1]
    assert posting(told, RecordEvent(Ref("PodGroup", "a", "other", "u"), "Normal", "R", "")) is not None
    assert None is posting(told, now=REFILL_SECONDS - 1)
    assert posting(told, now=REFILL_SECONDS) is not None


def test_a_name_is_a_legal_one_however_long_the_objects():
    assert len(posting(recorder(), RecordEvent(Ref("PodGroup", "a", "x" * 253, "u"), "Normal", "R", "")).name) <= 253


def test_what_is_remembered_is_bounded():
    told = recorder()
    for number in range(MAX_REMEMBERED + 10):
        posting(told, RecordEvent(Ref("PodGroup", "a", str(number), "u"), "Normal", "R", ""))

    assert 1 == posting(told, RecordEvent(Ref("PodGroup", "a", "0", "u"), "Normal", "R", "")).count
    assert 2 == posting(told, RecordEvent(Ref("PodGroup", "a", str(MAX_REMEMBERED), "u"), "Normal", "R", "")).count


@pytest.mark.parametrize(
    ("message", "want"),
    [
        pytest.param("x" * 1024, "x" * 1024, id="as long as may be"),
        pytest.param("x" * 1025, "x" * 1024, id="too long"),
        pytest.param("x" * 1020 + "… and 7 more", "x" * 1020 + "… ", id="with a letter of three bytes"),
        pytest.param("x" * 1022 + "…", "x" * 1022, id="with one that would have to be cut"),
    ],
)
def test_a_note_has_no_more_bytes_than_the_server_takes(message, want):
    assert want == posting(recorder(), RecordEvent(GROUP, "Warning", "FailedScheduling", message)).body["note"]


def test_who_reports_has_no_more_bytes_than_the_server_takes():
    body = posting(EventRecorder("muster.dev/sidecar", "é" * 100)).body

    assert "é" * 64 == body["reportingInstance"]


@pytest.mark.parametrize("end", ["-", ".", "-."])
def test_an_event_of_an_object_with_a_long_name_has_a_name_that_is_one(end):
    name = "x" * (200 - len(end)) + end + "y"
    found = posting(recorder(), RecordEvent(Ref("PodGroup", "a", name, "u"), "Normal", "Scheduled", "")).name

    assert "x" * (200 - len(end)) == found.rpartition(".")[0]
