"""Schedules of CronJobs: five fields, or a name such as ``@daily``.

Source: github.com/robfig/cron v3, ParseStandard, which Kubernetes uses.
"""

from __future__ import annotations

from kubeapi.content import whole_number

_NAMES = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY = "@every "
_MONTHS = {
    name: number for number, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)


def schedule_error(schedule: str) -> str:
    """Return the error of a schedule; empty if it is valid."""
    if schedule.startswith("@"):
        valid = schedule in _NAMES or schedule.startswith(_EVERY)
        return "" if valid else f"unrecognized descriptor: must be one of {', '.join(sorted(_NAMES))}"
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(parts)}: must be minute, hour, day of month, month, day of week"
    for part, (name, least, most, words) in zip(parts, _FIELDS, strict=True):
        if not all(_is_range(each, least, most, words) for each in part.split(",")):
            return f"{part!r} must be a {name} from {least} to {most}, a range, a list or *"
    return ""


def is_time_zone(name: str) -> bool:
    """Return whether there is a time zone of this name; True for each name if no time zones are installed."""
    import zoneinfo  # few documents have a time zone

    known = zoneinfo.available_timezones()
    return bool(name) and name.lower() != "local" and (not known or name in known)


def _is_range(text: str, least: int, most: int, words: dict[str, int]) -> bool:
    values, slash, step = text.partition("/")
    if slash and not whole_number(step):
        return False
    if values in {"*", "?"}:
        return True
    ends = [_value(each, words) for each in values.split("-")]
    if None in ends or len(ends) > 2:
        return False
    numbers = [each for each in ends if each is not None]
    return least <= numbers[0] <= numbers[-1] <= most


def _value(text: str, words: dict[str, int]) -> int | None:
    return words.get(text.lower(), whole_number(text))
