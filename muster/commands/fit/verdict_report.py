"""Verdict and its details as text, as JSON, or as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expansion.rollouts.play import Outcome
from kubeapi.base_structs import Record, replaced
from muster.commands.fit import rollout_report
from muster.commands.fit.judged import Judged
from muster.commands.fit.scale_report import scale_json, scale_text
from muster.commands.fit.short_report import ShortReport
from muster.render import answer_json, answer_text
from muster.render.answer import Heading
from muster.render.object_heading import object_heading
from muster.render.object_results import Kind
from muster.render.phrases import WIDTH, folded
from muster.render.problem_words import object_words, problem_words
from muster.render.root_text import Paint
from validators.reports.escape import json_text, printable

if TYPE_CHECKING:
    from muster.html.page_content import Origin

VERSION = 1
_WORST = (Outcome.HANGS, Outcome.TOO_LONG, Outcome.DURING, Outcome.AT_ONCE)


class Style(Record, frozen=True):
    """Style of text.

    Attributes:
        details: 0: a few lines; 1: groups with nodes and reasons; 2: every pod with its node, and nothing is omitted.
        everything: the rest of the cluster is shown too.
        colour: with the colours of a terminal.
        columns: width of the lines.

    """

    details: int = 0
    everything: bool = False
    colour: bool = False
    columns: int = WIDTH


def rendered(judged: Judged, form: str, origin: Origin | None, style: Style) -> str:
    """Return the result in the format *form*; *style* is that of text."""
    if form == "json":
        return as_json(judged)
    if form == "html":
        from muster.html import page

        updates = [rollout_report.drawn(each) for each in judged.rollouts]
        answer = replaced(judged.answer, origins=judged.origins, heading=heading(judged))
        return page.render(answer, judged.snapshot, judged.options, origin, updates)
    return as_text(judged, style)


def as_text(judged: Judged, style: Style) -> str:
    """Return the verdict in a few lines; or with details: the verdict, what was not read, the numbers of ``--scale``, updates, groups."""
    paint, columns = Paint(style.colour), style.columns
    scales = [line for each in judged.scales for line in folded(scale_text(each), "  ", columns=columns)]
    if not (style.details or style.everything):
        return ShortReport(judged, paint, columns, scales).text()
    verdict, shown, every = judged.verdict, judged.answer if style.everything else judged.own, style.details > 1
    first = folded(f"{verdict.sign} {verdict.line}", "", columns=columns)
    unread = answer_text.unread_lines(judged.own.not_read, paint, every=every, columns=columns)
    lines = "".join(f"{each}\n" for each in (*(paint.paint_status(verdict.status, each) for each in first), *unread, *scales))
    if not (shown.decisions or shown.pending or shown.problems or shown.notes):
        return lines
    steps = "".join(f"\n{each}\n" for each in ("\n".join(rollout_report.text_lines(rollout, columns)) for rollout in judged.rollouts))
    steps += "\nAfterwards, without the old pods:\n" if judged.rollouts else ""
    report = answer_text.render(shown, judged.kinship, colour=style.colour, every=every, after_unread=True, columns=columns)
    return f"{lines}{steps}\n{report}"


def as_json(judged: Judged) -> str:
    """Return one JSON document about PATH."""
    verdict, own = judged.verdict, judged.own
    content = answer_json.as_json(own)
    content["version"] = VERSION
    head = {"version": VERSION, "verdict": verdict.kind.value, "message": verdict.line}
    skipped = [{"object": object_words(each), "reason": problem_words(each)} for each in own.skipped]
    refused = answer_json.refused_json(own.refused)
    rest = {key: value for key, value in content.items() if key not in head}
    helps = {"change": answer_json.remedy_as_json(judged.change.remedy)} if judged.change is not None else {}
    updates = [rollout_report.as_json(each) for each in sorted(judged.rollouts, key=lambda each: _WORST.index(each.played.outcome))]
    played = {"rollout": updates[0], **({"rollouts": updates} if len(updates) > 1 else {})} if updates else {}
    scales = {"scale": [*map(scale_json, judged.scales)]} if judged.scales else {}
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
    return json_text(document, indent=2)


def heading(judged: Judged) -> Heading:
    """Return the heading of the page: the results of the objects at PATH, what helps if several do not fit, and what was not judged."""
    verdict, results = judged.verdict, judged.results()
    if verdict.kind is Kind.NOTHING or not results:
        return Heading(verdict.sign, verdict.head.capitalize(), (printable(verdict.details),))
    keeping = {each.name for each in results if each.kind is Kind.FITS and each.pending}
    stated = {each.origin: rollout_report.kept_words(each) for each in judged.rollouts if each.origin in keeping}
    stated |= {each.origin: rollout_report.unfinished_words(each) for each in judged.rollouts if not each.is_finished}
    made = object_heading(results, judged.words(), stated, judged.evicted_by_updates)
    # The card of one root that does not fit has the change among its remedies.
    several = sum(len(each.unplaced) for each in results if each.kind is Kind.DOES_NOT_FIT) > 1
    more, change = list(verdict.left_out), judged.change
    if several and change is not None:
        which = "with which all fit" if len(results) > 1 else "that helps"
        more.insert(0, f"{'The smallest' if change.proven else 'A'} change {which}: {judged.in_words(change.remedy)}")
    return replaced(made, sign=verdict.sign, details=(*made.details, *map(printable, more)))
