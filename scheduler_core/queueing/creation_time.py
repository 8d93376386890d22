"""Creation timestamps as sort keys."""

from __future__ import annotations

import datetime as dt

Age = tuple[bool, float]
"""Sort key, oldest first: True if the time is unknown, then seconds since 1970."""

_UNKNOWN: Age = (True, 0.0)


def age(created: str | None) -> Age:
    """Return the sort key of an RFC 3339 timestamp; without an offset it is in UTC.

    An unknown time, absent or unreadable, sorts as youngest: an object without a timestamp is not created yet.
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
