"""Verdict and its details as text, as JSON, or as a page."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from expansion.rollouts.play import Outcome
from muster.commands.fit import rollout_report
from muster.commands.fit.verdict import Kind, Verdict
from muster.render import answer_json, answer_text
from muster.render.answer import Answer
from muster.render.problem_words import object_words, problem_words
from muster.render.root_text import Paint
from muster.render.tree_rows import Kinship
from scheduler_core.model.decision import Remedy
from scheduler_core.model.status import Status
from scheduler_core.wording.titles import titled

if TYPE_CHECKING:
    from muster.commands.fit.rollout_trial import JudgedRollout
    from muster.commands.fit.scale_trial import Scale
    from muster.html.page_content import Origin
    from scheduler_core.cycle.run_cycle import CycleOptions
    from scheduler_core.model.snapshot import ClusterSnapshot

VERSION = 1
_WORST = (Outcome.HANGS, Outcome.TOO_LONG, Outcome.DURING, Outcome.AT_ONCE)


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """Verdict about PATH, with the whole answer, the part about PATH, and the cluster."""

    verdict: Verdict
    answer: Answer
    own: Answer
    snapshot: ClusterSnapshot
    kinship: Kinship
    options: CycleOptions
    change: Remedy | None = None
    """Change with which everything at PATH fits, if it is not the remedy of one root."""
    rollouts: tuple[JudgedRollout, ...] = ()
    scales: tuple[Scale, ...] = ()

    def rendered(self, form: str, origin: Origin | None, *, every: bool, everything: bool, colour: bool = False) -> str:
        """Return the result in the format *form*: with *everything* about the rest of the cluster too, with *every* pod."""
        if form == "json":
            return as_json(self)
        if form == "html":
            from muster.html import page

            updates = [rollout_report.drawn(each) for each in self.rollouts]
            return page.render(with_heading(self.verdict, self.answer), self.snapshot, self.options, origin, updates)
        return as_text(self, everything=everything, colour=colour, every=every)


_COLOURS = {Kind.FITS: Status.SUCCESS, Kind.DOES_NOT_FIT: Status.ERROR}


def as_text(judged: Judged, *, everything: bool, colour: bool, every: bool) -> str:
    """Return the line of the verdict, what was not read, how far objects can be scaled, the steps of updates, then the details."""
    verdict, shown = judged.verdict, judged.answer if everything else judged.own
    paint = Paint(colour)
    status = Status.WAIT if verdict.incomplete else _COLOURS.get(verdict.kind, Status.WAIT)
    line = paint.paint_status(status, f"{verdict.sign} {verdict.line}")
    unread = answer_text.unread_lines(judged.own.not_read, paint, every=every)
    lines = "".join(f"{each}\n" for each in (*unread, *map(_scale_text, judged.scales)))
    if not (shown.decisions or shown.pending or shown.problems or shown.notes):
        return f"{line}\n{lines}"
    steps = "".join(f"\n{each}\n" for each in ("\n".join(rollout_report.text_lines(rollout)) for rollout in judged.rollouts))
    steps += "\nAfterwards, without the old pods:\n" if judged.rollouts else ""
    return f"{line}\n{lines}{steps}\n{answer_text.render(shown, judged.kinship, colour=colour, every=every, after_unread=True)}"


def as_json(judged: Judged) -> str:
    """Return one JSON document about PATH."""
    verdict, own = judged.verdict, judged.own
    content = answer_json.as_json(own)
    content["version"] = VERSION
    head = {"version": VERSION, "verdict": verdict.kind.value, "message": verdict.line}
    skipped = [{"object": object_words(each), "reason": problem_words(each)} for each in own.skipped]
    refused = answer_json.refused_json(own.refused)
    rest = {key: value for key, value in content.items() if key not in head}
    helps = {"change": answer_json.remedy_as_json(judged.change)} if judged.change is not None else {}
    updates = [rollout_report.as_json(each) for each in sorted(judged.rollouts, key=lambda each: _WORST.index(each.played.outcome))]
    played = {"rollout": updates[0], **({"rollouts": updates} if len(updates) > 1 else {})} if updates else {}
    scales = {"scale": [*map(_scale_json, judged.scales)]} if judged.scales else {}
    document = {
        **head,
        "decisions": rest.pop("decisions"),
        "skipped": skipped,
        "refused": refused,
        **helps,
        **played,
        **scales,
        **rest,
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _scale_text(scale: Scale) -> str:
    """Return how far an object can be scaled, as one line."""
    field = scale.field
    limits = [f"now {field.now:,}", *([f"{field.limiter} allows {field.least:,} to {field.most:,}"] if field.most is not None else [])]
    named = f"{titled(field.owner)}: {field.text}"
    if scale.largest is None:
        return f"  {named} ({'; '.join(limits)}) fits with no number"
    end = f"; with {scale.largest + 1:,}: {scale.missing}" if scale.missing else ""
    reached = ", the limit" if scale.is_limit else ""
    return f"  {named} fits up to {scale.largest:,}{reached} ({'; '.join(limits)}){end}"


def _scale_json(scale: Scale) -> dict[str, Any]:
    """Return how far an object can be scaled as JSON."""
    field = scale.field
    document: dict[str, Any] = {"object": titled(field.owner), "field": field.text, "now": field.now, "fits": scale.largest}
    if field.most is not None:
        document["range"] = {"least": field.least, "most": field.most, "limiter": field.limiter}
    return document | ({"next": scale.missing} if scale.missing else {})


def with_heading(verdict: Verdict, answer: Answer) -> Answer:
    """Return *answer* with the verdict as the heading of its page."""
    return dataclasses.replace(answer, heading=verdict.heading)
