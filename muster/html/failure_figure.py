"""Figures of a root that is not placed: demand of its groups and free capacity of each domain, on one scale.

A figure is about groups with equal requests, in domains of one level.  It shows the resource, the amounts and the numbers of pods that
their cause states; ``diagnosis.domain_amounts`` has counted what the cause does not state, at the time of the root's attempt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from kubeapi.base_structs import replaced
from muster.html.free_capacity import Attempt
from muster.render.phrases import natural
from scheduler_core.causes.groups import ChildrenInDomain, PodsDoNotFit, PodsLeftOver, failing_groups
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.domain_amounts import Demand, DomainAmounts, NodeAmounts, amounts_by_domain, demands
from scheduler_core.model.nodes import PODS
from scheduler_core.model.resource_values import Resource
from scheduler_core.model.topology import Topology
from scheduler_core.plugins.profile import Profile
from scheduler_core.wording import nouns
from scheduler_core.wording.titles import domain_text

FIGURES, ROWS, SEGMENTS, ALIKE = 4, 12, 32, 3
"""Limits: figures of a root, domains of a figure, nodes of a domain drawn one by one, names of equal domains."""


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """Demand of equal groups on one domain.

    Attributes:
        names: the groups.
        pods: the number of pods of each.
        amount: amount of the resource that each needs.
        by_pod: amounts of the pods that need any, the largest first; empty if their sum is not the amount that the cause states.

    """

    names: tuple[str, ...]
    pods: int
    amount: int
    by_pod: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FigureRow:
    """One domain, or several that are equal.

    Attributes:
        title: its name.
        amounts: what is free there.
        segments: node by node; one for all if there are many.
        represented: number of equal domains that it represents.

    """

    title: str
    amounts: DomainAmounts
    segments: tuple[NodeAmounts, ...]
    represented: int = 1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Needs and domains.

    Attributes:
        level: the name of the level; empty for the cluster as a whole.
        resource: the one that is short.
        unit: amount of it for one pod; 0 if the pods are not alike.
        each: all that a pod requests; empty if the pods are not alike.
        needs: the largest first.
        rows: the domains that are shown, the largest capacity first.
        others: the number of other domains, with at most the same capacity.
        promised: True if nominated pods of other roots reduce the free amount.
        fails: True if a cause states that no domain holds the pods.

    """

    level: str
    resource: Resource
    unit: int
    each: tuple[Amount, ...]
    needs: tuple[Need, ...]
    rows: tuple[FigureRow, ...]
    others: int
    promised: bool
    fails: bool


def figures(attempt: Attempt, topology: Topology, profile: Profile) -> list[Figure]:
    """Return the figures of the groups with a cause, that of the whole root first; none of the whole if amounts do not show why it fails.

    If a group fits alone, but not together with others, all groups have figures.
    """
    decides = next((cause for cause, _ in failing_groups(attempt.decision.causes)), None)
    together = isinstance(decides, ChildrenInDomain)
    alike: dict[tuple[object, ...], list[Demand]] = {}
    for demand in demands(attempt.entity, attempt.decision.causes):
        if together or demand.stated is not None:
            stated = demand.stated and replaced(demand.stated, needed=None)
            alike.setdefault((demand.chain, tuple(shape.serial for shape in demand.shapes), stated), []).append(demand)
    drawn = [figure for same in list(alike.values())[:FIGURES] if (figure := _figure(same, attempt, topology, profile)) is not None]
    if isinstance(decides, PodsDoNotFit | PodsLeftOver) and not any(
        decides.path[-1].name in need.names for each in drawn for need in each.needs
    ):
        return [figure for figure in drawn if figure.fails]
    return drawn


def _figure(same: Sequence[Demand], attempt: Attempt, topology: Topology, profile: Profile) -> Figure | None:
    shapes = same[0].shapes
    row, domains = amounts_by_domain(same[0], attempt.free, topology, profile)
    needs = tuple(_needs(same, row)) if domains else ()
    if not needs:
        return None
    rows = [FigureRow(title, each, _segments(each.by_node)) for title, each in zip(_titles(domains), domains, strict=True)]
    rows.sort(key=_order)
    shown = rows if len(rows) <= ROWS else _together(rows)
    return Figure(
        level=nouns.level(same[0].chain[-1].key) if same[0].chain else "",
        resource=topology.nodes.resource(row),
        unit=dict(shapes[0].requests).get(row, 0) if len(shapes) == 1 else 0,
        each=tuple(Amount(topology.nodes.resource(each), much) for each, much in shapes[0].requests if each != PODS)
        if len(shapes) == 1
        else (),
        needs=needs,
        rows=tuple(shown[:ROWS]),
        others=len(rows) - sum(each.represented for each in shown[:ROWS]),
        promised=attempt.promised,
        fails=same[0].stated is not None and bool(same[0].stated.domains),
    )


def _order(row: FigureRow) -> tuple[object, ...]:
    """Return a sort key: the largest capacity first."""
    return -(row.amounts.capacity or 0), -row.amounts.free, -row.amounts.closed, natural(row.title), row.title


def _segments(by_node: Sequence[NodeAmounts]) -> tuple[NodeAmounts, ...]:
    if len(by_node) <= SEGMENTS:
        return tuple(by_node)
    return (NodeAmounts(*(sum(each) for each in zip(*((one.fit, one.over, one.closed) for one in by_node), strict=True))),)


def _together(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the rows with equal ones joined: of many domains, many are alike."""
    alike: dict[tuple[object, ...], list[FigureRow]] = {}
    for row in rows:
        alike.setdefault((row.amounts.capacity, row.amounts.free, row.amounts.closed, row.amounts.why, row.segments), []).append(row)
    return [
        dataclasses.replace(same[0], title=nouns.listed([each.title for each in same], ALIKE), represented=len(same))
        for same in alike.values()
    ]


def _needs(same: Sequence[Demand], row: int) -> Iterator[Need]:
    by_size: dict[tuple[int, int, tuple[int, ...]], list[str]] = {}
    for demand in same:
        stated = demand.stated.needed if demand.stated is not None else None
        requested = (dict(shape.requests).get(row, 0) for shape in demand.required)
        by_pod = tuple(sorted(filter(None, requested), reverse=True))
        amount = sum(by_pod) if stated is None else stated
        size = demand.pods, amount, by_pod if amount == sum(by_pod) else ()
        by_size.setdefault(size, []).append(f"all of {demand.group}" if demand.whole else demand.group)
    for (pods, amount, by_pod), names in sorted(by_size.items(), reverse=True):
        if amount:
            yield Need(tuple(names), pods, amount, by_pod)


def _titles(domains: Sequence[DomainAmounts]) -> list[str]:
    """Return the innermost name of each, or the full path if two are equal."""
    innermost = {each.path[-1:] for each in domains}
    if len(innermost) == len(domains):
        return [domain_text(each.path[-1]) if each.path else "the cluster" for each in domains]
    return [", ".join(map(domain_text, reversed(each.path))) for each in domains]
