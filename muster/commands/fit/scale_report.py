"""Limits of scaling, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muster.commands.fit.short_report import ShortReport
from scheduler_core.wording.titles import short_title, titled
from validators.reports.counts import counted

if TYPE_CHECKING:
    from muster.commands.fit.judged import Scale

_TEENS = range(11, 14)


def scale_text(scale: Scale) -> str:
    """Return how far an object can be scaled, in words."""
    field = scale.field
    limits = [f"now {field.now:,}", *([f"{field.limiter} allows {field.least:,} to {field.most:,}"] if field.most is not None else [])]
    group, now = f" of group {field.group}" if field.group else "", f"({'; '.join(limits)})"
    if scale.largest is None:
        return f"{short_title(field.owner)}: fits with no number of {field.part}s{group} {now}"
    text = (
        f"{short_title(field.owner)}: fits up to {counted(scale.largest, field.part)}{group}{', the limit' if scale.is_limit else ''} {now}"
    )
    return text if scale.more is None else f"{text}; the {_ordinal(scale.largest + 1)} {ShortReport(scale.more).shortage(field.owner)}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def scale_json(scale: Scale) -> dict[str, Any]:
    """Return how far an object can be scaled as JSON."""
    field = scale.field
    document: dict[str, Any] = {"object": titled(field.owner), "field": field.text, "now": field.now, "fits": scale.largest}
    if field.most is not None:
        document["range"] = {"least": field.least, "most": field.most, "limiter": field.limiter}
    return document | ({"next": scale.more.verdict.line} if scale.more is not None else {})
