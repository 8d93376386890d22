"""Parsing of creation timestamps."""

from __future__ import annotations

import time

import pytest

from scheduler_core.queueing.creation_time import age


@pytest.mark.parametrize(
    ("older", "younger"),
    [
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T00:00:01Z", id="seconds"),
        pytest.param("2026-08-01T10:00:00+09:00", "2026-08-01T02:00:00Z", id="offsets are times, not text"),
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T00:00:00.5Z", id="fractions"),
        pytest.param("1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", id="before 1970"),
        pytest.param("9999-12-31T23:59:59Z", "", id="none is youngest"),
        pytest.param("2026-08-01T00:00:00Z", None, id="absent is youngest"),
        pytest.param("2026-08-01T00:00:00Z", "yesterday", id="no time is youngest"),
        pytest.param("2026-08-01T00:00:00Z", "2026-13-01T00:00:00Z", id="no such month is youngest"),
    ],
)
def test_the_older_comes_first(older, younger):
    assert age(older) < age(younger)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T02:00:00+02:00", id="offset"),
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01t00:00:00z", id="lower case"),
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T00:00:00", id="no offset is UTC"),
        pytest.param(None, "sometime", id="unknown is unknown"),
    ],
)
def test_the_same_time_is_the_same_age(one, other):
    assert age(one) == age(other)


def test_no_offset_is_utc_in_every_time_zone(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        result = age("2026-08-01T00:00:00")
    time.tzset()

    assert age("2026-08-01T00:00:00Z") == result
