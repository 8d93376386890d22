"""Equal pods in every domain of a division: ``equal_pods`` on two-dimensional arrays."""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.placement.placement_request import Run
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import ShapeProfile


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FilledDomains:
    """Result by domain.

    Attributes:
        nodes: shape (domains, pods): the node of each pod in order, -1 if it does not fit, or if all domains hold too few pods.
        placed: shape (domains,).
        scored: shape (resources, domains): amounts of the pods there before, as scores count them.

    """

    nodes: Nodes
    placed: Ints
    scored: Ints


def fill_domains(
    run: Run, profile: ShapeProfile, members: Nodes, ledger: Ledger, capacity: Floats, *, whole: bool, least: int = 0
) -> FilledDomains:
    """Return the nodes of the pods of *run* in each domain, each domain by itself.

    Args:
        run: equal pods.
        profile: profile of their shape, which must be plain.
        members: shape (domains, widest): nodes of each domain, ascending, padded with -1.
        ledger: resources taken.
        capacity: shape (resources, all nodes): allocatable amounts of the resources that scores count.
        whole: as for ``NodeLocalPlugin.ladder``.
        least: no nodes are returned if no domain holds so many pods.

    """
    there = members >= 0
    flat = np.where(there, members, 0).ravel()
    slots = _slots(profile, flat, ledger).reshape(members.shape)
    slots[~there] = 0
    placed = np.minimum(slots.sum(axis=1), run.count)
    counted = _counted(flat, ledger)
    nodes: Nodes = np.full((len(members), run.count), -1, dtype=np.int64)
    if (placed >= least).any():
        found = _nodes_of_pods(run.count, profile, flat, slots, counted[:2], ledger, capacity, whole=whole)
        nodes[:, : found.shape[1]] = found
        nodes[np.arange(run.count) >= placed[:, None]] = -1
    return FilledDomains(nodes, placed, np.where(there, counted.reshape(-1, *members.shape), 0).sum(axis=2))


def _nodes_of_pods(
    count: int, profile: ShapeProfile, flat: Nodes, slots: Ints, scored: Ints, ledger: Ledger, capacity: Floats, *, whole: bool
) -> Nodes:
    """Return the nodes of *count* pods in each domain in order, shape (domains, pods): fewer if even the largest domain has fewer slots.

    *slots* are the pods that fit on each node, shape (domains, widest); *flat* are these nodes, padded with nodes without slots, and *scored*
    what is taken there.  Other arguments are as of ``fill_domains``.
    """
    local, scored_rows = profile.local, ledger.topology.nodes.scored.rows
    used, capacities = ledger.used[scored_rows].take(flat, axis=1), capacity.take(flat, axis=1)
    heads = local.ladder(capacities, scored, used, 1, whole=whole)[:, 0]
    bonus = profile.bonus_at(flat)
    heads = (heads if bonus is None else heads + bonus).reshape(slots.shape)
    heads[slots <= 0] = -1
    chosen = _best(heads, count, wide=local.wide)
    cells = (chosen + np.arange(len(slots))[:, None] * slots.shape[1]).ravel()
    slots = slots.ravel()[cells].reshape(chosen.shape)
    depth = max(1, min(count, int(slots.max(initial=0))))
    steps = local.ladder(capacities[:, cells], scored[:, cells], used[:, cells], depth, whole=whole)
    if bonus is not None:
        steps += bonus[cells, None]
    order = _merge(steps.reshape(*chosen.shape, depth), slots, wide=local.wide)[:, :count]
    return np.take_along_axis(flat[cells].reshape(chosen.shape), order // depth, axis=1)


def count_in_domains(profile: ShapeProfile, members: Nodes, ledger: Ledger) -> tuple[Ints, Ints]:
    """Return how many pods with *profile* fit in each domain, and ``scored`` of ``fill_domains``, for any profile; arguments likewise."""
    there = members >= 0
    flat = np.where(there, members, 0).ravel()
    slots = _slots_at(profile, flat, ledger).reshape(members.shape)
    slots[~there] = 0
    return slots.sum(axis=1), np.where(there, _counted(flat, ledger).reshape(-1, *members.shape), 0).sum(axis=2)


def _counted(nodes: Nodes, ledger: Ledger) -> Ints:
    """Return the amounts taken on *nodes*, as scores count them; shape (resources, nodes)."""
    scored = ledger.scored.take(nodes, axis=1)
    if not isinstance(more := ledger.topology.nodes.scored.rows, slice):
        scored = np.concatenate((scored, ledger.used[more[2:]].take(nodes, axis=1)))
    return scored


def count_in_domain(profile: ShapeProfile, nodes: Nodes, ledger: Ledger) -> int:
    """Do the same as ``count_in_domains`` for the domain of *nodes*."""
    return int(_slots_at(profile, nodes, ledger).sum())


def _slots_at(profile: ShapeProfile, nodes: Nodes, ledger: Ledger) -> Ints:
    """Do the same as ``_slots``, for few nodes."""
    rows = profile.rows[:, None]
    free = ledger.topology.nodes.allocatable[rows, nodes] - ledger.used[rows, nodes]
    if ledger.holding:
        free -= ledger.held[rows, nodes]
    slots: Ints = np.maximum((free // profile.amounts).min(axis=0), 0)
    if profile.mask is not None:
        slots[~profile.mask[nodes]] = 0
    return slots


def _slots(profile: ShapeProfile, flat: Nodes, ledger: Ledger) -> Ints:
    free = ledger.topology.nodes.allocatable[profile.rows] - ledger.used[profile.rows]
    if ledger.holding:
        free -= ledger.held[profile.rows]
    slots: Ints = np.maximum((free // profile.amounts).min(axis=0), 0)
    if profile.mask is not None:
        slots[~profile.mask] = 0
    return slots[flat]


def _best(heads: Ints, count: int, *, wide: bool) -> Ints:
    """Return the positions, ascending, of the *count* largest heads of each row; ties go to the first."""
    widest = heads.shape[1]
    if widest <= count:
        return np.broadcast_to(np.arange(widest), heads.shape)
    if wide:
        # Ranks in place of scores, so that the keys fit in 64 bits.
        heads = np.unique(heads, return_inverse=True)[1].reshape(heads.shape)
    keys = heads * widest - np.arange(widest)
    chosen = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    chosen.sort(axis=1)
    return chosen


def _merge(steps: Ints, slots: Ints, *, wide: bool) -> Ints:
    """Do the same as ``equal_pods.merge`` for each row; *steps* has the shape (domains, nodes, depth)."""
    lowest = np.minimum.accumulate(steps, axis=2)
    lowest[np.arange(steps.shape[2]) >= slots[:, :, None]] = -1
    flat = -lowest.reshape(len(steps), -1)
    return np.argsort(flat if wide else flat.astype(np.int16), axis=1, kind="stable")
