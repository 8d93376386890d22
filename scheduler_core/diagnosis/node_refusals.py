"""Filters that reject a pod: for each node the first one, counted.

In kube-scheduler's messages the order is that of its default profile (plugins.registry).  In our own causes the plugins that depend on the
node alone are first, because free resources on nodes that they exclude do not count; ports in use count only on nodes with enough resources.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from scheduler_core.causes.attempts import FitError, ReasonCount
from scheduler_core.causes.filter_reasons import ReasonValue, UnmodelledField
from scheduler_core.diagnosis import device_causes
from scheduler_core.diagnosis.device_causes import DeviceCause
from scheduler_core.model.devices import INVALID_POOLS
from scheduler_core.model.nodes import Bools, Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState, free_of
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import NO_REFUSAL, NamedFilter, Refusal
from scheduler_core.plugins.dynamic_resources import DEVICES_LACKING, DEVICES_UNAVAILABLE
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.noderesources import resource_reason
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields
from scheduler_core.plugins.volume_binding import VolumeBinding


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeRefusals:
    """Reasons why the nodes of a placement reject one more pod.

    Attributes:
        pod: the pod.
        nodes: the examined nodes.
        static: nodes by refusal, for filters that are applied before all others; non-empty masks over ``nodes``.
        others: the same for ports, spread, affinity, and static filters that are applied last.
        usable: shape (nodes,): nodes that pass the filters of ``static``.
        free: shape (requests, nodes): free resources, negative if overcommitted.
        short: shape (requests, nodes): resources that are insufficient, among the usable nodes.
        feasible: number of nodes that would take the pod.
        pre_filter: the refusal that excludes all nodes without a look at them; its reason is empty if there is none.
        filters: all filters with their plugin; masks over ``nodes``.
        devices: reasons why nodes have no devices, or cannot use those of a claim, by refusal.
        values: reasons that are more than the text by which the filter is known, by refusal.

    """

    pod: PodRecord
    nodes: Nodes
    static: Mapping[Refusal, Bools]
    others: Mapping[Refusal, Bools]
    usable: Bools
    free: Ints
    short: Bools
    feasible: int
    pre_filter: Refusal = NO_REFUSAL
    filters: tuple[NamedFilter, ...] = ()
    devices: Mapping[Refusal, tuple[DeviceCause, ...]] = dataclasses.field(default_factory=dict)
    values: Mapping[Refusal, ReasonValue] = dataclasses.field(default_factory=dict)

    def counts(self) -> list[tuple[Refusal, int]]:
        """Return the refusals with their number of nodes in kube-scheduler's order of filters, most first, then by reason and plugin."""
        counts: Counter[Refusal] = Counter()
        remaining: Bools = np.ones(len(self.nodes), dtype=bool)
        in_order = sorted(self.filters, key=lambda each: registry.position(each[0].plugin))
        for plugin, filters in itertools.groupby(in_order, lambda each: each[0].plugin):
            passed = remaining.copy()
            for refusal, passing in filters:
                counts[refusal] += int((remaining & ~passing).sum())
                passed &= passing
                # Only NodeResourcesFit gives all its reasons for a node.
                if plugin != registry.NODE_LOCAL.name:
                    remaining = passed
            remaining = passed
        return sorted((each for each in counts.items() if each[1]), key=lambda each: (-each[1], each[0].reason, each[0].plugin))


def examine_nodes(state: PlacementState, pod: PodRecord, nodes: Nodes) -> NodeRefusals:
    """Return why *nodes* reject *pod* in the present state."""
    remaining: Bools = np.ones(len(nodes), dtype=bool)
    related = state.stateful.touches(pod)
    unmodelled = state.profile.refused(state.stateful.unmodelled(pod)) if related else None
    first = [(refusal, mask[nodes]) for refusal, mask in _static(state, pod, unmodelled)]
    # Devices are reported after the resources of nodes, whether nodes have none or too few.
    without = [each for each in first if each[0] == DEVICES_LACKING]
    first = [each for each in first if each[0] != DEVICES_LACKING]
    static = _first_rejections(first, remaining)
    usable = remaining.copy()
    ledger = _ledger_filters(state, pod.shape, nodes)
    rows = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
    amounts = np.array([[amount] for _, amount in pod.shape.requests], dtype=np.int64)
    free = free_of(state, rows, nodes)
    enough = free >= amounts
    counted = np.array([row in state.nodes.counted for row in rows.tolist()], dtype=bool)
    short = ~enough & usable & ~counted[:, None]
    # VolumeBinding filters after NodeResourcesFit.
    volumes = np.array([row in state.nodes.volume_rows for row in rows.tolist()], dtype=bool)
    if volumes.any():
        short[volumes] &= ~short[~volumes].any(axis=0)
    remaining &= ~short.any(axis=0)
    others = _first_rejections(ledger, remaining)
    stateful = [*without, *(state.stateful.filters_by_plugin(pod, nodes) if related else ())]
    if counted.any():
        stateful.append((DEVICES_LACKING, enough[counted].all(axis=0)))
    stateful = list(_with_invalid_pools(state, stateful, nodes))
    values = _values(state, (unmodelled, state.profile.refused(pod.shape.unmodelled)))
    last = [(refusal, mask[nodes]) for refusal, mask in state.profile.filters_by_plugin(pod.shape, last=True)]
    others |= _first_rejections([*stateful, *last], remaining)
    pre_filter = state.profile.pre_filter_by_plugin(pod.shape)
    filters = (*first, *ledger, *_row_filters(state, rows[~counted], enough[~counted]), *stateful, *last)
    refusals = NodeRefusals(pod, nodes, static, others, usable, free, short, int(remaining.sum()), pre_filter, filters)
    about_devices = {refusal: others[refusal] for refusal in (DEVICES_LACKING, DEVICES_UNAVAILABLE) if refusal in others}
    devices = {refusal: device_causes.causes(state, pod, nodes[mask]) for refusal, mask in about_devices.items()}
    return dataclasses.replace(refusals, devices=devices, values=values)


def _with_invalid_pools(state: PlacementState, filters: Iterable[NamedFilter], nodes: Nodes) -> Iterator[NamedFilter]:
    """Yield *filters*; where *nodes* without devices reach an invalid pool, that is the reason."""
    plugin = device_causes.device_plugin(state)
    for refusal, passing in filters:
        if plugin is not None and refusal == DEVICES_LACKING:
            invalid = ~passing
            invalid[invalid] = plugin.reach_invalid_pools(nodes[invalid])
            yield Refusal(refusal.plugin, INVALID_POOLS), ~invalid
            yield refusal, passing | invalid
        else:
            yield refusal, passing


def fit_error(state: PlacementState, refusals: NodeRefusals) -> FitError:
    """Return the reasons in kube-scheduler's terms, counted over all nodes of the cluster."""
    total = len(state.nodes)
    if refusals.pre_filter.reason:
        return FitError(total, pre_filter=refusals.pre_filter.reason)
    resources = {_of_row(state.nodes, row): state.nodes.resources[row] for row, _ in refusals.pod.shape.requests}
    resources = {refusal: resource for refusal, resource in resources.items() if refusal.plugin == registry.NODE_LOCAL.name}
    reasons = [
        ReasonCount(
            refusals.values.get(refusal, refusal.reason),
            nodes,
            "" if refusal.plugin == UnmodelledFields.name else refusal.plugin,
            resources.get(refusal),
        )
        for refusal, nodes in refusals.counts()
    ]
    return FitError(total, tuple(reasons), total - len(refusals.nodes))


def admitted(state: PlacementState, shape: PodShape) -> Bools:
    """Return the nodes that pass ``ledger_filters``; shape (all nodes,)."""
    feasible: Bools = np.ones(len(state.nodes), dtype=bool)
    for _, mask in _ledger_filters(state, shape, state.nodes.everything):
        feasible &= mask
    return feasible


def _ledger_filters(state: PlacementState, shape: PodShape, nodes: Nodes) -> list[NamedFilter]:
    """Return the filters of *shape* on *nodes* that depend on the ledger, except resources."""
    enabled = (plugin for plugin in registry.LEDGER if shape.profile.filters(plugin.name))
    return [(Refusal(plugin.name, reason), mask) for plugin in enabled for reason, mask in plugin(state.ledger).filters(shape, nodes)]


def _row_filters(state: PlacementState, rows: Ints, enough: Bools) -> Iterator[NamedFilter]:
    """Yield a filter for each of *rows*; *enough* has the nodes with enough of it."""
    for row, passing in zip(rows.tolist(), enough, strict=True):
        yield _of_row(state.nodes, row), passing


def _of_row(nodes: NodeTable, row: int) -> Refusal:
    """Return the refusal of nodes with too little of a *row*."""
    plugin = NodeVolumeLimits.name if row in nodes.limit_rows else registry.NODE_LOCAL.name
    return Refusal(VolumeBinding.name if row in nodes.volume_rows else plugin, resource_reason(nodes, row))


def _static(state: PlacementState, pod: PodRecord, unmodelled: UnmodelledField | None) -> list[NamedFilter]:
    """Return the filters that are applied first; an *unmodelled* rule about other pods rejects every node."""
    no_node = [] if unmodelled is None else [(Refusal(UnmodelledFields.name, unmodelled.key), np.zeros(len(state.nodes), dtype=bool))]
    return [*no_node, *state.profile.filters_by_plugin(pod.shape, last=False)]


def _values(state: PlacementState, unmodelled: Iterable[UnmodelledField | None]) -> dict[Refusal, ReasonValue]:
    """Return the reasons that are values, by refusal, after the nodes were filtered."""
    plugin = device_causes.device_plugin(state)
    errors: dict[Refusal, ReasonValue] = {Refusal(plugin.name, each.key): each for each in plugin.errors()} if plugin is not None else {}
    return errors | {Refusal(UnmodelledFields.name, each.key): each for each in unmodelled if each is not None}


def _first_rejections(filters: Iterable[NamedFilter], remaining: Bools) -> dict[Refusal, Bools]:
    """Return, for each filter, the nodes that it is the first to reject; they are removed from *remaining*."""
    rejected: dict[Refusal, Bools] = {}
    for refusal, passing in filters:
        newly_rejected = remaining & ~passing
        if newly_rejected.any():
            rejected[refusal] = rejected.get(refusal, False) | newly_rejected
            remaining &= passing
    return rejected
