"""The second cycle of a simulation decides as a simulation of the cluster that the API server has after the first."""

from __future__ import annotations

import copy
import dataclasses
import json
import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kubeapi.decode import ENCODER
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.devices import MOST_CONSUMERS, Allocation
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, message_of, node, reasons_of
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, request, resource_claim, template, wanting

RANDOM = settings(
    max_examples=sampled(3000, share=10), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
Name = tuple[str, str]
"""Kind and name of an object in the namespace ``default``, or of no namespace."""


def after(objects: Iterable[Json], decisions: Iterable[Decision]) -> list[Json]:
    """Return *objects* as they are after *decisions*: pods are bound, claims allocated and reserved, and victims are gone with their claims."""
    found = {(each["kind"], each["metadata"]["name"]): copy.deepcopy(each) for each in objects}
    for decision in decisions:
        for pod, on in decision.assignments.items():
            bound = found["Pod", _name(pod)]
            bound["spec"]["nodeName"], bound["status"] = on, {"phase": "Running"}
            for entry in bound["spec"].get("resourceClaims") or ():
                _reserve(found, bound, entry, decision)
        for pod, on in decision.nominations.items():
            found["Pod", _name(pod)].setdefault("status", {})["nominatedNodeName"] = on
    for victim in (victim for decision in decisions for victim in decision.victims):
        del found["Pod", _name(victim)]
        _release(found, _name(victim))
    return [*found.values()]


def _reserve(found: dict[Name, Json], pod: Json, entry: Json, decision: Decision) -> None:
    """Allocate the claim of an entry of *pod*, unless it is, and reserve it for the pod."""
    name = pod["metadata"]["name"]
    label = f"pod/{name}/{entry['name']}" if "resourceClaimTemplateName" in entry else f"default/{entry['resourceClaimName']}"
    claim = entry.get("resourceClaimName") or f"{name}-{entry['name']}"
    if "resourceClaimTemplateName" in entry:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        made = resource_claim(claim, ownerReferences=[owner])
        found["ResourceClaim", claim] = made | {"spec": found["ResourceClaimTemplate", entry["resourceClaimTemplateName"]]["spec"]["spec"]}
    status = found["ResourceClaim", claim]["status"]
    if "allocation" not in status:
        status |= {"allocation": _written(next(each for one, each in decision.devices.items() if one.label == label))}
    status.setdefault("reservedFor", []).append({"resource": "pods", "name": name, "uid": name})


def _release(found: dict[Name, Json], pod: str) -> None:
    """Remove the reservations for a deleted pod, and claims that nothing uses any more from their devices."""
    for name, each in [*found.items()]:
        if name[0] != "ResourceClaim":
            continue
        if any(owner["name"] == pod for owner in each["metadata"].get("ownerReferences") or ()):
            del found[name]
        elif any(user["name"] == pod for user in each["status"].get("reservedFor") or ()):
            users = [user for user in each["status"]["reservedFor"] if user["name"] != pod]
            each["status"] = {**each["status"], "reservedFor": users} if users else {}


def _written(allocation: Allocation) -> Json:
    results: list[Json] = []
    for number, each in enumerate(allocation.devices):
        result = dict(zip(("request", "driver", "pool", "device"), (each.request, *each.id), strict=True))
        share = {"shareID": str(uuid.UUID(int=number)), "consumedCapacity": {name: str(amount) for name, amount in each.consumed}}
        results.append({**result, **({"adminAccess": True} if each.admin else {}), **(share if each.shared else {})})
    selector = {} if allocation.nodes is None else {"nodeSelector": json.loads(ENCODER.encode(allocation.nodes))}
    return {"devices": {"results": results}, "allocationTimestamp": "2026-08-01T00:00:00Z", **selector}


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def summary(decision: Decision) -> tuple[Any, ...]:
    """Return what both simulations must agree on."""
    devices = {claim.label: [str(each) for each in allocation.devices] for claim, allocation in decision.devices.items()}
    return decision.root.name, dict(decision.assignments), decision.victims, dict(decision.nominations), devices


def is_as_certain(decision: Decision, afresh: Decision) -> bool:
    """Return whether *decision* has the status of *afresh*, or tries evictions, all in vain, where that proves that none helps.

    The second cycle counts devices by node only if it was so in the first, so its proof can lack facts.
    """
    weaker = (decision.status, afresh.status) == (Status.UNSCHEDULABLE, Status.UNRESOLVABLE) and not decision.victims
    return decision.status is afresh.status or weaker


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Draw two nodes with devices, claims that running and pending pods share, and pods of several priorities."""
    objects = [device_class(), template()]
    names = ["n0", "n1"]
    sizes = {name: draw(st.integers(1, 2)) for name in names}
    for name in names:
        objects += [node(name, cpu=str(draw(st.integers(1, 3)))), device_slice(name, *(f"d{number}" for number in range(sizes[name])))]
    free = [(name, number) for name in names for number in range(sizes[name])]
    claims: list[str] = []
    for number in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(names))
        used = [each for each in free if each[0] == name]
        entries = []
        if draw(st.booleans()) and used:
            free.remove(used[0])
            claims.append(f"used-{number}")
            entries = [f"x=used-{number}"]
            on = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]}
            objects.append(resource_claim(claims[-1], request(), devices=[f"gpu={name}/d{used[0][1]}"], users=[f"low-{number}"], nodes=on))
        written = wanting(f"low-{number}", *(entries or ["g=no"]), on=name, priority=draw(st.integers(0, 3)))
        if not entries:
            del written["spec"]["resourceClaims"]
        objects.append(written)
    for number in range(draw(st.integers(0, 2))):
        claims.append(f"new-{number}")
        objects.append(resource_claim(claims[-1], request(count=draw(st.integers(1, 2)))))
    for number in range(draw(st.integers(1, 4))):
        entries = [f"c{at}={each}" for at, each in enumerate(claims) if draw(st.integers(0, 2)) == 0]
        entries += ["g:one"] if draw(st.booleans()) else []
        written = wanting(f"p{number}", *(entries or ["g=no"]), priority=draw(st.integers(1, 5)), cpu=str(draw(st.integers(0, 2))))
        if not entries:
            del written["spec"]["resourceClaims"]
        objects.append(written)
    return objects


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@RANDOM
@given(clusters())
def test_second_cycle_counts_reservations_and_evictions_of_the_first(strategy: str, objects: list[Json]):
    options = CycleOptions(strategy=strategy, evict=True)
    decisions = run_cycle(load(objects), options).decisions
    first = run_cycle(load(objects), dataclasses.replace(options, evict=False)).decisions
    assert [*map(summary, first)] == [*map(summary, decisions[: len(first)])]
    if second := decisions[len(first) :]:
        afresh = run_cycle(load(after(objects, first)), dataclasses.replace(options, evict=False)).decisions
        assert sorted(map(str, map(summary, afresh))) == sorted(map(str, map(summary, second)))
        expected = {each.root: each for each in afresh}
        assert all(is_as_certain(each, expected[each.root]) for each in second)


def run(objects: list[Json], strategy: str = "greedy") -> dict[str, Decision]:
    """Return the last decision on each root after two cycles."""
    return {each.root.name: each for each in run_cycle(load(objects), CycleOptions(strategy=strategy, evict=True)).decisions}


ONE_DEVICE = [device_class(), template(), device_slice("n", "a")]
USED = resource_claim("used", request(), devices=["gpu=n/a"], users=["low"])
"""A claim that a running pod uses."""
LOW = wanting("low", "x=used", on="n", priority=0, cpu="2")


def other(name: str, cpu: str, priority: int) -> Json:
    written = wanting(name, cpu=cpu, priority=priority)
    del written["spec"]["resourceClaims"]
    return written


def test_claim_of_a_victim_that_a_placed_pod_shares_keeps_its_devices():
    shared = wanting("p", "x=used", priority=9, cpu="1")
    last = run([*ONE_DEVICE, node("n", cpu="3"), USED, LOW, shared, other("high", "2", 8), wanting("later", priority=1, cpu="0")])
    assert (Status.SUCCESS, Status.SUCCESS) == (last["p"].status, last["high"].status)
    assert "cannot allocate all claims" in reasons_of(last["later"])["default/later"]


def test_pods_placed_in_the_first_cycle_count_for_the_limit_of_consumers():
    fabric = [device_class(), device_slice(None, "f", pool="x", allNodes=True), resource_claim("c", request())]
    placed = [wanting(f"p{number}", "x=c", priority=9, cpu="0") for number in range(MOST_CONSUMERS)]
    low = other("low", "2", 0)
    low["spec"]["nodeName"] = "n"
    late = wanting("late", "x=c", priority=8, cpu="1")
    last = run([*fabric, node("n", cpu="2", pods="300"), low, *placed, late])
    assert "must have at most 256 items" in reasons_of(last["late"])["default/late"]


def test_devices_of_a_claim_that_the_pod_itself_names_are_not_freed_for_it():
    """Its claims need two devices together, also after an eviction."""
    decision = run([*ONE_DEVICE, node("n", cpu="3"), USED, LOW, wanting("p", "x=used", "g:one", cpu="1", priority=9)], "complete")["p"]
    assert ((), False) == (decision.victims, bool(decision.assignments))


def test_devices_freed_for_a_root_are_not_planned_for_the_next_root():
    """The first pod needs both devices of its node, one of them for the claim that two evictions free."""
    devices = [device_class(), template(), device_slice("m", "a"), device_slice("n", "a", "b")]
    nodes = [node("m", cpu="1"), node("n", cpu="2")]
    on_m = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}]}
    claims = [
        resource_claim("used", request(), devices=["gpu=m/a"], users=["low"], nodes=on_m),
        resource_claim("held", request(), devices=["gpu=n/a"], users=["other"]),
    ]
    running = [wanting("low", "x=used", on="m", priority=3), wanting("other", "x=held", on="n", priority=3), other("plain", "1", 1)]
    running[2]["spec"]["nodeName"] = "n"
    pods = [wanting("p", "x=used", "g:one", priority=5, cpu="0"), wanting("q", priority=5)]
    objects = [*devices, *nodes, *claims, *running, *pods]
    first, second, *_ = run_cycle(load(objects), CycleOptions(strategy="complete")).decisions
    assert ({"default/p": "n"}, {}) == (first.nominations, second.nominations)
    last = run(objects, "complete")
    assert ({"default/p": "n"}, {"default/q": "m"}) == (last["p"].assignments, last["q"].assignments)


ON_N = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
HELD = resource_claim("used", request(), devices=["gpu=n/a"], users=["low"], nodes=ON_N)
"""A claim that a running pod uses, whose device only its node reaches."""


@pytest.mark.parametrize(
    ("claim", "objects"),
    [
        pytest.param(
            "new",
            [
                device_slice("m", "a"),
                resource_claim("new", request()),
                wanting("p", "x=new", priority=9, cpu="2", nodeSelector={"on": "n"}),
            ],
            id="to allocate on the nominated node",
        ),
        pytest.param(
            "used", [device_slice("m", count=1), wanting("p", priority=9, cpu="2")], id="freed, so that another claim gets its device"
        ),
        pytest.param(
            "used",
            [device_slice("m", "a"), wanting("p", "x=used", priority=9, cpu="2", nodeSelector={"on": "m"})],
            id="freed, so that it gets another device",
        ),
    ],
)
def test_claim_that_an_eviction_is_to_free_for_a_root_is_not_used_by_the_next_root(claim: str, objects: list[Json]):
    cluster = [*ONE_DEVICE, node("n", cpu="2", on="n"), node("m", cpu="2", on="m"), HELD, wanting("low", "x=used", on="n", cpu="2")]
    pod, member = wanting("late", f"x={claim}", priority=1, cpu="0"), wanting("member", f"x={claim}", group="late", priority=1, cpu="0")
    for later in ([pod], [leaf("late", 1, priority=1), member]):
        first, second, *_ = run_cycle(load([*cluster, *objects, *later]), CycleOptions(strategy="complete", evict=True)).decisions
        assert (("default/low",), ["default/p"]) == (first.victims, [*first.nominations])
        reason = f"claim default/{claim} gets its devices when the pods that an earlier root evicts are gone"
        assert ([reason], {}, "not-searched") == ([*reasons_of(second).values()], second.assignments, second.search.outcome)
        last = run([*cluster, *objects, *later], "complete")
        assert last["p"].assignments


@pytest.mark.parametrize(("strategy", "status"), [("greedy", Status.SUCCESS), ("complete", Status.UNSCHEDULABLE)])
def test_nominated_pod_holds_devices_only_with_a_search(strategy: str, status: Status):
    """kube-scheduler counts nominated pods for the resources of nodes only."""
    nominated = wanting("p", priority=9, schedulerName="other") | {"status": {"nominatedNodeName": "n"}}
    objects = [*ONE_DEVICE, node("n", cpu="3"), nominated, wanting("q", priority=1)]
    (decision,) = run_cycle(load(objects), CycleOptions(strategy=strategy, scheduler_name="default-scheduler")).decisions
    assert status is decision.status


def test_nothing_is_evicted_if_the_claim_that_this_frees_cannot_be_allocated_again():
    """The claim of the root has a device that new claims do not tolerate by now."""
    tainted = device_slice("n", {"name": "a", "taints": [{"key": "broken", "effect": "NoSchedule"}]})
    cluster = [device_class(), tainted, node("n", cpu="2"), USED, LOW]
    (alone,) = run_cycle(load([*cluster, wanting("p", "x=used", priority=9, cpu="2")]), CycleOptions(strategy="complete")).decisions
    assert ((), {}) == (alone.victims, alone.nominations)
    stays = resource_claim("used", request(), devices=["gpu=n/a"], users=["low", "stays"])
    shared = [device_class(), tainted, node("n", cpu="2"), stays, LOW, wanting("stays", "x=used", on="n", priority=9, cpu="0")]
    last = run([*shared, wanting("p", "x=used", priority=9, cpu="2")], "complete")["p"]
    assert {"default/p": "n"} == last.assignments


@pytest.mark.parametrize(
    ("priority", "free"), [pytest.param(5, False, id="the same priority"), pytest.param(9, True, id="a higher priority")]
)
def test_devices_that_no_request_counts_are_held_for_nominated_pods(priority: int, free: bool):
    """The nominated pod has a constraint; the other pod comes first, and takes any device."""
    same = template("same", request(count=2), constraints=[{"matchAttribute": "gpu.example/numa"}])
    devices = device_slice("n", device("a", {"numa": 0}), device("b", {"numa": 1}), device("c", {"numa": 1}))
    nominated = wanting("p", "g:same", priority=5) | {"status": {"nominatedNodeName": "n"}}
    objects = [device_class(), template(), same, template("two", request(count=2)), devices, node("n", cpu="9"), nominated]
    other = wanting("other", "g:two", priority=priority, preemptionPolicy="Never")
    options = CycleOptions(strategy="complete", order=("other",))
    found = {each.root.name: each for each in run_cycle(load([*objects, other]), options).decisions}
    assert (free, not free) == (bool(found["other"].assignments), bool(found["p"].assignments))
    one = run_cycle(load([*objects, wanting("other", priority=priority)]), options).decisions
    assert all(each.assignments for each in one)


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize(
    ("root", "freed"),
    [
        pytest.param([wanting("p", "x=used", cpu="2")], True, id="a pod"),
        pytest.param([leaf("g", 1), wanting("p", "x=used", group="g", cpu="2")], True, id="a group"),
        pytest.param([leaf("g", 1, "on"), wanting("p", "x=used", group="g", cpu="2")], False, id="a group with a topology constraint"),
        pytest.param([wanting("p", "x=used", cpu="9")], False, id="a pod for which no node is large enough"),
    ],
)
def test_unreserved_claim_is_deallocated_for_a_pod_that_does_not_fit_with_it(strategy: str, root: list[Json], freed: bool):
    """Its device is on a node that is full."""
    unused = resource_claim("used", request(), devices=["gpu=n/a"], nodes=ON_N)
    full = other("full", "2", 9)
    full["spec"]["nodeName"] = "n"
    cluster = [*ONE_DEVICE, device_slice("m", "b"), node("n", cpu="2", on="n"), node("m", cpu="2", on="m"), unused, full, *root]
    first, *last = run_cycle(load(cluster), CycleOptions(strategy=strategy, evict=True)).decisions
    if strategy == "complete":
        assert ("m" in first.assignments.values()) == ("it is deallocated first" in message_of(first)) == (freed or len(root) > 1)
    else:
        assert freed == ("kube-scheduler deallocates it now" in message_of(first)) == bool(last)
        assert not first.assignments
        assert all({"default/p": "m"} == each.assignments for each in last)


@pytest.mark.parametrize("user", ["stays", "q"])
@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_claim_that_a_pod_has_reserved_or_uses_in_the_cycle_is_not_deallocated(strategy: str, user: str):
    used = resource_claim("used", request(), devices=["gpu=n/a"], users=["stays"] if user == "stays" else [], nodes=ON_N)
    user_of_claim = wanting(user, "x=used", on="n" if user == "stays" else "", priority=9, cpu="2")
    cluster = [*ONE_DEVICE, device_slice("m", "b"), node("n", cpu="2"), node("m", cpu="2"), used, user_of_claim]
    last = run([*cluster, wanting("p", "x=used", cpu="2")], strategy)["p"]
    assert not last.assignments
