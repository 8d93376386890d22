"""Trees and placement states for tests of the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.domain_tree import DomainTree, nested
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.tree_search import free_for, shapes
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from tests.scheduler_core.builders import Json, composite, entities, leaf, node, pods, state

PLENTY = 10_000_000
ZONE, RACK = "zone", "rack"


def cluster(*zones: Sequence[Sequence[int]]) -> list[Json]:
    """Return nodes with these cores in racks, in zones: r0 and r1 in z0, r2 in z1, …."""
    results = []
    rack = 0
    for number, each in enumerate(zones):
        for cores in each:
            results += [node(f"n{rack}-{index}", str(cpu), zone=f"z{number}", rack=f"r{rack}") for index, cpu in enumerate(cores)]
            rack += 1
    return results


def gang(name: str, minimum: int, count: int = 0, *, key: str = RACK, parent: str = "t", cpu: str = "1", memory: str = "") -> list[Json]:
    """Return a leaf with *count* equal pods, all required unless *minimum* is given."""
    return [leaf(name, minimum, key, parent), *pods(name, count or minimum, cpu, memory)]


def tree(*below: Iterable[Json], minimum: int, key: str = "", name: str = "t", parent: str = "") -> list[Json]:
    """Return a composite over the objects that follow."""
    return [composite(name, minimum, key, parent), *(each for part in below for each in part)]


def standing(objects: list[Json], root: str = "t") -> tuple[PlacementState, PlacementRequest]:
    """Return the placement state of *objects*, and the root."""
    here = state(objects)
    return here, Greedy(here).request(entities(objects)[root])


def measured(here: PlacementState, request: PlacementRequest, budget: StepBudget) -> tuple[Capacity, Measures]:
    """Return the free capacity for *request*, and its measure."""
    capacity = free_for(here, request, budget)
    return capacity, Measures(capacity, shapes(request))


def domain_tree_of(here: PlacementState, measures: Measures, *keys: str) -> DomainTree:
    """Return the domain tree of *keys* on all nodes; the domains must be nested."""
    result = nested(keys, here.topology.root.nodes, here.nodes)
    assert result is not None
    return DomainTree(here.topology.root.nodes, result, here.nodes, measures)
