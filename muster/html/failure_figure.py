"""Figures of a root that is not placed: demand of its groups and free capacity of each domain, on one scale.

A figure is about groups with equal requests, in domains of one level.  It shows their scarcest resource at the time of the
root's attempt, before any of its own pods was placed; ``diagnosis.domain_amounts`` has counted it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from muster.html.free_capacity import Attempt
from muster.render.phrases import natural
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.domain_amounts import Chain, Demand, DomainAmounts, NodeAmounts, amounts_by_domain, demands
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
    """Demand of equal groups on one domain: pods and amount of the resource for each group."""

    names: tuple[str, ...]
    pods: int
    amount: int


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
        resource: the scarcest one.
        unit: amount of it for one pod; 0 if the pods are not alike.
        each: all that a pod requests; empty if the pods are not alike.
        needs: the largest first.
        rows: the domains that are shown, the largest capacity first.
        others: the number of other domains, with at most the same capacity.
        capacities: capacity of every domain, by its nodes.
        promised: True if nominated pods of other roots reduce the free amount.
        hides_devices: True if the pods need devices, and a domain has enough of everything that is counted: the figure has no reason.

    """

    level: str
    resource: Resource
    unit: int
    each: tuple[Amount, ...]
    needs: tuple[Need, ...]
    rows: tuple[FigureRow, ...]
    others: int
    capacities: dict[bytes, int]
    promised: bool
    hides_devices: bool


def figures(attempt: Attempt, topology: Topology, profile: Profile) -> list[Figure]:
    """Return the figures of a root, that of the whole root first."""
    alike: dict[tuple[Chain, tuple[int, ...]], list[Demand]] = {}
    for demand in demands(attempt.entity):
        alike.setdefault((demand.chain, tuple(shape.serial for shape in demand.shapes)), []).append(demand)
    drawn = (_figure(same, attempt, topology, profile) for same in list(alike.values())[:FIGURES])
    return [figure for figure in drawn if figure is not None and not figure.hides_devices]


def _figure(same: Sequence[Demand], attempt: Attempt, topology: Topology, profile: Profile) -> Figure | None:
    shapes = same[0].shapes
    row, domains = amounts_by_domain(same[0], attempt.free, topology, profile)
    if not domains:
        return None
    rows = [FigureRow(title, each, _segments(each.by_node)) for title, each in zip(_titles(domains), domains, strict=True)]
    rows.sort(key=_order)
    shown = rows if len(rows) <= ROWS else _together(rows)
    capacities = {each.nodes.tobytes(): each.capacity for each in domains if each.capacity is not None}
    return Figure(
        level=nouns.level(same[0].chain[-1].key) if same[0].chain else "",
        resource=topology.nodes.resource(row),
        unit=dict(shapes[0].requests).get(row, 0) if len(shapes) == 1 else 0,
        each=tuple(Amount(topology.nodes.resource(each), much) for each, much in shapes[0].requests if each != PODS)
        if len(shapes) == 1
        else (),
        needs=tuple(_needs(same, row)),
        rows=tuple(shown[:ROWS]),
        others=len(rows) - sum(each.represented for each in shown[:ROWS]),
        capacities=capacities,
        promised=attempt.promised,
        hides_devices=any(need.allocates for shape in shapes for need in shape.devices)
        and max(capacities.values(), default=0) >= max(demand.pods for demand in same),
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
    by_size: dict[tuple[int, int], list[str]] = {}
    for demand in same:
        by_size.setdefault((demand.pods, demand.amount(row)), []).append(f"all of {demand.group}" if demand.whole else demand.group)
    for (pods, amount), names in sorted(by_size.items(), reverse=True):
        yield Need(tuple(names), pods, amount)


def _titles(domains: Sequence[DomainAmounts]) -> list[str]:
    """Return the innermost name of each, or the full path if two are equal."""
    innermost = {each.path[-1:] for each in domains}
    if len(innermost) == len(domains):
        return [domain_text(each.path[-1]) if each.path else "the cluster" for each in domains]
    return [", ".join(map(domain_text, reversed(each.path))) for each in domains]
