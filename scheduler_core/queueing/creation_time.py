"""Creation timestamps as times, so that older comes before younger however they are written."""

from __future__ import annotations

import datetime as dt

Age = tuple[bool, float]
"""Sorts oldest first: whether the time is unknown, then seconds since 1970."""

_UNKNOWN: Age = (True, 0.0)


def age(created: str | None) -> Age:
    """The sort key of an RFC 3339 timestamp; one without an offset is in UTC.

    Unknown age, absent or not readable as a time, counts as youngest: in a set of manifests what has no timestamp is
    not created yet.
    """
    if not created:
        return _UNKNOWN
    try:
        time = dt.datetime.fromisoformat(created.upper())
    except ValueError:
        return _UNKNOWN
    if time.tzinfo is None:
        time = time.replace(tzinfo=dt.UTC)
    return (False, time.timestamp())
