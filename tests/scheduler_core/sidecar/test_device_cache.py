"""Devices and claims that are watched are those that ``load`` reads from the same objects."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubeapi.decode import ENCODER
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.decide import decide
from scheduler_core.sidecar.writes import AllocateClaim, Ref
from tests.sampling import sampled
from tests.scheduler_core.builders import leaf, node
from tests.scheduler_core.plugins.device_objects import API, device, device_class, device_slice, only_on, request, resource_claim, wanting
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import Json, Watched, aligned, told
from tests.scheduler_core.sidecar.test_cache import json_of
from tests.scheduler_core.worded_problems import worded

MANY = settings(max_examples=sampled(60), deadline=None, suppress_health_check=list(HealthCheck))
NODES, CLAIMS, PODS = ("n1", "n2"), ("c1", "c2", "c3"), ("p1", "p2", "p3")
RESOURCE = "example.com/gpu"


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Nodes, devices, claims and pods that use them."""
    objects: list[Json] = [node(each) for each in NODES]
    for each in draw(st.sets(st.sampled_from(["gpu", "big"]))):
        selectors = [{"cel": {"expression": 'device.attributes["x"].size > 1'}}] if draw(st.booleans()) else []
        provides = {"extendedResourceName": RESOURCE} if draw(st.booleans()) else {}
        objects.append(device_class(each, selectors=selectors, **provides))
    for each in draw(st.sets(st.sampled_from(NODES))):
        devices = [device(name, {"x/size": draw(st.integers(1, 3))}) for name in ("d", "e")]
        objects.append(device_slice(each, *devices, generation=draw(st.integers(1, 2))))
    if draw(st.booleans()):
        taint = {"key": "k", "effect": draw(st.sampled_from(["NoSchedule", "NoExecute"]))}
        rule = {"deviceSelector": {"pool": draw(st.sampled_from(NODES))}, "taint": taint}
        objects.append({"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": rule})
    for each in draw(st.sets(st.sampled_from(CLAIMS))):
        wanted = request(device_class=draw(st.sampled_from(["gpu", "big"])))
        on = draw(st.sampled_from(["", *NODES]))
        given = {"devices": [f"gpu={on}/d"], "users": draw(st.sets(st.sampled_from(PODS))), "nodes": only_on(on)} if on else {}
        owner = draw(st.sampled_from([("", ""), ("Pod", "p1"), ("PodGroup", "g")]))
        owners = (
            {"ownerReferences": [{"kind": owner[0], "name": owner[1], "uid": draw(st.sampled_from(["", "u"])), "controller": True}]}
            if owner[0]
            else {}
        )
        annotations = {"resource.kubernetes.io/extended-resource-claim": "true"} if owner[0] == "Pod" and draw(st.booleans()) else {}
        objects.append(resource_claim(each, wanted, annotations=annotations, **owners, **given))
    objects += draw(groups())
    return [*objects, *draw(pods())]


@st.composite
def groups(draw: st.DrawFn) -> list[Json]:
    if not draw(st.booleans()):
        return []
    group = leaf("g", 1)
    if draw(st.booleans()):
        group["spec"]["resourceClaims"] = [{"name": "of", "resourceClaimTemplateName": "t"}]
        if draw(st.booleans()):
            group["status"] = {"resourceClaimStatuses": [{"name": "of", "resourceClaimName": draw(st.sampled_from(CLAIMS))}]}
    return [group]


@st.composite
def pods(draw: st.DrawFn) -> list[Json]:
    found = []
    for name in draw(st.sets(st.sampled_from(PODS))):
        entries = draw(st.lists(st.sampled_from(["a=c1", "b=c2", "of:t", "own:t"]), unique=True, max_size=2))
        each: Any = wanting(name, *entries, group=draw(st.sampled_from(["", "g"])), on=draw(st.sampled_from(["", "", "n1"])))
        if not entries:
            del each["spec"]["resourceClaims"]
        if "own:t" in entries and draw(st.booleans()):
            each["status"] = {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": draw(st.sampled_from(CLAIMS))}]}
        if draw(st.booleans()):
            each["spec"]["containers"][0]["resources"]["requests"][RESOURCE] = "1"
        found.append(each)
    return found


def devices_of(snapshot: Any) -> tuple[object, ...]:
    found = snapshot.devices
    if found is None:
        return (), {}, {}, {}
    return (
        ENCODER.encode(found.slices),
        dict(found.allocated),
        dict(found.resources),
        {name: sorted(uids) for name, uids in found.extended.items()},
    )


@MANY
@given(data=st.data())
def test_devices_and_pods_are_those_of_the_same_objects_whatever_happened_before(data):
    objects, others = data.draw(clusters()), data.draw(clusters())
    server = data.draw(histories.histories(objects, others))
    store = Cache()
    for number, event in enumerate(server.events):
        histories.feed(store, [event])
        if number % 3 == 0:
            # What is kept between two looks must not show in the second.
            store.snapshot()
            store.start_cycle(CycleOptions(strategy="complete").effective_placing, frozenset()).stateful.give_back()
    wanted, got = load([histories.raw(each) for each in server.objects.values()]), store.snapshot()
    assert told(wanted) == told(got)
    if wanted.devices is not None and got.devices is not None:
        assert devices_of(wanted) == devices_of(got)
    decisions = run_cycle(aligned(wanted, got), CycleOptions(strategy="complete")).decisions
    found = [each.decision for each in decide(store, [each.root for each in decisions], CycleOptions(strategy="complete"))]
    assert json_of(decisions) == json_of(found)


def test_allocation_that_is_being_written_counts_until_it_is_known_or_given_up():
    watched = Watched(node("n1"), device_class(), device_slice("n1", "d", "e"), resource_claim("c1"))
    cache, name = watched.store.devices, ("default", "c1")
    allocations = [Allocation((GivenDevice("gpu", ("gpu.example", "n1", each)),)) for each in "de"]
    one, two = (AllocateClaim(Ref("ResourceClaim", *name), each, (Ref("Pod", "default", "p"),)) for each in allocations)
    cache.claimed.hold(name, one)
    assert allocations[:1] == list(watched.store.snapshot().devices.allocated.values())
    watched.happens(resource_claim("c1", devices=["gpu=n1/d"]))
    assert allocations[:1] == list(watched.store.snapshot().devices.allocated.values())
    # Another writer can have allocated other devices: neither is free until this one has ended.
    cache.claimed.hold(name, two)
    assert {"d", "e"} == {each.devices[0].id[2] for each in watched.store.snapshot().devices.allocated.values()}
    assert (True, False, True) == (cache.claimed.give_up(name, two), cache.claimed.give_up(name, two), cache.claimed.is_held(name))
    # A write of an earlier attempt that ends late gives up its own devices only, even if it equals the current one.
    cache.claimed.hold(name, one)
    assert (True, True) == (cache.claimed.give_up(name, one), cache.claimed.is_held(name))
    cache.claimed.drop_holds()
    watched.happens(resource_claim("c1"))
    assert ({}, False) == (dict(watched.store.snapshot().devices.allocated), cache.claimed.is_held(name))


def test_unusable_object_is_a_problem_and_its_correction_is_used():
    bad = device_slice("n1", device("d", capacity={"memory": {"value": "much"}}))
    watched = Watched(node("n1"), device_class(), bad)
    (problem,) = worded(watched.store.problems())
    assert "ResourceSlice s-n1" == problem.object
    watched.happens(device_slice("n1", "d"))
    assert ((), 1) == (watched.store.problems(), len(watched.store.snapshot().devices.slices))
