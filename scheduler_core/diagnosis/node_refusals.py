"""Filters that reject a pod: for each node the first one, counted.

In kube-scheduler's messages the order is that of its default profile (plugins.registry).  In our own texts the plugins that depend on the
node alone are first, because free resources on nodes that they exclude do not count; ports in use count only on nodes with enough resources.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from scheduler_core.diagnosis import phrases
from scheduler_core.model.device_claims import DeviceShortage
from scheduler_core.model.device_rows import CountedRequest
from scheduler_core.model.devices import CANNOT_ALLOCATE, INVALID_POOLS, AttributeConstraint
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import NamedFilter
from scheduler_core.plugins.dynamic_resources import DeviceAllocation
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.noderesources import resource_reason
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields
from scheduler_core.plugins.volume_binding import VolumeBinding

ELSEWHERE = "node(s) didn't match pod group's topology"
"""Reason for nodes outside the domain that was tried; kube-scheduler omits them from the count."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeRefusals:
    """Reasons why the nodes of a placement reject one more pod.

    Attributes:
        pod: the pod.
        nodes: the examined nodes.
        static: nodes by reason, for filters that are applied before all others; non-empty masks over ``nodes``.
        others: the same for ports, spread, affinity, and static filters that are applied last.
        usable: shape (nodes,): nodes that pass the filters of ``static``.
        free: shape (requests, nodes): free resources, negative if overcommitted.
        short: shape (requests, nodes): resources that are insufficient, among the usable nodes.
        feasible: number of nodes that would take the pod.
        pre_filter: the reason that excludes all nodes without a look at them; empty if there is none.
        filters: all filters with their plugin; masks over ``nodes``.
        shortage: request for which nodes have too few free devices, if that is a reason.
        broken: claim and constraint because of which the first of these nodes has no devices, if no request is short of devices.

    """

    pod: PodRecord
    nodes: Nodes
    static: Mapping[str, Bools]
    others: Mapping[str, Bools]
    usable: Bools
    free: Ints
    short: Bools
    feasible: int
    pre_filter: str = ""
    filters: tuple[NamedFilter, ...] = ()
    shortage: DeviceShortage | None = None
    broken: tuple[str, AttributeConstraint] | None = None

    def counts(self) -> list[tuple[str, int]]:
        """Return kube-scheduler's reasons with their number of nodes, most first, then by text."""
        counts: Counter[str] = Counter()
        remaining: Bools = np.ones(len(self.nodes), dtype=bool)
        for plugin, filters in itertools.groupby(sorted(self.filters, key=lambda each: registry.position(each[0])), lambda each: each[0]):
            passed = remaining.copy()
            for _, reason, passing in filters:
                counts[reason] += int((remaining & ~passing).sum())
                passed &= passing
                # Only NodeResourcesFit gives all its reasons for a node.
                if plugin != registry.NODE_LOCAL.name:
                    remaining = passed
            remaining = passed
        return sorted(((reason, count) for reason, count in counts.items() if count), key=lambda each: (-each[1], each[0]))


def examine_nodes(state: PlacementState, pod: PodRecord, nodes: Nodes) -> NodeRefusals:
    """Return why *nodes* reject *pod* in the present state."""
    remaining: Bools = np.ones(len(nodes), dtype=bool)
    related = state.stateful.touches(pod)
    first = [(plugin, reason, mask[nodes]) for plugin, reason, mask in _static(state, pod, related=related)]
    # Devices are reported after the resources of nodes, whether nodes have none or too few.
    without = [each for each in first if each[1] == CANNOT_ALLOCATE]
    first = [each for each in first if each[1] != CANNOT_ALLOCATE]
    static = _first_rejections(first, remaining)
    usable = remaining.copy()
    ledger = _ledger_filters(state, pod.shape, nodes)
    rows = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
    amounts = np.array([[amount] for _, amount in pod.shape.requests], dtype=np.int64)
    free = free_of(state, rows)[:, nodes]
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
        stateful.append((DeviceAllocation.name, CANNOT_ALLOCATE, enough[counted].all(axis=0)))
    stateful = list(_with_invalid_pools(state, stateful, nodes))
    last = [(plugin, reason, mask[nodes]) for plugin, reason, mask in state.profile.filters_by_plugin(pod.shape, last=True)]
    others |= _first_rejections([*stateful, *last], remaining)
    pre_filter = state.profile.pre_filter(pod.shape)
    filters = (*first, *ledger, *_row_filters(state, rows[~counted], enough[~counted]), *stateful, *last)
    refusals = NodeRefusals(pod, nodes, static, others, usable, free, short, int(remaining.sum()), pre_filter, filters)
    return _with_shortage(state, refusals, nodes[others[CANNOT_ALLOCATE]]) if CANNOT_ALLOCATE in others else refusals


def _with_invalid_pools(state: PlacementState, filters: Iterable[NamedFilter], nodes: Nodes) -> Iterator[NamedFilter]:
    """Yield *filters*; where *nodes* without devices reach an invalid pool, that is the reason."""
    plugin = device_plugin(state)
    for name, reason, passing in filters:
        if plugin is not None and reason == CANNOT_ALLOCATE:
            invalid = ~passing
            invalid[invalid] = plugin.reach_invalid_pools(nodes[invalid])
            yield name, INVALID_POOLS, ~invalid
            yield name, reason, passing | invalid
        else:
            yield name, reason, passing


def _with_shortage(state: PlacementState, refusals: NodeRefusals, without: Nodes) -> NodeRefusals:
    """Return *refusals* with the reason why the nodes *without* devices for the claims have none."""
    if (plugin := device_plugin(state)) is None:
        return refusals
    if _is_counted(state, refusals.pod):
        return dataclasses.replace(refusals, shortage=_counted_shortage(state, refusals.pod, without))
    if (shortage := plugin.shortage(refusals.pod, without)) is not None:
        return dataclasses.replace(refusals, shortage=shortage)
    return dataclasses.replace(refusals, broken=plugin.broken_constraint(refusals.pod, int(without[0])))


def _is_counted(state: PlacementState, pod: PodRecord) -> bool:
    """Return whether rows say all about the free devices for *pod*; taints are read from the devices."""
    rows = state.nodes.device_rows
    return rows is not None and not rows.tainted and pod.shape.counts_devices


def _counted_shortage(state: PlacementState, pod: PodRecord, nodes: Nodes) -> DeviceShortage | None:
    for label, request in _counted_requests(state, pod):
        most = int(np.maximum(_free_devices(state, request, nodes), 0).max())
        if most < request.count:
            return DeviceShortage(label, request.device_class, most, request.count, request.name, request.selectors)
    return None


def free_devices(state: PlacementState, pod: PodRecord, short: DeviceShortage, nodes: Nodes) -> int:
    """Return the number of devices of *nodes* that are free for the request of *pod* in *short*; -1 if its claim is taken by now."""
    if _is_counted(state, pod):
        rows = (request for label, request in _counted_requests(state, pod) if (label, request.name) == (short.claim, short.request))
        return next((int(np.maximum(_free_devices(state, each, nodes), 0).sum()) for each in rows), -1)
    return -1 if (plugin := device_plugin(state)) is None else plugin.free_devices(pod, short, nodes)


def _counted_requests(state: PlacementState, pod: PodRecord) -> Iterator[tuple[str, CountedRequest]]:
    """Yield the requests of the claims of *pod* to allocate, each with the label of its claim."""
    rows = state.nodes.device_rows
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=True):
        for request in rows.claim(need).requests if rows is not None and need.allocates else ():
            yield claim.label, request


def _free_devices(state: PlacementState, request: CountedRequest, nodes: Nodes) -> Ints:
    free: Ints = free_of(state, np.array([state.nodes.row[request.row]], dtype=np.int64))[0, nodes]
    return free


def device_plugin(state: PlacementState) -> DeviceAllocation | None:
    """Return the plugin that allocates devices; None if no pod or object needs it."""
    return next((each for each in state.stateful.plugins if isinstance(each, DeviceAllocation)), None)


def fit_error_message(state: PlacementState, refusals: NodeRefusals) -> str:
    """Return kube-scheduler's message, counted over all nodes of the cluster."""
    total = len(state.nodes)
    if refusals.pre_filter:
        return f"0/{total} nodes are available: {refusals.pre_filter}."
    counts = refusals.counts()
    most = 2 * phrases.SHOWN
    shown = [f"{count} {reason}" for reason, count in counts[:most]]
    if len(counts) > most:
        shown.append(f"{sum(count for _, count in counts[most:])} node(s) for {len(counts) - most} more reasons")
    if outside := total - len(refusals.nodes):
        shown.append(f"{outside} {ELSEWHERE}")
    return f"0/{total} nodes are available: {', '.join(shown)}." if shown else f"0/{total} nodes are available."


def free_of(state: PlacementState, rows: Ints) -> Ints:
    """Return the free amounts of the resources *rows*; shape (rows, all nodes)."""
    free: Ints = state.nodes.allocatable[rows] - state.ledger.used[rows]
    return free - state.ledger.held[rows] if state.ledger.holding else free


def admitted(state: PlacementState, shape: PodShape) -> Bools:
    """Return the nodes that pass ``ledger_filters``; shape (all nodes,)."""
    feasible: Bools = np.ones(len(state.nodes), dtype=bool)
    for _, _, mask in _ledger_filters(state, shape, state.nodes.everything):
        feasible &= mask
    return feasible


def _ledger_filters(state: PlacementState, shape: PodShape, nodes: Nodes) -> list[NamedFilter]:
    """Return the filters of *shape* on *nodes* that depend on the ledger, except resources."""
    enabled = (plugin for plugin in registry.LEDGER if shape.profile.filters(plugin.name))
    return [(plugin.name, *each) for plugin in enabled for each in plugin(state.ledger).filters(shape, nodes)]


def _row_filters(state: PlacementState, rows: Ints, enough: Bools) -> Iterator[NamedFilter]:
    """Yield a filter for each of *rows*; *enough* has the nodes with enough of it."""
    for row, passing in zip(rows.tolist(), enough, strict=True):
        plugin = NodeVolumeLimits.name if row in state.nodes.limit_rows else registry.NODE_LOCAL.name
        plugin = VolumeBinding.name if row in state.nodes.volume_rows else plugin
        yield plugin, resource_reason(state.nodes, row), passing


def _static(state: PlacementState, pod: PodRecord, *, related: bool) -> list[NamedFilter]:
    """Return the filters that are applied first; an unmodelled rule about other pods rejects every node."""
    reason = state.profile.refused(state.stateful.unmodelled(pod)) if related else ""
    no_node = [(UnmodelledFields.name, reason, np.zeros(len(state.nodes), dtype=bool))] if reason else []
    return [*no_node, *state.profile.filters_by_plugin(pod.shape, last=False)]


def _first_rejections(filters: Iterable[NamedFilter], remaining: Bools) -> dict[str, Bools]:
    """Return, for each filter, the nodes that it is the first to reject; they are removed from *remaining*."""
    rejected: dict[str, Bools] = {}
    for _, reason, passing in filters:
        newly_rejected = remaining & ~passing
        if newly_rejected.any():
            rejected[reason] = rejected.get(reason, False) | newly_rejected
            remaining &= passing
    return rejected
