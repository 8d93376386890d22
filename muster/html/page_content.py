"""Content of a page before it is HTML: texts, paths and numbers, from an answer and its cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from muster.html import cluster_map, root_cards, sentences, unplaced_roots
from muster.html.case import Case, Listed
from muster.html.device_rows import with_device_rows
from muster.html.map_parts import Chart
from muster.html.root_cards import CardLine
from muster.html.sentences import bare_names, reasons, some
from muster.html.unplaced_roots import Open
from muster.render.answer import Answer
from muster.render.phrases import nodes, per_node
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision, Name
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.reports.counts import counted

TREES, ALONE, LEAVING, REASONS, PROBLEMS, FRAGMENTS = 400, 20, 400, 60, 400, 400
"""Limits: placed trees, pods without a group among them, groups of victims, reasons, problems, lines about fragmentation."""
LONGEST = 400
"""Limit of characters of a list of nodes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """A number at the head of the page, and the anchor of its details."""

    number: str
    text: str
    anchor: str


@dataclasses.dataclass(frozen=True, slots=True)
class Leaving:
    """Victims, the root that they are evicted for, and whether they were evicted."""

    who: str
    root: Name
    gone: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PendingReason:
    """Pods without a node for one reason."""

    number: str
    names: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Content of the page, in its order."""

    verdict: str
    sign: str
    facts: tuple[Fact, ...]
    open: Open
    chart: Chart
    trees: Listed[tuple[CardLine, ...]]
    alone: str
    leaving: Listed[Leaving]
    pending: Listed[PendingReason]
    fragments: Listed[Fragment]
    problems: Listed[tuple[str, str]]
    foot: tuple[str, ...]


def content(answer: Answer, snapshot: ClusterSnapshot, options: CycleOptions) -> Content:
    """Return the content of the page of *answer*."""
    case = Case.from_answer(answer, with_device_rows(snapshot), options)
    opened, figures = unplaced_roots.opened(case)
    groups = [decision for decision in case.placed if decision.root.kind != "Pod"]
    pods = [decision for decision in case.placed if decision.root.kind == "Pod"]
    trees = Listed.from_sequence([*groups, *(pods if len(pods) <= ALONE else ())], TREES)
    return Content(
        verdict=sentences.verdict(answer),
        sign=sentences.sign(answer),
        facts=tuple(_facts(case)),
        open=opened,
        chart=cluster_map.chart(case, figures),
        trees=Listed(tuple(tuple(root_cards.lines(each, case.kinship, case.locate)) for each in trees.shown), trees.more),
        alone=_together(pods) if len(pods) > ALONE else "",
        leaving=Listed.from_sequence(list(_leaving(case)), LEAVING),
        pending=Listed.from_sequence(list(_left(answer)), REASONS),
        fragments=Listed.from_sequence(answer.fragments or (), FRAGMENTS),
        problems=Listed.from_sequence(sentences.problems(answer.problems), PROBLEMS),
        foot=tuple(_foot(case)),
    )


def _together(pods: Sequence[Decision]) -> str:
    """Return one sentence with the nodes of pods without a group."""
    counts = per_node({pod: node for decision in pods for pod, node in decision.assignments.items()})
    return f"{counted(len(pods), 'pod')} without a group on {nodes(counts, LONGEST)}"


def _facts(case: Case) -> Iterator[Fact]:
    answer, leaving = case.answer, {pod for decision in case.answer.decisions for pod in decision.victims}
    yield Fact(f"{answer.pods:,}", "pod placed" if answer.pods == 1 else "pods placed", "placed" if case.placed else "")
    if answer.pending:
        yield Fact(f"{len(answer.pending):,}", "pending", "pending")
    if leaving:
        yield Fact(f"{len(leaving):,}", "would be evicted" if len(answer.cycles()) == 1 else "evicted", "leaving")
    if answer.problems:
        yield Fact(
            f"{len(answer.problems):,}", "problem in the input" if len(answer.problems) == 1 else "problems in the input", "problems"
        )
    yield Fact(f"{len(case.snapshot.nodes):,}", "node" if len(case.snapshot.nodes) == 1 else "nodes", "cluster")


def _leaving(case: Case) -> Iterator[Leaving]:
    for decision in case.answer.decisions:
        gone = bool(case.final.evicted.intersection(decision.victims))
        yield from (Leaving(who, decision.root, gone) for who in root_cards.leaving(decision, case.kinship))


def _left(answer: Answer) -> Iterator[PendingReason]:
    for reason, keys in reasons(answer.pending):
        yield PendingReason(counted(len(keys), "pod"), some(bare_names(keys)), reason)


def _foot(case: Case) -> Iterator[str]:
    strategies = {decision.search.strategy for decision in case.answer.decisions}
    if strategies == {"greedy"}:
        yield "Decided as kube-scheduler 1.37 does."
    elif strategies:
        yield f"Decided with the strategy {' and '.join(sorted(strategies))}."
    if case.answer.seconds is not None:
        yield f"It took {case.answer.seconds:.3f} s."
