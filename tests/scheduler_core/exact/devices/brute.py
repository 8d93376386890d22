"""Exhaustive search for a placement of a small cluster with devices; shares no code with the engine.

With n nodes and p waiting pods there are (n + 1) ** p assignments, each with all ways to give devices to claims.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from tests.scheduler_core.exact.devices.small_clusters import HELD, Cluster, Device, Pod, Pool, Request, Spec, held_name

Assignment = Mapping[str, str]
"""Node by pod."""
Chosen = list[tuple[str, str]]
"""Request (``request`` or ``request/alternative``) and ``pool/device``."""


def possible(cluster: Cluster, *, without: frozenset[str] = frozenset()) -> bool:
    """Return whether the minimum of the root can be placed; pods in *without* do not run any more."""
    waiting = [each for each in cluster.pods if not each.node]
    choices = [["", *cluster.rack]] * len(waiting)
    for chosen in itertools.product(*choices):
        assignment = {pod.name: node for pod, node in zip(waiting, chosen, strict=True) if node}
        if (
            assignment
            and not problems(cluster, assignment, without=without)
            and any(True for _ in devices(cluster, assignment, without=without))
        ):
            return True
    return False


def problems(cluster: Cluster, assignment: Assignment, *, without: frozenset[str] = frozenset()) -> list[str]:
    """Return what is wrong with *assignment*, whichever devices the claims get."""
    where = {each.name: each.node for each in cluster.pods if each.node and each.name not in without} | dict(assignment)
    wrong = []
    for node in cluster.rack:
        here = [each for each in cluster.pods if where.get(each.name) == node]
        if sum(each.cpu for each in here) > 2 and any(each.name in assignment and each.cpu for each in here):
            wrong.append(f"{node} has too little cpu")
    return wrong + _unmet(cluster, assignment)


def _unmet(cluster: Cluster, assignment: Assignment) -> list[str]:
    """Return the minimums and racks that are violated."""
    wrong: list[str] = []
    met = set()
    for name, minimum in cluster.minimum.items():
        mine = [each for each in cluster.pods if each.group == name and each.name in assignment]
        if name != "root" and len(mine) >= minimum:
            met.add(name)
        if name != "root" and name in cluster.by_rack and len({cluster.rack[assignment[each.name]] for each in mine}) > 1:
            wrong.append(f"{name} is in several racks")
        if name != "root" and mine and len(mine) < minimum:
            wrong.append(f"{name} is below its minimum")
    if "root" in cluster.minimum:
        if len(met) < cluster.minimum["root"]:
            wrong.append("the root is below its minimum")
        if "root" in cluster.by_rack and len({cluster.rack[node] for node in assignment.values()}) > 1:
            wrong.append("the root is in several racks")
    elif not met:
        wrong.append("nothing is placed")
    return wrong


@dataclasses.dataclass
class _Use:
    taken: set[str]
    shares: Counter[str]
    memory: Counter[str]


def devices(cluster: Cluster, assignment: Assignment, *, without: frozenset[str] = frozenset()) -> Iterator[dict[str, Chosen]]:
    """Yield all ways to give devices to the claims of the pods in *assignment*, by claim: ``pod/POD/ENTRY`` or the name."""
    use = _Use(set(), Counter(), Counter())
    known = {f"{pool.name}/{each.name}": (pool, each) for pool in cluster.pools for each in pool.devices}
    free: dict[str, Spec] = {}
    given: dict[str, Chosen] = {}
    for number, (name, users) in enumerate(cluster.held):
        if users and set(users) <= without:
            free[held_name(number)] = HELD
            continue
        use.taken.add(name)
        use.memory[known[name][0].name] += known[name][1].memory
        if nodes := _nodes_with(cluster, assignment, held_name(number)):
            given[held_name(number)] = [("r0", name)]
        if any(known[name][0] not in cluster.pools_of(node) for node in nodes):
            return
    claims: list[tuple[str, Spec, list[str]]] = []
    for name, spec in {**cluster.shared, **free}.items():
        if nodes := _nodes_with(cluster, assignment, name):
            claims.append((name, spec, nodes))
    for pod in cluster.pods:
        for number, spec in enumerate(pod.own if pod.name in assignment else ()):
            claims.append((f"pod/{pod.name}/c{number}", spec, [assignment[pod.name]]))
    yield from _claims(cluster, claims, use, given)


def _nodes_with(cluster: Cluster, assignment: Assignment, claim: str) -> list[str]:
    """Return the nodes of the pods that name *claim*."""
    return [assignment[pod.name] for pod in cluster.pods if pod.name in assignment and claim in pod.shared]


def _claims(
    cluster: Cluster, claims: list[tuple[str, Spec, list[str]]], use: _Use, given: dict[str, Chosen]
) -> Iterator[dict[str, Chosen]]:
    if not claims:
        yield given
        return
    (name, spec, nodes), rest = claims[0], claims[1:]
    reached = [each for each in cluster.reached(nodes[0]) if all(each in cluster.reached(node) for node in nodes)]
    whole = not any(pool.incomplete for node in nodes for pool in cluster.pools_of(node))
    for pairs in _requests([*spec.requests], reached, [], use, whole=whole):
        if _agrees(spec, [device for _, _, device in pairs]):
            chosen = [(request, f"{pool.name}/{device.name}") for request, pool, device in pairs]
            yield from _claims(cluster, rest, use, {**given, name: chosen})


Pairs = list[tuple[str, Pool, Device]]


def _requests(requests: list[Request], reached: list[tuple[Pool, Device]], pairs: Pairs, use: _Use, *, whole: bool) -> Iterator[Pairs]:
    """Yield all devices for *requests*; *use* includes them while the caller continues.

    Unless the pools are *whole*, nobody knows which are all devices.
    """
    if not requests:
        yield pairs
        return
    request, rest = requests[0], requests[1:]
    if not request.count and any(_is_unevaluated(name, device) for name in request.classes for _, device in reached):
        return
    for number, name in enumerate(request.classes):
        written = request.name if len(request.classes) == 1 else f"{request.name}/a{number}"
        able = [each for each in reached if _selects(name, request, each[1])]
        if not request.count and not whole:
            continue
        if not request.count and any(_selects(name, request, each[1]) and not _tolerated(request, each[1]) for each in reached):
            continue
        able = [each for each in able if _tolerated(request, each[1])] if request.count else able
        for chosen in itertools.combinations(able, request.count or max(len(able), 1)):
            if (undo := _take(chosen, request, use)) is not None:
                yield from _requests(rest, reached, [*pairs, *((written, *each) for each in chosen)], use, whole=whole)
                use.taken, use.shares, use.memory = undo


def _take(chosen: tuple[tuple[Pool, Device], ...], request: Request, use: _Use) -> tuple[set[str], Counter[str], Counter[str]] | None:
    before = set(use.taken), use.shares.copy(), use.memory.copy()
    for pool, device in chosen:
        name = f"{pool.name}/{device.name}"
        if device.capacity:
            use.shares[name] += request.amount or device.capacity
            possible_here = use.shares[name] <= device.capacity
        else:
            possible_here = name not in use.taken
            use.taken.add(name)
        use.memory[pool.name] += device.memory
        if not possible_here or (device.memory and use.memory[pool.name] > pool.memory):
            use.taken, use.shares, use.memory = before
            return None
    return before


def _selects(name: str, request: Request, device: Device) -> bool:
    if request.amount and not device.capacity:
        return False
    return {"gpu": True, "x": device.model == "x", "numa0": device.numa == 0}[name]


def _is_unevaluated(name: str, device: Device) -> bool:
    """Return whether the selector of the class *name* cannot be evaluated for *device*."""
    return name == "numa0" and device.numa is None


def _tolerated(request: Request, device: Device) -> bool:
    return request.tolerant or not device.tainted


def _agrees(spec: Spec, chosen: list[Device]) -> bool:
    if not spec.constraint:
        return True
    values = [each.numa for each in chosen]
    if None in values:
        return False
    return len(set(values)) <= 1 if spec.constraint == "matchAttribute" else len(set(values)) == len(values)


def waiting(cluster: Cluster) -> list[Pod]:
    """Return the pods without a node."""
    return [each for each in cluster.pods if not each.node]
