"""How far objects can be scaled, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scheduler_core.wording.titles import titled

if TYPE_CHECKING:
    from muster.commands.fit.scale_trial import Scale


def text(scale: Scale) -> str:
    """Return how far an object can be scaled, as one line."""
    field = scale.field
    limits = [f"now {field.now:,}", *([f"{field.limiter} allows {field.least:,} to {field.most:,}"] if field.most is not None else [])]
    named = f"{titled(field.owner)}: {field.text}"
    if scale.largest is None:
        return f"  {named} ({'; '.join(limits)}) fits with no number"
    end = f"; with {scale.largest + 1:,}: {scale.missing}" if scale.missing else ""
    reached = ", the limit" if scale.is_limit else ""
    return f"  {named} fits up to {scale.largest:,}{reached} ({'; '.join(limits)}){end}"


def as_json(scale: Scale) -> dict[str, Any]:
    """Return how far an object can be scaled as JSON."""
    field = scale.field
    document: dict[str, Any] = {"object": titled(field.owner), "field": field.text, "now": field.now, "fits": scale.largest}
    if field.most is not None:
        document["range"] = {"least": field.least, "most": field.most, "limiter": field.limiter}
    return document | ({"next": scale.missing} if scale.missing else {})
