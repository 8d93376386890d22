"""Roots of a page that are not placed: cards with figures for the first ones, one line each for others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kubeapi.base_structs import replaced
from muster.html import failure_figure, failure_text, free_capacity, root_cards
from muster.html.failure_figure import Figure
from muster.html.page_data import Case, Listed
from muster.html.root_cards import Card
from muster.html.sentences import mark
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.device_refusals import InsufficientDevices
from scheduler_core.causes.domains import AttemptFailed, DomainCause, NodeCause
from scheduler_core.causes.groups import PodsDoNotFit
from scheduler_core.causes.node_states import NodeStateCause
from scheduler_core.causes.resources import ResourceCause
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.topology import Topology
from scheduler_core.wording import decision_words
from scheduler_core.wording.headline import headline
from scheduler_core.wording.truncation import cut

CARDS, ALONE, BRIEFS = 24, 3, 400
"""Limits: roots with a card, pods without a group among them, roots with one line."""
_BRIEF = 240
"""Limit of characters of a line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Brief:
    """A root in one line."""

    root: Name
    mark: str
    word: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Open:
    """Roots that are not placed; *alone* is the number of other pods without a group, shown by reason only."""

    cards: tuple[Card, ...]
    briefs: Listed[Brief]
    alone: int = 0


def opened(case: Case) -> Open:
    """Return the unplaced roots of *case*."""
    pods = [decision for decision in case.unplaced if decision.root.kind == "Pod"]
    shown_pods = _unlike(pods, case)[:ALONE]
    groups = [decision for decision in case.unplaced if decision.root.kind != "Pod"]
    selected = [decision for decision in case.unplaced if decision in shown_pods or decision in groups[: CARDS - len(shown_pods)]]
    figures = _figures(case, frozenset(decision.root for decision in selected))
    cards = [_card(decision, figures.get(decision.root, []), case) for decision in selected]
    briefs = Listed.from_sequence(list(map(_brief, groups[CARDS - len(shown_pods) :])), BRIEFS)
    return Open(tuple(cards), briefs, len(pods) - len(shown_pods))


def _unlike(pods: Sequence[Decision], case: Case) -> list[Decision]:
    """Return the first of equal pods: same requests, same status."""
    distinct: dict[tuple[object, ...], Decision] = {}
    for decision in pods:
        pod = case.final.pods.get(f"{decision.root.namespace}/{decision.root.name}")
        distinct.setdefault((pod.shape if pod else None, decision.status, bool(decision.victims)), decision)
    return list(distinct.values())


def _figures(case: Case, roots: frozenset[Name]) -> dict[Name, list[Figure]]:
    topology = Topology(case.snapshot.nodes)
    attempts = free_capacity.attempts(case.snapshot, case.answer, case.options, roots)
    return {attempt.decision.root: failure_figure.figures(attempt, topology, case.profile) for attempt in attempts}


def _card(decision: Decision, figures: list[Figure], case: Case) -> Card:
    return root_cards.card(
        decision,
        case.kinship,
        case.locate,
        headline=headline(decision.causes, promised=any(each.promised for each in figures)),
        figures=[failure_text.picture(figure, case.area_map.numbers) for figure in figures],
        causes=_not_drawn(decision, figures),
        searched=decision.search.outcome != "not-searched",
    )


def _not_drawn(decision: Decision, figures: Sequence[Figure]) -> Sequence[Cause]:
    """Return the causes of *decision*, without the domains of the first one of which a figure shows all that it states."""
    if not decision.causes:
        return ()
    first, *others = decision.causes
    if not isinstance(first, PodsDoNotFit) or first.elsewhere is not None:
        return decision.causes
    if not any(figure.fails and (first.path[-1].name,) == need.names for figure in figures for need in figure.needs):
        return decision.causes
    domains = tuple(each for each in first.domains if not _is_drawn(each))
    return (*([replaced(first, domains=domains, further=None)] if domains else []), *others)


def _is_drawn(cause: DomainCause) -> bool:
    """Return whether amounts say all: resources are missing, and nodes are closed; no more pods fit if that is changed."""
    return (
        cause.relaxation is None
        and all(isinstance(each, ResourceCause) for each in cause.decisive)
        and all(isinstance(each, NodeStateCause) or _is_counted(each) for each in cause.causes)
    )


def _is_counted(cause: NodeCause | AttemptFailed) -> bool:
    """Return whether devices are missing that a figure counts; the headline names them."""
    return isinstance(cause, InsufficientDevices) and cause.together is not None


def _brief(decision: Decision) -> Brief:
    return Brief(decision.root, mark(decision.status), decision.status.value, cut(decision_words.message(decision), _BRIEF))
