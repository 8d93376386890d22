"""Devices for the claims of pods on nodes.

The search runs once for nodes whose devices are alike and in use alike; its result is translated to the devices of each node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal

from kubeapi.base_structs import Record, replaced
from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.causes.claims import SelectorNotEvaluated
from scheduler_core.causes.filter_reasons import DeviceAdvice, SearchUnfinished
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.device_pools import DevicePools, NodePool, PoolDevice
from scheduler_core.model.devices import Allocation, Alternative, DeviceId, GivenDevice
from scheduler_core.model.names import NamedClaim
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.plugins.devices.allocator import Allocator, Solution, UnfinishedSearchError
from scheduler_core.plugins.devices.attributes_read import AttributesRead
from scheduler_core.plugins.devices.chosen_devices import Choice, NamedSpec, Wanted
from scheduler_core.plugins.devices.fresh_claims import FreshClaims
from scheduler_core.plugins.devices.node_state import KeptObjects, NodeStates, PoolStructures
from scheduler_core.plugins.devices.selection import AllocationError, Selection


class Failed(Record, frozen=True):
    """Error that ends the attempt to place a pod, or excludes the node; fields as in ``AllocationError``."""

    error: str | SearchUnfinished
    claim: int | None = None
    advice: DeviceAdvice | None = None
    everywhere: bool = False
    of_pool: bool = False

    @classmethod
    def from_error(cls, error: AllocationError) -> Failed:
        """Return *error* as a value."""
        return cls(error.error, error.claim, error.advice, error.everywhere, error.of_pool)

    @property
    def key(self) -> str:
        """Return the text by which the filter is known, if the error is the reason of a node."""
        return self.error if isinstance(self.error, str) else self.error.key


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """Choice by position: index of the pool on the node, index of the device in the pool."""

    pool: int
    device: int
    choice: Choice


_Solution = tuple[tuple[_Placed, ...], ...]
Result = _Solution | str | Failed
"""Devices by claim, the reason why there are none, or an error."""


@dataclasses.dataclass(slots=True, eq=False)
class _Kept:
    """Results by node, as of the first *seen* changes of the use of devices."""

    results: dict[int, Result] = dataclasses.field(default_factory=dict)
    seen: int = 0


class NodeAllocations:
    """Results of the search, by shape of the pod and state of the node.

    Attributes:
        pools: pools of the nodes.
        usage: devices in use.
        states: states of the nodes.
        tried: number of devices that ``ways`` has tried.
        fitting: numbers of equal pods that fit on a node together, as a search has found them, by shape and state of the node.

    """

    def __init__(self, nodes: NodeTable, objects: DeviceObjects, *, exact: bool = True) -> None:
        """Prepare; unless *exact*, a device for which a selector cannot be evaluated is one that it does not match."""
        self._nodes = nodes
        kept = objects.structures if isinstance(objects, KeptObjects) else None
        self.pools = pools = DevicePools(nodes, objects.slices) if kept is None else kept.pools
        self._selection = Selection(exact=exact, tolerant=nodes.behavior.tolerates_unread_values)
        self.usage = objects.new_usage(qualifies=nodes.behavior.qualifies_capacities)
        self._changed = self.usage.changed = []
        self._kept: dict[tuple[int, tuple[int, ...], tuple[str, ...]], _Kept] = {}
        self.states = NodeStates(
            pools, self.usage, lambda: PoolStructures(pools, AttributesRead.of_objects(objects)) if kept is None else kept
        )
        self._results: dict[tuple[int, tuple[int, ...], tuple[str, ...], Hashable], Result] = {}
        self._ways: dict[Hashable, tuple[tuple[_Solution, ...], bool]] = {}
        self._kinds = None if exact else self.states.kind
        self._own_selectors: dict[int, NodeSelector] = {}
        self.tried = 0
        self.fitting: dict[Hashable, int] = {}

    def matching(self, selector: NodeSelector) -> Bools:
        """Return the nodes that match *selector*; shape (nodes,)."""
        return self.pools.matching(selector)

    def most(self, specs: Sequence[NamedSpec], node: int) -> int | None:
        """Return an upper bound of the pods with the claims *specs* that the devices of *node* allow; None if there is none."""
        allocator = self._allocator(specs, node, None)
        bound: int | None = None
        for claim, named in enumerate(specs):
            for request in named.spec.requests:
                numbers = [
                    allocator.most(Wanted(claim, request, wanted), 1 if wanted.every else wanted.count) for wanted in request.alternatives
                ]
                known = [most for most in numbers if most is not None]
                if len(known) == len(numbers):
                    bound = sum(known) if bound is None else min(bound, sum(known))
        return bound

    def on(self, serial: int, claims: FreshClaims, node: int) -> Result:
        """Return the result for *claims* of a pod whose shape has the number *serial*, on *node*."""
        return _named(self._result_on(serial, claims, node), claims)

    def on_each(self, serial: int, claims: FreshClaims, nodes: Sequence[int]) -> list[Result]:
        """Return the same as ``on`` for each of *nodes*; results are kept until a device of a pool of the node is taken or given back."""
        kept = self._kept.setdefault((serial, claims.positions, claims.resources), _Kept())
        for pool in {*self._changed[kept.seen :]}:
            if (reaching := self.pools.nodes_of(pool)) is None:
                kept.results.clear()
                break
            for node in reaching:
                kept.results.pop(node, None)
        kept.seen = len(self._changed)
        for node in nodes:
            if node not in kept.results:
                kept.results[node] = self._result_on(serial, claims, node)
        return [_named(kept.results[node], claims) for node in nodes]

    def _result_on(self, serial: int, claims: FreshClaims, node: int) -> Result:
        at = serial, claims.positions, claims.resources, self.states.state(node)
        if (known := self._results.get(at)) is None:
            known = self._results[at] = self.search(claims.specs, node)
        return known

    def allocations(self, serial: int, claims: FreshClaims, node: int) -> list[Allocation] | None:
        """Return the allocations of *claims*, as in ``on``; None if there are none."""
        result = self.on(serial, claims, node)
        if isinstance(result, str | Failed):
            return None
        return [self._placed(placed, self.pools.on(node), node) for placed in result]

    def unevaluated(self, alternative: Alternative, claim: NamedClaim) -> SelectorNotEvaluated | None:
        """Return the first selector of *alternative* of *claim* because of which a device was left out; None if there was none."""
        if (error := self._selection.failures.get(alternative)) is None:
            return None
        return error.selector if error.claim is None else replaced(error.selector, claim=claim)

    def ways(self, serial: int, claims: FreshClaims, node: int, named: frozenset[int], most: int) -> tuple[list[list[Allocation]], bool]:
        """Return the ways to allocate *claims*, *most* at most, and whether these are all; arguments as for ``on``.

        Only one of the ways that use equally many devices of each kind is returned, unless the devices of the claims *named* differ.
        """
        at = serial, claims.positions, claims.resources, named, most, self.states.state(node)
        if (known := self._ways.get(at)) is None:
            known = self._ways[at] = self._search_all(claims.specs, node, named, most)
        pools, (solutions, finished) = self.pools.on(node), known
        return [[self._placed(placed, pools, node) for placed in solution] for solution in solutions], finished

    def _search_all(self, claims: Sequence[NamedSpec], node: int, named: frozenset[int], most: int) -> tuple[tuple[_Solution, ...], bool]:
        allocator = self._allocator(claims, node, self.states.kind)
        found: list[Solution] = []
        finished = True
        try:
            found = allocator.solutions(named, most + 1)
        except UnfinishedSearchError:
            finished = False
        except AllocationError:
            found = []
        self.tried += allocator.tried
        return tuple(self._by_position(each, node) for each in found[:most]), finished and len(found) <= most

    def _by_position(self, solution: Solution, node: int) -> _Solution:
        positions = _positions(self.pools.on(node))
        return tuple(tuple(_Placed(*positions[choice.device.id], choice) for choice in choices) for choices in solution)

    def allocator(self, claims: Sequence[NamedSpec], node: int) -> Allocator:
        """Return a new search for *claims* on *node*."""
        return self._allocator(claims, node, self._kinds)

    def _allocator(self, claims: Sequence[NamedSpec], node: int, kinds: Callable[[PoolDevice], Hashable] | None) -> Allocator:
        return Allocator(claims, self.pools, node, self.usage, self._selection, kinds, self._nodes.behavior)

    def search(self, claims: Sequence[NamedSpec], node: int) -> Result:
        """Return the result for *claims* on *node*."""
        self._selection.failed = None
        try:
            found = self.allocator(claims, node).allocate()
        except AllocationError as error:
            return self._failed(error)
        if isinstance(found, str):
            return found if self._selection.failed is None else self._failed(self._selection.failed)
        return self._by_position(found, node)

    def _failed(self, error: AllocationError) -> Failed:
        """Return *error*; with its first line only if it is the reason of a node, and does not end the attempt."""
        failed = Failed.from_error(error)
        if self._kinds is None or not isinstance(failed.error, str):
            return failed
        return replaced(failed, error=failed.error.partition("\n")[0])

    def _placed(self, placed: Sequence[_Placed], pools: Sequence[NodePool], node: int) -> Allocation:
        """Return the allocation of the devices that *placed* has chosen in *pools* of *node*."""
        devices = [pools[at.pool].devices[at.device] for at in placed]
        chosen = [(at.choice, device) for at, device in zip(placed, devices, strict=True)]
        given = [given_device(each.request, device, each.consumed, admin=each.admin) for each, device in chosen]
        return self.allocation(given, devices, node)

    def allocation(self, given: Iterable[GivenDevice], devices: Sequence[PoolDevice], node: int) -> Allocation:
        """Return the allocation of *given*, which are *devices*, on *node*."""
        return Allocation(tuple(given), self._node_selector(devices, node))

    def _node_selector(self, devices: Sequence[PoolDevice], node: int) -> NodeSelector | None:
        """Return the nodes that can use *devices*, which are allocated on *node*; None for all nodes."""
        if not any(map(_is_of_node, devices)):
            return _common_selector(devices)
        if (selector := self._own_selectors.get(node)) is None:
            only = NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", (self._nodes.names[node],)),))
            selector = self._own_selectors[node] = NodeSelector((only,))
        return selector


def _named(result: Result, claims: FreshClaims) -> Result:
    """Return *result*; an error with the name of its claim, as pods of one shape have claims of different names."""
    if isinstance(result, Failed) and result.claim is not None:
        return replaced(result, error=f"claim {claims.specs[result.claim].name}{result.error}", claim=None)
    return result


def _positions(pools: Sequence[NodePool]) -> dict[DeviceId, tuple[int, int]]:
    return {device.id: (at, number) for at, pool in enumerate(pools) for number, device in enumerate(pool.devices)}


def given_device(request: str, device: PoolDevice, consumed: tuple[tuple[str, Decimal], ...] = (), *, admin: bool = False) -> GivenDevice:
    """Return *device* as given to *request*; arguments as the fields of ``GivenDevice``."""
    content = device.content
    conditions = content.binding_conditions or ()
    failures = content.binding_failure_conditions or ()
    shared = content.allow_multiple_allocations
    return GivenDevice(request, device.id, admin, shared, consumed, bool(conditions), conditions, failures)


def _is_of_node(device: PoolDevice) -> bool:
    """Return whether only the node on which *device* is allocated can use it."""
    source = device.content if device.published.by_device else None
    return bool((source.node_name if source is not None else device.published.node) or device.content.binds_to_node)


def _common_selector(devices: Iterable[PoolDevice]) -> NodeSelector | None:
    """Return the nodes that can use *devices*, none of which is for one node alone; None for all nodes."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for device in devices:
        published = device.published
        selector = device.content.node_selector if published.by_device else published.selector
        for term in (selector.node_selector_terms or ())[:1] if selector is not None else ():
            fields += [field for field in term.match_fields or () if field not in fields]
            expressions += [expression for expression in term.match_expressions or () if expression not in expressions]
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions) or None, tuple(fields) or None),))
