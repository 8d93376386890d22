"""Devices that requests do not count together with volumes of any kind: the search, compared with all assignments of small clusters."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import Json
from tests.scheduler_core.exact.volumes import brute, small_clusters
from tests.scheduler_core.exact.volumes.small_clusters import BOUND, STATIC, Claim, Cluster, Node, Pod, Volume
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    claim_spec,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
)

RANDOM = settings(
    max_examples=sampled(1_000), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
PAIR = claim_spec(request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])
Chosen = dict[str, list[str]]
"""``pool/device`` by claim."""


@dataclasses.dataclass(frozen=True)
class Mixed:
    """Cluster with volumes, and with devices.

    Attributes:
        numa: value of numa by ``pool/device``; the pool is the node, or ``all`` for devices that every node reaches.
        own: number of devices by waiting pod; two devices have one value of numa.
        sharing: waiting pods that use the claim ``shared`` to one device.
        held: device of a claim by the running pod that uses it.

    """

    cluster: Cluster
    numa: Mapping[str, int]
    own: Mapping[str, int]
    sharing: frozenset[str]
    held: Mapping[str, str]


@st.composite
def mixed(draw: st.DrawFn, running: int = 1, priority: int = 10) -> Mixed:
    cluster = draw(small_clusters.clusters(running=running, priority=priority))
    cluster.nodes = cluster.nodes[:3]
    names = [each.name for each in cluster.nodes]
    for each in cluster.pods:
        each.node = each.node if each.node in names or not each.node else names[0]
    numa = {f"{pool}/d{number}": draw(st.integers(0, 1)) for pool in names for number in range(draw(st.integers(0, 3)))}
    if draw(st.integers(0, 2)) == 0:
        numa["all/d0"] = 0
    waiting = [each.name for each in cluster.pods if not each.node]
    own = {name: draw(st.sampled_from((0, 0, 1, 2))) for name in waiting}
    sharing = frozenset(name for name in waiting if draw(st.integers(0, 2)) == 0)
    held = {each.name: f"{each.node}/d{number}" for number, each in enumerate(each for each in cluster.pods if each.node)}
    return Mixed(cluster, numa, own, sharing, {name: each for name, each in held.items() if each in numa and draw(st.booleans())})


def manifests(drawn: Mixed) -> list[Json]:
    found = [device_class(), template("t1", request()), template("t2"), resource_claim("shared", request())]
    found[2]["spec"]["spec"] = PAIR
    for pool in dict.fromkeys(name.partition("/")[0] for name in drawn.numa):
        devices = [device(name.partition("/")[2], {"numa": value}) for name, value in drawn.numa.items() if name.startswith(f"{pool}/")]
        found.append(device_slice(pool, *devices) if pool != "all" else device_slice(None, *devices, allNodes=True))
    for each in small_clusters.manifests(drawn.cluster):
        found.append(each)
        name, entries = each["metadata"]["name"], []
        if each["kind"] == "Pod":
            entries += [{"name": "s", "resourceClaimName": "shared"}] if name in drawn.sharing else []
            entries += [{"name": "g", "resourceClaimTemplateName": f"t{drawn.own[name]}"}] if drawn.own.get(name) else []
            entries += [{"name": "h", "resourceClaimName": f"held-{name}"}] if name in drawn.held else []
            each["spec"]["resourceClaims"] = entries
            each["metadata"]["uid"] = name
    return [*found, *(resource_claim(f"held-{pod}", request(), devices=[f"gpu={each}"], users=[pod]) for pod, each in drawn.held.items())]


def possible(drawn: Mixed, *, without: frozenset[str] = frozenset()) -> bool:
    """Return whether the minimum of the root can be placed; pods in *without* do not run any more."""
    waiting = [each.name for each in drawn.cluster.pods if not each.node]
    for chosen in itertools.product(["", *(each.name for each in drawn.cluster.nodes)], repeat=len(waiting)):
        assignment = {name: node for name, node in zip(waiting, chosen, strict=True) if node}
        if (
            assignment
            and not brute.problems(drawn.cluster, assignment, without=without)
            and any(True for _ in brute.volumes(drawn.cluster, assignment))
            and any(True for _ in devices(drawn, assignment, without=without))
        ):
            return True
    return False


def devices(drawn: Mixed, assignment: Mapping[str, str], *, without: frozenset[str] = frozenset()) -> Iterator[Chosen]:
    """Yield all ways to give devices to the claims of the pods in *assignment*."""
    taken = {held for pod, held in drawn.held.items() if pod not in without}
    claims = [(f"pod/{name}/g", [node], drawn.own[name]) for name, node in assignment.items() if drawn.own[name]]
    if users := sorted(drawn.sharing & assignment.keys()):
        claims.append(("shared", [assignment[each] for each in users], 1))
    yield from _given(drawn, claims, sorted(drawn.numa.keys() - taken))


def _given(drawn: Mixed, claims: Sequence[tuple[str, Sequence[str], int]], free: Sequence[str]) -> Iterator[Chosen]:
    if not claims:
        yield {}
        return
    name, nodes, count = claims[0]
    reached = [each for each in free if each.startswith("all/") or all(each.startswith(f"{node}/") for node in nodes)]
    for chosen in itertools.combinations(reached, count):
        if len({drawn.numa[each] for each in chosen}) == 1:
            for rest in _given(drawn, claims[1:], [each for each in free if each not in chosen]):
                yield {name: [*chosen], **rest}


def decide(drawn: Mixed) -> Decision:
    (decision,) = run_cycle(load(manifests(drawn)), CycleOptions(strategy="complete")).decisions
    return decision


def wrong(drawn: Mixed, decision: Decision) -> list[str]:
    """Return what is wrong with the placement of *decision*, its volumes and its devices."""
    assignment = {pod.removeprefix("default/"): node for pod, node in decision.assignments.items()}
    found = brute.problems(drawn.cluster, assignment)
    volumes = {claim.removeprefix("default/"): each.volume for claim, each in decision.volumes.items()}
    if volumes not in brute.volumes(drawn.cluster, assignment):
        found.append(f"no valid choice of volumes: {volumes}")
    given = {
        claim.label.removeprefix("default/"): sorted("/".join(one.id[1:]) for one in allocation.devices)
        for claim, allocation in decision.devices.items()
    }
    if given not in [{claim: sorted(each) for claim, each in one.items()} for one in devices(drawn, assignment)]:
        found.append(f"no valid choice of devices: {given}")
    return found


def check(drawn: Mixed) -> None:
    decision = decide(drawn)
    assert [] == (wrong(drawn, decision) if decision.assignments else [])
    assert possible(drawn) == (decision.status is Status.SUCCESS), decision
    assert decision.status is Status.SUCCESS or decision.search.outcome == "infeasible"


@RANDOM
@given(mixed())
def test_a_root_with_devices_and_any_volumes_is_placed_iff_possible(drawn):
    check(drawn)


@pytest.mark.usefixtures("without_greedy")
def test_the_search_of_devices_and_any_volumes_needs_no_result_of_greedy():
    RANDOM(given(mixed())(check))()


@RANDOM
@given(mixed(running=3, priority=0))
def test_pods_are_evicted_if_and_only_if_that_frees_enough_volumes_and_devices(drawn):
    decision = decide(drawn)
    running = frozenset(each.name for each in drawn.cluster.pods if each.node)
    victims = frozenset(key.removeprefix("default/") for key in decision.victims)
    if possible(drawn):
        assert (Status.SUCCESS, frozenset()) == (decision.status, victims)
    else:
        helps = possible(drawn, without=running)
        assert helps == bool(victims), decision
        assert not helps or decision.status is Status.UNSCHEDULABLE
        assert not helps or possible(drawn, without=victims)


def test_claim_of_a_running_pod_is_freed_by_eviction_beside_another_claim():
    """Both pods must be on the node with devices; each has a claim that limits it to one pod there."""
    nodes = [Node(f"n{number}", "r0", 2, {}, []) for number in range(3)]
    claims = [Claim("once", BOUND, single=True), Claim("other", STATIC)]
    pods = [Pod("p0", "g0", ["once"]), Pod("p1", "g0", ["other"]), Pod("low", "", ["once"], "n0", priority=0)]
    cluster = Cluster(nodes, [Volume("pv0", STATIC, 10, gold=False)], claims, pods, {"g0": 2}, [], {})
    decision = decide(Mixed(cluster, dict.fromkeys(("n2/d0", "n2/d1", "n2/d2"), 1), {"p0": 1, "p1": 1}, frozenset(), {}))
    assert (Status.UNSCHEDULABLE, ("default/low",)) == (decision.status, decision.victims)


def test_devices_of_one_value_and_the_node_of_a_shared_volume_are_combined():
    """Greedy takes one device of the only pair with the first pod."""
    nodes = [Node(f"n{number}", "r0", 2, {}, []) for number in range(2)]
    pods = [Pod("p0", "g0", ["c"]), Pod("p1", "g0", ["c"])]
    cluster = Cluster(nodes, [Volume("pv0", STATIC, 10, False, "host", "n0")], [Claim("c", STATIC)], pods, {"g0": 2}, [], {})
    numa = {"n0/d0": 1, "n0/d1": 0, "n0/d2": 1, "n1/d0": 0, "n1/d1": 0, "n1/d2": 0}
    drawn = Mixed(cluster, numa, {"p0": 1, "p1": 2}, frozenset(), {})
    assert {"default/p0": "n0", "default/p1": "n0"} == decide(drawn).assignments
    check(drawn)
    del numa["n0/d2"]
    assert "infeasible" == decide(drawn).search.outcome
