"""Figures of a root that is not placed: demand of its groups and free capacity of each domain, on one scale.

A figure is about groups with equal requests, in domains of one level.  It shows their scarcest resource at the time of the
root's attempt, before any of its own pods was placed.  The amounts are drawn node by node and for every domain, which causes do not have:
they describe only the first domains, and with the rules about other pods, which a picture of free amounts does not show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from muster.html.claims import Chain, Claim, claims
from muster.html.free_capacity import Attempt
from muster.html.sentences import amount_text
from muster.render.phrases import natural
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.node_states import NodesRefused, NodeStateCause
from scheduler_core.diagnosis.relaxed_filters import node_state
from scheduler_core.model import nouns
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import PODS, Bools, Ints
from scheduler_core.model.topology import Placement, Topology
from scheduler_core.placement.equal_pods import slots_of
from scheduler_core.plugins.profile import Profile
from scheduler_core.wording.titles import domain_text

FIGURES, ROWS, SEGMENTS, ALIKE = 4, 12, 32, 3
"""Limits: figures of a root, domains of a figure, nodes of a domain drawn one by one, names of equal domains."""


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """Demand of equal groups on one domain: pods and amount of the resource for each group."""

    names: tuple[str, ...]
    pods: int
    amount: int


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """Free capacity of a node (or several): usable by whole pods, remainder, not usable by the pods."""

    fit: int
    over: int
    closed: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FigureRow:
    """One domain.

    Attributes:
        title: its name.
        nodes: indices of its nodes, ascending.
        capacity: number of pods that fit; None if they are not alike.
        free: free amount of the resource on nodes that the pods can use.
        closed: free amount on the other nodes.
        why: causes for which the pods cannot use the other nodes, by the first filter that refuses each.
        segments: node by node, the largest capacity first; one for all if there are many.
        represented: number of equal domains that it represents.

    """

    title: str
    nodes: Ints
    capacity: int | None
    free: int
    closed: int
    why: tuple[NodeStateCause, ...]
    segments: tuple[Segment, ...]
    represented: int = 1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Needs and domains.

    Attributes:
        level: the name of the level; empty for the cluster as a whole.
        resource: the scarcest one.
        unit: amount of it for one pod; 0 if the pods are not alike.
        each: all that a pod requests, in words; empty if the pods are not alike.
        needs: the largest first.
        rows: the domains that are shown, the largest capacity first.
        others: the number of other domains, with at most the same capacity.
        free: free amount of the resource in the whole cluster.
        usable: the part of it in domains, on nodes that the pods can use.
        most: pods that fit in the domain with the largest capacity, without rules about other pods; None if they are not alike.
        capacities: capacity of every domain, by its nodes.
        promised: True if nominated pods of other roots reduce the free amount.
        hides_devices: True if the pods need devices, and a domain has enough of everything that is counted: the figure has no reason.

    """

    level: str
    resource: str
    unit: int
    each: str
    needs: tuple[Need, ...]
    rows: tuple[FigureRow, ...]
    others: int
    free: int
    usable: int
    most: int | None
    capacities: dict[bytes, int]
    promised: bool
    hides_devices: bool


def figures(attempt: Attempt, topology: Topology, profile: Profile) -> list[Figure]:
    """Return the figures of a root, that of the whole root first."""
    alike: dict[tuple[Chain, tuple[int, ...]], list[Claim]] = {}
    for claim in claims(attempt.entity):
        alike.setdefault((claim.chain, tuple(shape.serial for shape in claim.shapes)), []).append(claim)
    drawn = (_figure(same, attempt, topology, profile) for same in list(alike.values())[:FIGURES])
    return [figure for figure in drawn if figure is not None and not figure.hides_devices]


def _figure(same: Sequence[Claim], attempt: Attempt, topology: Topology, profile: Profile) -> Figure | None:
    shapes, places = same[0].shapes, list(_places(topology, topology.root, same[0].chain))
    if not places:
        return None
    view = _View.from_claim(same[0], attempt.free, profile)
    row = view.tightest([placement.nodes for _, placement in places])
    name, unit = topology.nodes.resources[row], dict(shapes[0].requests).get(row, 0) if len(shapes) == 1 else 0
    titles = _titles([path for path, _ in places])
    rows = [view.row(row, unit, title, placement.nodes) for title, (_, placement) in zip(titles, places, strict=True)]
    rows.sort(key=lambda each: (-(each.capacity or 0), -each.free, -each.closed, natural(each.title), each.title))
    shown = rows if len(rows) <= ROWS else _together(rows)
    capacities = {each.nodes.tobytes(): each.capacity for each in rows if each.capacity is not None}
    return Figure(
        level=nouns.level(same[0].chain[-1].key) if same[0].chain else "",
        resource=name,
        unit=unit,
        each=", ".join(amount_text(topology.nodes.resources[each], much) for each, much in shapes[0].requests if each != PODS)
        if len(shapes) == 1
        else "",
        needs=tuple(_needs(same, row)),
        rows=tuple(shown[:ROWS]),
        others=len(rows) - sum(each.represented for each in shown[:ROWS]),
        free=int(attempt.free[row].sum()),
        usable=sum(each.free for each in rows),
        most=max(capacities.values(), default=None),
        capacities=capacities,
        promised=attempt.promised,
        hides_devices=any(need.allocates for shape in shapes for need in shape.devices)
        and max(capacities.values(), default=0) >= max(claim.pods for claim in same),
    )


def _together(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the rows with equal ones joined: of many domains, many are alike."""
    alike: dict[tuple[object, ...], list[FigureRow]] = {}
    for row in rows:
        alike.setdefault((row.capacity, row.free, row.closed, row.why, row.segments), []).append(row)
    return [
        dataclasses.replace(same[0], title=nouns.listed([each.title for each in same], ALIKE), represented=len(same))
        for same in alike.values()
    ]


def _needs(same: Sequence[Claim], row: int) -> Iterator[Need]:
    by_size: dict[tuple[int, int], list[str]] = {}
    for claim in same:
        by_size.setdefault((claim.pods, claim.amount(row)), []).append(claim.title)
    for (pods, amount), names in sorted(by_size.items(), reverse=True):
        yield Need(tuple(names), pods, amount)


def _places(topology: Topology, parent: Placement, chain: Chain) -> Iterator[tuple[tuple[str, ...], Placement]]:
    """Yield the domains of the last key of *chain*, with their names, inside domains of the earlier keys with all running members."""
    if not chain:
        yield (), parent
        return
    first, *rest = chain
    for domain in topology.divide(parent, first.key).domains:
        if first.pinned <= set(domain.nodes.tolist()):
            for path, placement in _places(topology, domain, tuple(rest)):
                yield (domain_text(Domain(domain.key, domain.value)), *path), placement


def _titles(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the innermost name of each, or the full path if two are equal."""
    last = [path[-1] if path else "the cluster" for path in paths]
    return last if len(set(last)) == len(last) else [", ".join(reversed(path)) for path in paths]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Free capacity of the nodes for the pods of a claim."""

    claim: Claim
    free: Ints
    profile: Profile
    open: Bools
    """Shape (nodes,): True if one of the pod shapes can run."""
    slots: Ints | None
    """Shape (nodes,): number of pods that fit; None if they are not alike."""

    @classmethod
    def from_claim(cls, claim: Claim, free: Ints, profile: Profile) -> _View:
        usable: Bools = np.zeros(free.shape[1], dtype=bool)
        for shape in claim.shapes:
            mask = profile.compile(shape).mask
            usable |= True if mask is None else mask
        slots = None
        if len(claim.shapes) == 1:
            static = profile.compile(claim.shapes[0])
            slots = np.maximum(slots_of(free[static.rows], static.amounts, static.mask), 0)
        return cls(claim, free, profile, usable, slots)

    def tightest(self, places: Sequence[Ints]) -> int:
        """Return the row of the scarcest resource: the best place fits the fewest pods; of equal ones, a device first."""
        rows = sorted({row for shape in self.claim.shapes for row, _ in shape.requests})
        ranks = []
        for row in rows:
            whole = max(self.claim.amount(row), 1)
            free = np.where(self.open, self.free[row], 0)
            fitting = free // dict(self.claim.shapes[0].requests)[row] if self.slots is not None else free
            most = max(int(fitting[nodes].sum()) for nodes in places)
            ranks.append((most, max(int(free[nodes].sum()) for nodes in places) / whole, row == PODS, -row))
        return -min(ranks)[-1] if self.slots is not None else -min((ratio, pods, row) for _, ratio, pods, row in ranks)[-1]

    def row(self, row: int, unit: int, title: str, nodes: Ints) -> FigureRow:
        usable, free = self.open[nodes], self.free[row, nodes]
        fitting = np.zeros_like(free) if self.slots is None else self.slots[nodes] * unit
        if self.slots is None:
            fitting = np.where(usable, free, 0)
        segments = sorted(
            zip((-fitting).tolist(), (-np.where(usable, free - fitting, 0)).tolist(), (-np.where(usable, 0, free)).tolist(), strict=True)
        )
        drawn = [Segment(-fit, -over, -closed) for fit, over, closed in segments if fit or over or closed]
        if len(drawn) > SEGMENTS:
            drawn = [Segment(*(sum(each) for each in zip(*((one.fit, one.over, one.closed) for one in drawn), strict=True)))]
        return FigureRow(
            title=title,
            nodes=nodes,
            capacity=None if self.slots is None else int(self.slots[nodes].sum()),
            free=int(free[usable].sum()),
            closed=int(free[~usable].sum()),
            why=self._why(nodes[~usable & (free > 0)]),
            segments=tuple(drawn),
        )

    def _why(self, nodes: Ints) -> tuple[NodeStateCause, ...]:
        """Return the first cause for each node that the pods cannot use."""
        remaining, causes, shape = nodes, list[NodeStateCause](), self.claim.shapes[0]
        unmodelled = self.profile.refused(shape.unmodelled)
        for plugin, reason, mask in self.profile.filters_by_plugin(shape) if len(nodes) else ():
            refused = remaining[~mask[remaining]]
            if len(refused):
                cause = node_state(shape, (plugin, reason), refused, len(nodes), self.profile.nodes)
                why = unmodelled if unmodelled is not None and reason == unmodelled.key else reason
                causes.append(cause or NodesRefused(why, NodeCount(len(refused), len(nodes))))
                remaining = remaining[mask[remaining]]
        return tuple(causes)
