"""Content of a page before it is HTML: texts, paths and numbers, from an answer and its cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from muster.html import cluster_map, root_cards, root_index, sentences, unplaced_roots
from muster.html.device_rows import with_device_rows
from muster.html.map_parts import Chart
from muster.html.page_data import Case, Listed
from muster.html.root_cards import Card, CardLine
from muster.html.root_index import RootIndex
from muster.html.sentences import bare_names, some
from muster.html.unplaced_roots import Open
from muster.html.update_steps import DrawnUpdate
from muster.render.answer import Answer, Heading
from muster.render.object_heading import answer_heading
from muster.render.phrases import nodes, per_node
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.wording import decision_words
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

    victims: str
    root: Name
    gone: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PendingReason:
    """Pods without a node for one reason."""

    number: str
    names: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a page; empty parts are not shown.

    Attributes:
        command: the subcommand: ``muster fit``.
        line: the whole command line.
        version: the version of Muster.
        written: time at which the page was written.
        sources: the files, each with its time, or the live cluster.

    """

    command: str = "muster simulate"
    line: str = ""
    version: str = ""
    written: str = ""
    sources: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class OwnRoots:
    """Roots at PATH: cards of those that are not placed, and trees of the others."""

    cards: tuple[Card, ...]
    trees: Listed[tuple[CardLine, ...]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Content of the page, in its order."""

    heading: Heading
    owners: Mapping[Name, Name]
    origin: Origin
    facts: tuple[Fact, ...]
    index: RootIndex
    sections: tuple[tuple[str, str], ...]
    updates: tuple[DrawnUpdate, ...]
    own: OwnRoots
    open: Open
    chart: Chart
    trees: Listed[tuple[CardLine, ...]]
    alone: str
    leaving: Listed[Leaving]
    pending: Listed[PendingReason]
    fragments: Listed[Fragment]
    problems: Listed[tuple[str, str]]
    foot: tuple[str, ...]


def content(
    answer: Answer,
    snapshot: ClusterSnapshot,
    options: CycleOptions,
    origin: Origin | None = None,
    updates: Sequence[DrawnUpdate] = (),
) -> Content:
    """Return the content of the page of *answer*; *updates* are those of running objects."""
    case = Case.from_answer(answer, with_device_rows(snapshot), options)
    opened = unplaced_roots.opened(case)
    own = OwnRoots(tuple(card for card in opened.cards if card.root in case.own), _trees(case, [*_placed(case, own=True)]))
    opened = dataclasses.replace(opened, cards=opened.cards[len(own.cards) :])
    others = [*_placed(case, own=False)]
    pods = [decision for decision in others if decision.root.kind == "Pod"]
    trees = _trees(case, others if len(pods) <= ALONE else [decision for decision in others if decision.root.kind != "Pod"])
    alone = _together(pods) if len(pods) > ALONE else ""
    page = Content(
        heading=answer.heading or answer_heading(answer, case.kinship),
        owners=answer.origins,
        origin=origin or Origin(),
        facts=(),
        index=root_index.index_roots(case, _roots_shown(own, opened, trees), case.own),
        sections=(),
        updates=tuple(updates),
        own=own,
        open=opened,
        chart=cluster_map.chart(case),
        trees=trees,
        alone=alone,
        leaving=Listed.from_sequence(list(_leaving(case)), LEAVING),
        pending=Listed.from_sequence(list(_left(case, {card.root for card in (*own.cards, *opened.cards)})), REASONS),
        fragments=Listed.from_sequence(answer.fragments or (), FRAGMENTS),
        problems=Listed.from_sequence(sentences.problems(answer.problems), PROBLEMS),
        foot=tuple(_foot(case)),
    )
    sections = tuple(_sections(page))
    return dataclasses.replace(page, facts=tuple(_facts(case, dict(sections))), sections=sections)


def _placed(case: Case, *, own: bool) -> Iterator[Decision]:
    """Yield the placed roots at PATH, or the others; groups first."""
    chosen = [decision for decision in case.placed if (decision.root in case.own) is own]
    yield from sorted(chosen, key=lambda decision: decision.root.kind == "Pod")


def _trees(case: Case, decisions: Sequence[Decision]) -> Listed[tuple[CardLine, ...]]:
    trees = Listed.from_sequence(decisions, TREES)
    return Listed(tuple(tuple(root_cards.lines(each, case.kinship, case.locate)) for each in trees.shown), trees.more)


def _roots_shown(own: OwnRoots, opened: Open, trees: Listed[tuple[CardLine, ...]]) -> Iterator[Name]:
    """Yield the roots that are on the page one by one, in its order."""
    yield from (card.root for card in own.cards)
    yield from (lines[0].group for lines in own.trees.shown)
    yield from (card.root for card in opened.cards)
    yield from (brief.root for brief in opened.briefs.shown)
    yield from (lines[0].group for lines in trees.shown)


def _sections(page: Content) -> Iterator[tuple[str, str]]:
    """Yield anchor and title of each section that is not empty."""
    own = page.own.cards or page.own.trees.shown
    filled = {
        "updates": ("Update, step by step" if len(page.updates) == 1 else "Updates, step by step", page.updates),
        "path": ("At PATH, after the update" if page.updates else "At PATH", own),
        "open": ("Others, not placed" if own else "Not placed, and why", page.open.cards or page.open.briefs.shown),
        "cluster": ("The cluster", True),
        "placed": ("Others, placed" if own else "Placed", page.trees.shown or page.alone),
        "leaving": ("Evictions", page.leaving.shown),
        "pending": ("Pods without a node", page.pending.shown),
        "fragmentation": ("Largest gangs", page.fragments.shown),
        "problems": ("Problems in the input", page.problems.shown),
    }
    yield from ((anchor, title) for anchor, (title, items) in filled.items() if items)


def _together(pods: Sequence[Decision]) -> str:
    """Return one sentence with the nodes of pods without a group."""
    counts = per_node({pod: node for decision in pods for pod, node in decision.assignments.items()})
    return f"{counted(len(pods), 'pod')} without a group on {nodes(counts, LONGEST)}"


def _facts(case: Case, sections: Mapping[str, str]) -> Iterator[Fact]:
    placed = next((anchor for anchor in ("placed", "path") if anchor in sections), "") if case.placed else ""
    answer, leaving = case.answer, {pod for decision in case.answer.decisions for pod in decision.victims}
    yield Fact(f"{answer.pods:,}", "pod placed" if answer.pods == 1 else "pods placed", placed)
    if answer.pending:
        yield Fact(f"{len(answer.pending):,}", "pending", next(each for each in ("pending", "open", "path") if each in sections))
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
        yield from (Leaving(victims, decision.root, gone) for victims in root_cards.leaving(decision, case.kinship))


def _left(case: Case, cards: Collection[Name]) -> Iterator[PendingReason]:
    """Yield the reasons of the pods without a node, except those of roots with *cards*, which have them."""
    on_cards = {pod for decision in case.unplaced if decision.root in cards for pod in decision.pending}
    for reason, keys in decision_words.most_frequent([each for each in case.answer.pending if each[0] not in on_cards]):
        yield PendingReason(counted(len(keys), "pod"), some(bare_names(keys)), reason)


def _foot(case: Case) -> Iterator[str]:
    strategies = {decision.search.strategy for decision in case.answer.decisions}
    if strategies == {"greedy"}:
        version = case.answer.decisions[0].behavior.version
        yield f"Decided as kube-scheduler {version} does."
    elif strategies:
        yield f"Decided with the strategy {' and '.join(sorted(strategies))}."
    if case.answer.seconds is not None:
        yield f"It took {case.answer.seconds:.3f} s."
