"""The roots of a page that are not placed: cards with figures for the first of them, a line each for the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from muster.html import failure_figure, failure_text, free_capacity, root_cards
from muster.html.case import Case, Listed
from muster.html.failure_figure import Figure
from muster.html.root_cards import Card
from muster.html.sentences import mark
from scheduler_core.model.decision import Decision, Name
from scheduler_core.model.topology import Topology
from scheduler_core.model.wording import cut

CARDS, ALONE, BRIEFS = 24, 3, 400
"""Roots told with all that is known of why, pods without a group among them, and roots told in a line, at most."""
_BRIEF = 240
"""Characters of such a line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Brief:
    """A root told in one line."""

    root: Name
    mark: str
    word: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Open:
    """Roots that are not placed; *alone* is how many more pods without a group there are, which are told by their reasons only."""

    cards: tuple[Card, ...]
    briefs: Listed[Brief]
    alone: int = 0


def opened(case: Case) -> tuple[Open, list[tuple[str, Figure]]]:
    """Those of *case*, and the figures of which the map speaks, with the name of the root."""
    pods = [decision for decision in case.unplaced if decision.root.kind == "Pod"]
    told = _unlike(pods, case)[:ALONE]
    groups = [decision for decision in case.unplaced if decision.root.kind != "Pod"]
    chosen = [decision for decision in case.unplaced if decision in told or decision in groups[: CARDS - len(told)]]
    figures = _figures(case, frozenset(decision.root for decision in chosen))
    cards = [_card(decision, figures.get(decision.root, []), case) for decision in chosen]
    briefs = Listed.from_sequence(list(map(_brief, groups[CARDS - len(told) :])), BRIEFS)
    return Open(tuple(cards), briefs, len(pods) - len(told)), [(root.name, figure) for root, found in figures.items() for figure in found]


def _unlike(pods: Sequence[Decision], case: Case) -> list[Decision]:
    """The first of those that are alike: that need the same, and are not placed for the same reason."""
    found: dict[tuple[object, ...], Decision] = {}
    for decision in pods:
        pod = case.standing.pods.get(f"{decision.root.namespace}/{decision.root.name}")
        found.setdefault((pod.shape if pod else None, decision.status, bool(decision.victims)), decision)
    return list(found.values())


def _figures(case: Case, wanted: frozenset[Name]) -> dict[Name, list[Figure]]:
    topology = Topology(case.snapshot.nodes)
    turns = free_capacity.turns(case.snapshot, case.answer, case.options, wanted)
    return {turn.decision.root: failure_figure.figures(turn, topology, case.profile) for turn in turns}


def _card(decision: Decision, figures: list[Figure], case: Case) -> Card:
    return root_cards.card(
        decision,
        case.kinship,
        case.locate,
        headline=failure_text.headline(figures, alone=len(decision.groups) <= 1),
        figures=[failure_text.picture(figure, case.survey.numbers) for figure in figures],
        searched=decision.search.outcome != "not-searched",
    )


def _brief(decision: Decision) -> Brief:
    return Brief(decision.root, mark(decision.status), decision.status.value, cut(decision.message, _BRIEF))
