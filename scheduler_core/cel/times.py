"""Timestamps and durations (cel-go 0.29, ``common/types/timestamp.go`` and ``duration.go``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from scheduler_core.cel.operators import timestamp
from scheduler_core.cel.values import Duration, Fault, Timestamp, Value, checked_int

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([a-zµμ]+)")
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII).fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 10**9


def parse_duration(text: str) -> Duration:
    """Return the duration that Go's ``time.ParseDuration`` reads from *text*.  Raises Fault."""
    sign, rest = (-1 if text.startswith("-") else 1), text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return Duration(0)
    total, at = Fraction(0), 0
    while at < len(rest):
        match = _PART.match(rest, at)
        whole, fraction, unit = match.groups() if match else ("", None, "")
        if unit not in _UNITS or not (whole or fraction) or len(whole) > 20:
            raise Fault("type conversion error from 'string' to 'google.protobuf.Duration'")
        digits = (fraction or "")[:20]
        total += (int(whole or 0) + Fraction(int(digits or 0), 10 ** len(digits))) * _UNITS[unit]
        at += len(match.group()) if match else 1
    if not rest or abs(total) >= 2**63:
        raise Fault("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(sign * int(total))


def _to_timestamp(text: str) -> Timestamp:
    match = _RFC3339(text)
    date, clock, fraction, zone = match.groups() if match else ("", "", "", "")
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{'+00:00' if zone == 'Z' else zone}")
    except ValueError:
        raise Fault("type conversion error from 'string' to 'google.protobuf.Timestamp'") from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return timestamp(seconds * _SECOND + int(f"{fraction or ''}000000000"[:9]))


def _fraction(nanoseconds: int) -> str:
    digits = f"{nanoseconds % _SECOND:09d}".rstrip("0")
    return f".{digits}" if digits else ""


def timestamp_text(value: Timestamp) -> str:
    """Return a timestamp in RFC 3339, in UTC."""
    moment = _EPOCH + timedelta(seconds=value.nanoseconds // _SECOND)
    return f"{moment:%Y-%m-%dT%H:%M:%S}{_fraction(value.nanoseconds)}Z".rjust(20, "0")


def duration_text(value: Duration) -> str:
    """Return a duration in seconds."""
    sign = "-" if value.nanoseconds < 0 else ""
    return f"{sign}{abs(value.nanoseconds) // _SECOND}{_fraction(abs(value.nanoseconds))}s"


def _local(moment: datetime, name: str) -> datetime:
    """Return *moment* in a time zone, or with an offset such as ``-02:30``, which cel-go does not limit."""
    hours, colon, minutes = name.partition(":")
    try:
        if not colon:
            from zoneinfo import ZoneInfo

            return moment.astimezone(ZoneInfo(name or "UTC"))
        return moment + timedelta(hours=int(hours), minutes=-int(minutes) if hours.startswith("-") else int(minutes))
    except (KeyError, ValueError, OSError):
        raise Fault(f"unknown time zone {name}") from None


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def getter(value: Timestamp, zone: str = "UTC") -> int:
        moment = _EPOCH + timedelta(microseconds=value.nanoseconds // 1000)
        try:
            return read(_local(moment, zone))
        except OverflowError:
            raise Fault("timestamp overflow") from None

    return getter


_PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month - 1,
    "day_of_year": lambda moment: moment.timetuple().tm_yday - 1,
    "day_of_month": lambda moment: moment.day - 1,
    "day_of_month_1_based": lambda moment: moment.day,
    "day_of_week": lambda moment: moment.isoweekday() % 7,
    "hours": lambda moment: moment.hour,
    "minutes": lambda moment: moment.minute,
    "seconds": lambda moment: moment.second,
    "milliseconds": lambda moment: moment.microsecond // 1000,
}


def _whole(nanoseconds: int, unit: int) -> int:
    """Return the number of whole units, rounded toward zero."""
    return abs(nanoseconds) // unit * (-1 if nanoseconds < 0 else 1)


OVERLOADS: dict[str, Callable[..., Value]] = {
    **{f"timestamp_to_{name}{suffix}": _part(read) for name, read in _PARTS.items() for suffix in ("", "_with_tz")},
    "duration_to_hours": lambda value: _whole(value.nanoseconds, 3600 * _SECOND),
    "duration_to_minutes": lambda value: _whole(value.nanoseconds, 60 * _SECOND),
    "duration_to_seconds": lambda value: _whole(value.nanoseconds, _SECOND),
    "duration_to_milliseconds": lambda value: _whole(value.nanoseconds, 10**6),
    "duration_to_duration": lambda value: value,
    "string_to_duration": parse_duration,
    "duration_to_int64": lambda value: checked_int(value.nanoseconds),
    "duration_to_string": duration_text,
    "timestamp_to_timestamp": lambda value: value,
    "int64_to_timestamp": lambda value: timestamp(value * _SECOND),
    "string_to_timestamp": _to_timestamp,
    "timestamp_to_int64": lambda value: value.nanoseconds // _SECOND,
    "timestamp_to_string": timestamp_text,
}
