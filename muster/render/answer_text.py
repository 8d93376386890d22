"""The answer of a simulation as text: placed pods with nodes, victims, and pending pods with reasons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from expansion.notes import NotSimulated, ShareNotJudged, SharesAhead, SharesUncounted
from kubeapi.problem import Problem
from muster.render.answer import Answer
from muster.render.phrases import WIDTH, fitting, folded, nodes, per_node, pods
from muster.render.problem_words import grouped, object_words, problem_words
from muster.render.root_text import Page, Paint, root_lines
from muster.render.tree_rows import Kinship
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.wording import decision_words
from scheduler_core.wording.phrases import shape_words
from validators.reports.counts import counted
from validators.reports.escape import printable
from workloadbuilder.adapters import kinds

PLACED_SHOWN, OTHERS_SHOWN, PODS_SHOWN, PROBLEMS_SHOWN, UNREAD_SHOWN = 20, 12, 8, 8, 3
"""Limits of entries shown one by one, unless all are requested."""
_INDENT = "    "


def render(
    answer: Answer, kinship: Kinship, *, colour: bool = False, every: bool = False, after_unread: bool = False, columns: int = WIDTH
) -> str:
    """Return the report in lines of *columns*; with *every*, nothing is omitted and each pod is listed with its node.

    What could not be read comes first, unless the report is shown below it: *after_unread*.
    """
    page = Page(kinship, Paint(colour), every, columns)
    named = unread_lines(answer.not_read, page.paint, every=every, columns=columns)
    lines: list[str] = [*named, ""] if named and not after_unread else []
    before: Sequence[Decision] = ()
    for decisions in answer.cycles():
        if before:
            evicted = any(each.victims for each in before)
            lines += [page.paint.bold("After the evictions:" if evicted else "In the next cycle:"), ""]
        lines += _cycle(decisions, page)
        before = decisions
    lines += _rootless(answer, page)
    lines += fragmentation_lines(answer.fragments or (), page)
    lines += _listed("Notes:", answer.notes, page)
    shown = {*_shown_unread(answer.not_read, every=every)}
    lines += _listed("Problems in the input:", [each for each in answer.problems if each not in shown], page)
    lines += folded_summary(answer, page)
    return "\n".join(lines) + "\n"


def _cycle(decisions: Sequence[Decision], page: Page) -> Iterator[str]:
    groups = [each for each in decisions if each.root.kind != "Pod"]
    placed, others = 0, 0
    for decision in groups:
        if decision.status is Status.SUCCESS:
            placed += 1
            shown = placed <= PLACED_SHOWN
        else:
            others += 1
            shown = others <= OTHERS_SHOWN
        if shown or page.every:
            yield from root_lines(decision, page)
            yield ""
    if not page.every:
        yield from _more([each for each in groups if each.status is Status.SUCCESS][PLACED_SHOWN:], page)
        yield from _more([each for each in groups if each.status is not Status.SUCCESS][OTHERS_SHOWN:], page)
    yield from _single_pods([each for each in decisions if each.root.kind == "Pod"], page)


def _more(left_out: Sequence[Decision], page: Page) -> Iterator[str]:
    """Yield the other roots, in one line for each status."""
    for status in Status:
        alike = [each for each in left_out if each.status is status]
        if not alike:
            continue
        number = sum(len(each.assignments) for each in alike)
        what = f"placed, {counted(number, 'pod')}" if status is Status.SUCCESS else status.value
        names = [printable(f"{each.root.namespace}/{each.root.name}") for each in alike]
        head = f"… and {counted(len(alike), 'more root')} {what}: "
        yield page.paint.paint_status(status, head) + fitting(names, max(page.columns - len(head), 30))
        yield ""


def share_clause(answer: Answer) -> str:
    """Return the clause about the first share of a device that makes *answer* uncertain; empty if there is none."""
    shares = (each for each in answer.skipped if isinstance(each.fact, ShareNotJudged | SharesUncounted | SharesAhead))
    return next((f"; but {problem_words(each)}" for each in shares), "")


def _single_pods(decisions: Sequence[Decision], page: Page) -> Iterator[str]:
    """Yield the pods without a group: placed ones together, others by reason."""
    one_by_one = len(decisions) <= PODS_SHOWN or page.every
    apart = [each for each in decisions if one_by_one or each.victims or each.remedies]
    for decision in apart:
        yield from root_lines(decision, page)
    rest = [] if one_by_one else [each for each in decisions if not (each.victims or each.remedies)]
    if nodes_by_pod := {pod: node for each in rest for pod, node in each.assignments.items()}:
        head = f"✓ {counted(len(nodes_by_pod), 'pod')} without a group placed on "
        yield from page.painted(Status.SUCCESS, head + nodes(per_node(nodes_by_pod), page.columns - len(head)))
    reasons: dict[tuple[Status, str], list[str]] = {}
    for each in rest:
        for text, keys in decision_words.by_words(each.pending.items()).items():
            reasons.setdefault((each.status, text), []).extend(keys)
    for (status, text), keys in reasons.items():
        yield from page.painted(status, f"{page.mark(status)} {counted(len(keys), 'pod')} without a group: {pods(keys, every=page.every)}")
        yield from page.folded(text, _INDENT)
    if decisions:
        yield ""


def _rootless(answer: Answer, page: Page) -> Iterator[str]:
    """Yield the pods without a decision."""
    decided = {pod for decision in answer.decisions for pod in decision.pending}
    for text, keys in decision_words.by_words((pod, causes) for pod, causes in answer.pending if pod not in decided).items():
        yield page.paint.paint_status(Status.WAIT, f"{page.mark(Status.WAIT)} {counted(len(keys), 'pod')}: {pods(keys, every=page.every)}")
        yield from page.folded(text, _INDENT)
        yield ""


def fragmentation_lines(fragments: Sequence[Fragment], page: Page) -> Iterator[str]:
    """Yield the largest gang that fits in one domain, a line for each topology level; nothing without levels or pods."""
    if not fragments:
        return
    yield page.paint.bold("The largest gang that fits in one domain, before anything is placed:")
    wide = max(len(each.key) for each in fragments)
    for pod, levels in itertools.groupby(fragments, key=lambda each: each.pod):
        domains = [*levels]
        yield f"  pods like {printable(pod)} ({printable(shape_words(domains[0].requests))}): {domains[0].total:,} in total, one by one"
        for each in domains:
            where = f" in {printable(each.domain)}" if each.largest else ""
            yield f"    {printable(each.key).ljust(wide)}  {counted(each.largest, 'pod')}{where}"
    yield ""


def unread_lines(unread: Sequence[Problem], paint: Paint, *, every: bool = False, columns: int = WIDTH) -> list[str]:
    """Return lines with what could not be read and why, nodes first; unless *every*, the first ones and the number of the others."""
    shown = _shown_unread(unread, every=every)
    lines = [each for alike in grouped(shown) for each in folded(f"! {_named(alike, columns, every=every)}", "", columns=columns)]
    if more := len(unread) - len(shown):
        lines.append(f"! and {counted(more, 'more input')} that could not be read, listed below")
    return [paint.paint_status(Status.WAIT, each) for each in lines]


def supported_lines(skipped: Sequence[Problem], columns: int, indent: str = "") -> list[str]:
    """Return lines with the supported kinds, if one of *skipped* is of another kind."""
    if not any(isinstance(each.fact, NotSimulated) and each.fact.unknown_kind for each in skipped):
        return []
    return folded(f"supported kinds: groups, Pod, {kinds.listed(with_single=True)}", indent, columns=columns)


def _shown_unread(unread: Sequence[Problem], *, every: bool) -> list[Problem]:
    """Return those that ``unread_lines`` names."""
    groups = grouped(sorted(unread, key=lambda each: all(name.kind != "Node" for name in each.names)))
    return [each for alike in (groups if every else groups[:UNREAD_SHOWN]) for each in alike]


def _named(alike: Sequence[Problem], columns: int, *, every: bool) -> str:
    """Return the objects of problems with the same fact, and the message."""
    objects = [printable(object_words(each)) for each in alike]
    return f"{', '.join(objects) if every else fitting(objects, columns // 2)}: {problem_words(alike[0])}"


def _listed(heading: str, problems: Sequence[Problem], page: Page) -> Iterator[str]:
    """Yield *problems* under a heading, grouped by message."""
    if not problems:
        return
    yield page.paint.bold(heading)
    groups = grouped(problems)
    shown = groups if page.every else groups[:PROBLEMS_SHOWN]
    for alike in shown:
        yield from page.folded(_named(alike, page.columns, every=page.every), "  ")
    if len(shown) < len(groups):
        yield f"  … and {counted(len(problems) - sum(map(len, shown)), 'more problem')}"
    yield ""


def folded_summary(answer: Answer, page: Page) -> Iterator[str]:
    """Return the summary in one sentence."""
    if not answer.decisions and not answer.pending:
        summary = "Nothing to place: there is no pending pod among the inputs" if not answer.problems else "Nothing could be decided"
    else:
        summary = f"{answer.placed:,} of {counted(answer.roots, 'root')} placed: {', '.join(_counts(answer))}"
    if answer.own is not None and answer.own.roots < answer.roots:
        summary += f"; of PATH, {answer.own.placed:,} of {counted(answer.own.roots, 'root')} placed, {answer.own.pending:,} pending"
    if answer.problems:
        summary += f"; {counted(len(answer.problems), 'problem')} in the input"
    if answer.seconds is not None:
        summary += f"; {answer.seconds:.3f} s"
    yield page.paint.bold(summary)
    if not answer.decisions:
        yield from supported_lines(answer.skipped, page.columns)


def _counts(answer: Answer) -> Iterator[str]:
    yield f"{counted(answer.pods, 'pod')} placed"
    if answer.pending:
        yield f"{len(answer.pending):,} pending"
    cycles = answer.cycles()
    if leaving := {victim for decision in answer.decisions for victim in decision.victims}:
        yield f"{counted(len(leaving), 'pod')} {'would be evicted' if len(cycles) == 1 else 'evicted'}"
