"""Devices of a live cluster counted as rows: after each change as in a snapshot that is loaded, and updated only where devices change."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.devices import interchangeable
from scheduler_core.plugins.devices.device_kinds import DeviceKinds
from scheduler_core.sidecar.cache import live_devices
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.decide import decide
from scheduler_core.sidecar.writes import AllocateClaim, Ref
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, node
from tests.scheduler_core.plugins.device_objects import (
    API,
    DRIVER,
    claim_spec,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    resource_claim,
    wanting,
)
from tests.scheduler_core.sidecar.histories import Watched, aligned, raw
from tests.scheduler_core.sidecar.random_changes import RandomChanges
from tests.scheduler_core.sidecar.test_cache import json_of
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, of

NAMES = [f"n{number}" for number in range(4)]
CLAIM, SLICE = "ResourceClaim", "ResourceSlice"
TAINT = {"key": "broken", "effect": "NoSchedule"}
RESOURCE = "example.com/gpu"


def of_model(name: str) -> Json:
    """Return the selector of the devices of a model; devices without a model have no match."""
    return {"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].?model.orValue('') == '{name}'"}}]}


class Changes(RandomChanges):
    """Random changes of a small cluster with devices."""

    nodes = NAMES

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        shares = {"models": 0.5, "odd": 0.2, "uncounted": 0.2, "shared": 0.2, "extended": 0.2}
        self.has = {name: self.chance.random() < share for name, share in shares.items()}
        provides = {"extendedResourceName": RESOURCE} if self.has["extended"] else {}
        classes = [device_class(**provides), device_class("x", **of_model("x"))]
        self.scene = Watched(*(node(name, cpu="4", zone="ab"[number % 2]) for number, name in enumerate(NAMES)), *classes, leaf("g", 2))
        self.scene.happens(*(self.slice_of(name) for name in NAMES))
        for number in range(7):
            self.put_claim(number)
            self.put_pod(number)
        for _ in range(8):
            self.step()

    def node(self, name: str) -> Json:
        return node(name, cpu=self.chance.choice("45"), zone=self.chance.choice("ab"))

    def slice_of(self, on: str) -> Json:
        chance = self.chance
        devices = []
        for number in range(chance.randrange(5)):
            model = {"model": chance.choice("xy"), "serial": number} if self.has["models"] else {"serial": number}
            more: Json = {"taints": [TAINT]} if chance.random() < 0.1 else {}
            more |= {"allowMultipleAllocations": True} if self.has["odd"] and chance.random() < 0.2 else {}
            devices.append(device(f"d{number}", model, **more))
        missing = {"count": 2} if chance.random() < 0.05 else {}
        return device_slice(on, *devices, generation=chance.choice([1, 1, 2]), **missing)

    def wanted(self) -> Json:
        chance, more = self.chance, {}
        if chance.random() < 0.15:
            more["tolerations"] = [{"key": "broken", "operator": "Exists"}]
        if self.has["uncounted"] and chance.random() < 0.3:
            more["allocationMode"] = "All"
        else:
            more["count"] = chance.choice([1, 1, 2])
        if self.has["models"] and chance.random() < 0.3:
            more |= of_model(chance.choice("xy"))
        return request(device_class="x" if self.has["models"] and chance.random() < 0.2 else "gpu", **more)

    def put_claim(self, number: int) -> None:
        self.scene.happens(resource_claim(f"c{number}", self.wanted()))

    def put_pod(self, number: int) -> None:
        claims = [f"c{number}"]
        if self.has["shared"] and self.chance.random() < 0.3:
            claims.append(f"c{self.chance.randrange(7)}")
        entries = [
            f"e{at}={claim}" for at, claim in enumerate(dict.fromkeys(claims)) if (CLAIM, "default", claim) in self.scene.server.objects
        ]
        made = wanting(f"p{number}", *entries, group=self.chance.choice(["", "g"]))
        if not entries:
            del made["spec"]["resourceClaims"]
        if self.has["extended"] and self.chance.random() < 0.4:
            made["spec"]["containers"][0]["resources"]["requests"][RESOURCE] = "1"
        self.scene.happens(made)

    def step(self) -> None:
        """Change one object."""
        changes = [*[self.change_slice] * 2, *[self.allocate] * 3, *[self.release] * 2, self.replace_claim, self.replace_pod]
        changes += [self.delete_slice, self.delete_pod, self.bind_pod, self.change_node, self.change_rule, self.put_common]
        self.chance.choice(changes)()

    def change_slice(self) -> None:
        self.scene.happens(self.slice_of(self.chance.choice(NAMES)))

    def delete_slice(self) -> None:
        if (each := self.any_of(SLICE)) is not None:
            self.scene.happens((SLICE, "", each["metadata"]["name"]))

    def put_common(self) -> None:
        """Network-attached devices appear, or a second slice of a pool."""
        if self.has["odd"]:
            everywhere = device_slice(None, "far", pool="far", name="far", allNodes=True)
            second = device_slice("n1", "second", name="second", count=self.chance.choice([1, 2]))
            self.scene.happens(self.chance.choice([everywhere, second]))

    def replace_claim(self) -> None:
        self.put_claim(self.chance.randrange(7))

    def replace_pod(self) -> None:
        self.put_pod(self.chance.randrange(7))

    def delete_pod(self) -> None:
        if (each := self.any_of("Pod")) is not None:
            self.scene.happens(("Pod", "default", each["metadata"]["name"]))

    def given(self) -> tuple[str, list[str]]:
        """A node and some of the devices that it can have."""
        on = self.chance.choice(NAMES)
        return on, [f"d{number}" for number in self.chance.sample(range(4), self.chance.choice([1, 1, 2]))]

    def allocate(self) -> None:
        """Another scheduler allocates a claim; it may have devices that another claim has, or that are published later."""
        if (each := self.any_of(CLAIM)) is not None:
            on, devices = self.given()
            users = self.chance.sample([f"p{number}" for number in range(7)], self.chance.choice([0, 1, 1, 2]))
            made = resource_claim("c", devices=[f"gpu={on}/{name}" for name in devices], users=users, nodes=only_on(on))
            self.scene.happens({**each, "status": made["status"]})

    def release(self) -> None:
        if (each := self.any_of(CLAIM)) is not None:
            self.scene.happens({**each, "status": {}})

    def change_rule(self) -> None:
        rule = {"deviceSelector": {"pool": self.chance.choice(NAMES)}, "taint": TAINT}
        self.scene.happens({"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": rule})


def raws(changes: Changes) -> list[bytes]:
    return [raw(each) for each in changes.scene.server.objects.values()]


def amounts(table: NodeTable, used: Any) -> Json:
    """Return the devices, and those in use, of each node by row; rows that count nothing are left out."""
    rows = {table.resources[row]: (table.allocatable[row].tolist(), used(row)) for row in table.counted}
    return {name: each for name, each in rows.items() if any(map(any, each))}


def need_of(table: NodeTable, need: DeviceNeed) -> tuple[object, ...]:
    reach = table.device_reach.get(need.spec) if need.spec is not None else None
    return need.field, need.allocates, need.refusal, need.allocated, None if reach is None else reach.tolist()


def requests(table: NodeTable, pods: Iterable[PodRecord]) -> Json:
    """Return what the claims of pending pods count in rows, by pod."""
    return {
        pod.key: (
            sorted((table.resources[row], amount) for row, amount in pod.shape.requests if row in table.counted),
            (pod.shape.picks_devices, pod.shape.counts_devices),
            [need_of(table, each) for each in pod.shape.devices],
        )
        for pod in pods
        if pod.shape.devices and pod.node < 0
    }


def of_cache(cache: Cache) -> Json:
    snapshot = cache.snapshot()
    sums = cache.usage.placement_state().requested.sums()
    table = snapshot.nodes
    return {"rows": amounts(table, lambda row: sums[row].tolist()), "requests": requests(table, snapshot.pods)}


def of_loaded(objects: list[bytes]) -> Json:
    snapshot = load(objects)
    table, devices = snapshot.nodes, snapshot.devices
    used = table.devices_in_use(devices.allocated.values()) if devices is not None else {}
    return {"rows": amounts(table, lambda row: used[row].tolist()), "requests": requests(table, snapshot.pods)}


def comparable(changes: Changes) -> bool:
    """Return whether a pod waits for devices; claims of pods that lack another claim are shared in a live cluster only."""
    pods = load(raws(changes)).pods
    return any(pod.shape.devices for pod in pods) and not any(pod.held for pod in pods)


RELEASABLE = (58, 102, 138, 157, 178)
"""Seeds with claims that can be deallocated when their users are evicted: their devices are not counted, but what their pods need then is."""


@pytest.mark.parametrize("seed", sorted({*range(sampled(300, share=10)), *RELEASABLE}))
def test_after_each_change_rows_are_those_of_a_loaded_snapshot(seed):
    changes = Changes(seed)
    for _ in range(12):
        changes.step()
        if comparable(changes):
            assert of_loaded(raws(changes)) == of_cache(changes.scene.store)


def with_reserved_claims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return *snapshot* where a pod that is gone has the claims that are reserved for nobody: the sidecar deallocates those after the decision."""
    assert snapshot.devices is not None
    claims = {
        name: dataclasses.replace(each, consumers=each.consumers or (("pods", "gone"),)) for name, each in snapshot.devices.claims.items()
    }
    return dataclasses.replace(snapshot, devices=dataclasses.replace(snapshot.devices, claims=claims))


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize("seed", range(sampled(150, share=10)))
def test_decisions_are_those_of_the_simulator(seed, strategy):
    changes, options = Changes(1000 + seed), CycleOptions(strategy=strategy)
    for _ in range(5):
        changes.step()
        if comparable(changes):
            loaded, store = with_reserved_claims(load(raws(changes))), changes.scene.store
            wanted = run_cycle(loaded, options).decisions
            got = [each.decision for each in decide(store, [each.root for each in wanted], options)]
            assert [(each.root, each.status) for each in wanted] == [(each.root, each.status) for each in got]
            # The order in which placements are searched, and which pod gets which device, depend on the numbers of shapes.
            wanted = run_cycle(aligned(loaded, store.snapshot()), options).decisions
            assert json_of(wanted) == json_of(got)


class Writes:
    """Writes of allocations that are in flight, and pods that are assumed because of them."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.held: list[tuple[tuple[str, str], AllocateClaim]] = []
        self.assumed: list[tuple[Ref, str]] = []

    def step(self) -> None:
        """Begin or end a write."""
        chance, cache = self.changes.chance, self.changes.scene.store
        if self.held and chance.random() < 0.4:
            cache.devices.claimed.give_up(*self.held.pop(chance.randrange(len(self.held))))
        elif self.assumed and chance.random() < 0.4:
            AssumedPods(cache).forget(self.assumed.pop(chance.randrange(len(self.assumed)))[0])
        elif (claim := self.changes.any_of(CLAIM)) is not None:
            on, devices = self.changes.given()
            allocation = Allocation(tuple(GivenDevice("gpu", (DRIVER, on, name)) for name in devices))
            name = ("default", claim["metadata"]["name"])
            self.held.append((name, AllocateClaim(Ref(CLAIM, *name), allocation, (Ref("Pod", "default", "p"),))))
            cache.devices.claimed.hold(*self.held[-1])
            pod = cache.usage.pods.pods.get(f"default/p{name[1][1:]}")
            if pod is not None and AssumedPods(cache).assume(pod.ref, on):
                self.assumed.append((pod.ref, on))

    def repeat(self) -> Cache:
        """Return a new cache of the same objects with the same writes in flight."""
        cache = Cache()
        self.changes.scene.server.fill(cache)
        for each in self.held:
            cache.devices.claimed.hold(*each)
        for ref, on in self.assumed:
            known = self.changes.scene.store.pod(ref)
            if known is not None and known.assumed:
                AssumedPods(cache).assume(ref, on)
        return cache


@pytest.mark.parametrize("seed", range(sampled(200, share=10)))
def test_rows_that_are_kept_are_those_of_a_new_cache_with_the_same_writes_in_flight(seed):
    changes = Changes(2000 + seed)
    writes = Writes(changes)
    for number in range(15):
        (changes if number % 3 else writes).step()
        if changes.scene.store.usage.pods.with_device_claims:
            want, got = writes.repeat(), changes.scene.store
            assert of_cache(want) == of_cache(got)
            assert want.devices.claimed.allocated == got.devices.claimed.allocated
            again = DeviceUsage(got.devices.claimed.allocated.values())
            ids = {each.id for allocation in got.devices.claimed.allocated.values() for each in allocation.devices}
            assert [again.state(each) for each in sorted(ids)] == [got.devices.claimed.usage.state(each) for each in sorted(ids)]


def test_a_pod_that_is_assumed_to_run_keeps_its_devices_in_the_rows():
    """A claim that only its own pod names cannot be deallocated for another one."""
    gpus = device_slice("n0", device("d0"), device("d1"))
    claim = resource_claim("c", devices=["gpu=n0/d0"], users=["p"], nodes=only_on("n0"))
    scene = Watched(node("n0"), device_class(), gpus, resource_claim("c", request()), wanting("p", "e=c"))
    scene.happens(resource_claim("other", request()), wanting("q", "e=other"))
    before = of_cache(scene.store)["rows"]
    scene.happens({**scene.server.objects["ResourceClaim", "default", "c"], "status": claim["status"]})
    assert AssumedPods(scene.store).assume(Ref("Pod", "default", "p"), "n0")

    ((name, (devices, _)),) = before.items()
    assert {name: (devices, [1])} == of_cache(scene.store)["rows"]


def test_a_claim_is_releasable_until_the_pod_that_awaits_it_is_assumed():
    gpus = device_slice("n0", device("d0"), device("d1"))
    held = resource_claim("c", devices=["gpu=n0/d0"], users=["r"], nodes=only_on("n0"))
    running = wanting("r", "e=c")
    running["spec"]["nodeName"] = "n0"
    claim = {**resource_claim("c", request()), "status": held["status"]}
    scene = Watched(node("n0"), device_class(), gpus, claim, running, wanting("p", "e=c"), resource_claim("other", request()))
    scene.happens(wanting("q", "e=other"))

    assert {} == of_cache(scene.store)["rows"]
    assert AssumedPods(scene.store).assume(Ref("Pod", "default", "p"), "n0")
    assert [([2], [1])] == [*of_cache(scene.store)["rows"].values()]
    AssumedPods(scene.store).forget(Ref("Pod", "default", "p"))
    assert {} == of_cache(scene.store)["rows"]


def test_examples_count_and_search_devices():
    """The random clusters have pods of both kinds, and sets of several sizes."""
    counted, searched, rows, used = 0, 0, set(), 0
    for seed in range(60):
        found = of_loaded(raws(Changes(seed)))
        rows.add(len(found["rows"]))
        used += sum(map(sum, (in_use for _, in_use in found["rows"].values())))
        for requested, flags, _ in found["requests"].values():
            counted += bool(requested)
            searched += flags[0]
    assert (True, True, True, {0, 1, 2}) == (counted > 100, searched > 100, used > 5, rows & {0, 1, 2}), (counted, searched, used, rows)


class Reads:
    """Count how often pools are read, and how often sets of devices are found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pools: list[str] = []
        self.sets = 0
        set_pool, sets = DeviceKinds.set_pool, interchangeable.Counting.sets

        def counting_pools(kinds: DeviceKinds, name: tuple[str, str], slices: Any) -> None:
            self.pools.append(name[1])
            set_pool(kinds, name, slices)

        def counting_sets(counting: interchangeable.Counting) -> Any:
            self.sets += 1
            return sets(counting)

        monkeypatch.setattr(DeviceKinds, "set_pool", counting_pools)
        monkeypatch.setattr(interchangeable.Counting, "sets", counting_sets)


def figures(store: Cache) -> tuple[list[int], list[int]]:
    ((_, found),) = of_cache(store)["rows"].items()
    return found


def test_only_the_nodes_of_changed_claims_and_slices_are_updated(monkeypatch):
    reads = Reads(monkeypatch)
    slices = [device_slice(name, "d0", "d1") for name in NAMES]
    scene = Watched(*map(node, NAMES), device_class(), *slices, resource_claim("c"), resource_claim("used"), wanting("p", "g=c"))
    store = scene.store
    assert ([2, 2, 2, 2], [0, 0, 0, 0]) == figures(store)
    table = store.usage.placement_state().nodes
    assert (4, 1) == (len(reads.pools), reads.sets)
    scene.happens(resource_claim("used", devices=["gpu=n1/d0", "gpu=n2/d1"], users=["q"]))
    assert ([2, 2, 2, 2], [0, 1, 1, 0]) == figures(store)
    scene.happens(resource_claim("used"))
    assert ([2, 2, 2, 2], [0, 0, 0, 0]) == figures(store)
    assert (4, 1) == (len(reads.pools), reads.sets)
    scene.happens(device_slice("n3", "d0", "d1", "d2"))
    assert ([2, 2, 2, 3], [0, 0, 0, 0]) == figures(store)
    assert (["n3"], 2, table) == (reads.pools[4:], reads.sets, store.usage.placement_state().nodes)


def test_gangs_that_come_and_go_keep_rows_and_shapes(monkeypatch):
    scene = Watched(*map(node, NAMES), device_class(), *(device_slice(name, "d") for name in NAMES))
    reads = Reads(monkeypatch)
    shapes, tables = set(), set()
    for number in range(4):
        scene.happens(resource_claim(f"c{number}"), wanting(f"p{number}", f"g=c{number}"))
        state = scene.store.usage.placement_state()
        shapes.add(scene.store.usage.record(scene.store.usage.pods.pods[f"default/p{number}"]).shape)
        tables.add(state.nodes)
        scene.happens(resource_claim(f"c{number}", devices=[f"gpu=n{number}/d"], users=[f"p{number}"], nodes=only_on(f"n{number}")))
        scene.happens(wanting(f"p{number}", f"g=c{number}", on=f"n{number}"))
    assert (1, 1, 4) == (len(shapes), len(tables), len(reads.pools))


def test_device_that_is_allocated_before_it_is_published_is_in_use_then():
    used = resource_claim("used", devices=["gpu=n1/d0"], users=["q"])
    scene = Watched(*map(node, NAMES), device_class(), resource_claim("c"), used, wanting("p", "g=c"))
    scene.store.usage.placement_state()
    scene.happens(device_slice("n1", "d0", "d1"))
    assert ([0, 2, 0, 0], [0, 1, 0, 0]) == figures(scene.store)


def test_kinds_and_rows_that_are_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(live_devices, "_MOST_UNUSED_KINDS", 3)
    monkeypatch.setattr(live_devices, "_MOST_UNUSED_ROWS", 2)
    monkeypatch.setattr(live_devices, "_MOST_SETS", 2)
    selects = {"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].?serial.orValue(0) >= 0"}}]}
    scene = Watched(*map(node, NAMES), device_class(**selects), resource_claim("c"), wanting("p", "g=c"))
    devices = scene.store.usage.devices
    for number in range(12):
        name = f"class{number}"
        scene.happens(
            device_slice("n1", device("d", {"serial": number})), device_class(name), resource_claim("c", request(device_class=name))
        )
        assert of_loaded([raw(each) for each in scene.server.objects.values()]) == of_cache(scene.store)
        assert devices._kinds.unused <= 4
        assert max(len(devices.names), len(devices._figures), len(devices._reach)) <= 4


def test_modules_of_these_tests_are_those_that_both_use():
    """The comparison would say nothing if one of the two had a copy of its own."""
    assert live_devices.Counting is interchangeable.Counting


def test_pod_is_counted_once_when_an_allocation_changes_how_other_devices_count():
    """One claim is counted by node once the other one, whose device is chosen, is allocated; the row exists for another pod."""
    picked = resource_claim("picked", request())
    picked["spec"] = claim_spec(request(), constraints=[{"requests": ["gpu"], "matchAttribute": "x/numa"}])
    devices = device_slice("n", *(device(name, {"x/numa": 1}) for name in "ab"))
    waiting = wanting("waits", "x=other", cpu="9", **MUSTER)
    scene = Scene(node("n"), device_class(), devices, *map(resource_claim, ("counted", "other")), picked, waiting)
    scene.writes()
    scene.put(wanting("p", "x=picked", "y=counted", cpu="1", **MUSTER))
    for write in of(AllocateClaim, scene.wait(1)):
        before = scene.server.objects["ResourceClaim", "default", write.target.name]
        given = resource_claim(write.target.name, devices=[f"gpu=n/{write.allocation.devices[0].id[2]}"], users=["p"])
        scene.put({**before, "status": given["status"]})
        assert 1000 == scene.store.usage.placement_state().requested.sums()[0, 0]
