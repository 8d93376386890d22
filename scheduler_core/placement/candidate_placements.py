"""Candidate placements of a group (KEP-5732, Candidate Placement Generation and Multiple PlacementGeneratePlugins)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from scheduler_core.causes.attempts import EmptyDomain, MemberDomain, MembersApart, NodeWithoutKey
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.topology import Placement, Topology
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_NAMED = 3
"""Domains that an error names."""


class PinError(ValueError):
    """Running members are in different domains, or on nodes without the topology label: *reason*."""

    def __init__(self, reason: NodeWithoutKey | EmptyDomain | MembersApart) -> None:
        super().__init__()
        self.reason = reason


def pinned_value(nodes: NodeTable, key: str, running: Sequence[int]) -> str:
    """Return the value of *key* that all nodes *running* (at least one) share.

    Raises:
        PinError: their values differ, or one node has no such label.

    """
    column = nodes.column(key)
    values: dict[str, str] = {}
    for node in running:
        if (value := int(column.ids[node])) < 0:
            raise PinError(NodeWithoutKey(nodes.names[node], key))
        values.setdefault(column.values[value], nodes.names[node])
    if len(values) > 1:
        raise PinError(MembersApart(key, len(values), tuple(itertools.starmap(MemberDomain, sorted(values.items())[:_NAMED]))))
    return next(iter(values))


def pinned_domain(state: PlacementState, request: PlacementRequest) -> str:
    """Return the value of the topology key of *request* that the nodes of its running members (at least one) share.

    Raises:
        PinError: as ``pinned_value``, or the value of one node is empty and not a domain.

    """
    key, labels = request.entity.key, state.nodes.labels
    if not state.behavior.empty_value_is_domain and key not in state.nodes.device_levels:
        running = (pod for leaf in request.entity.leaves() for pod in leaf.running)
        if (there := next((pod for pod in running if labels[pod.node].get(key) == ""), None)) is not None:
            raise PinError(EmptyDomain(there.key, state.nodes.names[there.node], key))
    return pinned_value(state.nodes, key, request.pinned)


def enough(percentage: int, placements: Sequence[Placement]) -> int:
    """Return the number of feasible placements to compare (KEP-5732, Limit on the Number of Checked Placements).

    *percentage* 0 selects the adaptive limit: all placements in very small clusters, 10 % at 5,000 nodes, never below 5 %.
    """
    nodes = sum(len(placement) for placement in placements)
    percentage = percentage or max(5, 100 - nodes * 9 // 500)
    return max(1, len(placements) * percentage // 100)


def parts(state: PlacementState, request: PlacementRequest, placement: Placement) -> list[Mapping[str, Nodes]]:
    """Return the placements of each generator inside *placement*, the built-in one first; see ``merged``.

    Raises:
        PinError: as ``pinned_domain``.
        PluginFailedError: a generator raised an exception.

    """
    whole: Mapping[str, Nodes] = {"": placement.nodes}
    built_in, key = whole, request.entity.key
    if key:
        domains = state.topology.divide(placement, key).domains
        if request.pinned:
            value = pinned_domain(state, request)
            domains = tuple(each for each in domains if each.value == value)
        built_in = {domain.value: domain.nodes for domain in domains}
    others = state.plugins.generate(request.entity, placement.nodes, state.nodes)
    return [built_in, *(whole if other is None else other for other in others)]


def in_domain(topology: Topology, parent: Placement, key: str, value: str) -> Placement | None:
    """Return the domain of *key* and *value* inside *parent*; None if *parent* has no node of it."""
    division = topology.divide(parent, key)
    row = division.rows.get(value)
    return None if row is None else division.domains[row]


def merged(parts: Sequence[Mapping[str, Nodes]]) -> dict[str, Nodes]:
    """Return the non-empty intersections of one placement of each generator.

    The name of an intersection joins the names of its parts by ``/``.  A part with an empty name is the whole parent placement.
    """
    found: dict[str, Nodes] = {}
    for number, part in enumerate(parts):
        if not number:
            found = dict(part)
            continue
        crossed: dict[str, Nodes] = {}
        for name, nodes in found.items():
            inside = set(nodes.tolist())
            for other, others in part.items():
                both = others[[node in inside for node in others.tolist()]]
                if len(both):
                    crossed["/".join(filter(None, (name, other)))] = both
        found = crossed
    return found
