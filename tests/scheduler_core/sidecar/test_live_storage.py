"""Volumes of a live cluster counted as rows: after each change as in a snapshot that is loaded, and updated only where volumes change."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.loading import claim_options
from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.sidecar.cache import live_storage
from scheduler_core.sidecar.scheduling.decide import decide
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, node
from tests.scheduler_core.plugins.test_delayed_claims import capacity, claim, driver, storage_class, using, volume
from tests.scheduler_core.plugins.test_volumes import BIND_COMPLETED
from tests.scheduler_core.sidecar.histories import Watched, raw, told
from tests.scheduler_core.sidecar.random_changes import RandomChanges
from tests.scheduler_core.sidecar.test_cache import json_of

NAMES = [f"n{number}" for number in range(4)]
GOLD = {"matchLabels": {"tier": "gold"}}
CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"
LOCAL, MIXED = storage_class(), storage_class("dyn", "csi.example")


def reference(claimed: str) -> Json:
    return {"claimRef": {"namespace": "default", "name": claimed}}


class Changes(RandomChanges):
    """Random changes of a small cluster with local volumes."""

    nodes = NAMES

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.mixed, self.anywhere, self.selects = (self.chance.random() < share for share in (0.3, 0.2, 0.4))
        self.scene = Watched(*map(self.node, NAMES), LOCAL, MIXED, leaf("g", 2))
        self.scene.happens(*(self.volume(f"v{number}") for number in range(9)), *(self.claim(f"c{number}") for number in range(6)))
        self.scene.happens(*(self.pod(f"p{number}") for number in range(6)))
        for _ in range(8):
            self.step()

    def node(self, name: str) -> Json:
        return node(name, cpu="4", zone=self.chance.choice("ab"))

    def volume(self, name: str) -> Json:
        chance = self.chance
        where = chance.choice([*NAMES, *NAMES, "gone", "" if self.anywhere else "n0"])
        storage = "dyn" if self.mixed and chance.random() < 0.3 else "local"
        labels = {"tier": "gold"} if chance.random() < 0.3 else {}
        return volume(name, where, chance.choice(["5Gi", "8Gi", "8Gi"]), labels, storageClassName=storage)

    def claim(self, name: str) -> Json:
        chance = self.chance
        more: Json = {"selector": GOLD} if self.selects and chance.random() < 0.4 else {}
        if chance.random() < 0.05:
            more["annotations"] = {"volume.kubernetes.io/selected-node": chance.choice(NAMES)}
        storage = "dyn" if self.mixed and chance.random() < 0.3 else "local"
        return claim(name, chance.choice(["4Gi", "4Gi", "6Gi"]), storage, **more)

    def pod(self, name: str) -> Json:
        # Each has its own claims, apart from some that share one.
        claims = [f"c{name[1:]}", *([f"c{self.chance.randrange(6)}"] if self.chance.random() < 0.2 else [])]
        grouped = {"schedulingGroup": {"podGroupName": "g"}} if self.chance.random() < 0.5 else {}
        return using(*dict.fromkeys(claims), name=name, **grouped)

    def step(self) -> None:
        """Change one object."""
        changes = [*[self.put_volume] * 3, *[self.put_claim] * 2, *[self.put_pod] * 2]
        changes += [self.reserve, self.bind, self.release, self.delete, self.bind_pod, self.change_node, self.change_capacity]
        self.chance.choice(changes)()

    def put_volume(self) -> None:
        self.scene.happens(self.volume(f"v{self.chance.randrange(12)}"))

    def put_claim(self) -> None:
        self.scene.happens(self.claim(f"c{self.chance.randrange(6)}"))

    def put_pod(self) -> None:
        self.scene.happens(self.pod(f"p{self.chance.randrange(6)}"))

    def delete(self) -> None:
        if (each := self.any_of(self.chance.choice([VOLUME, VOLUME, CLAIM, "Pod"]))) is not None:
            self.scene.happens((each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]))

    def release(self) -> None:
        """A volume is reserved for no claim any more; it is free at once, or after it is cleaned."""
        if (each := self.any_of(VOLUME)) is not None:
            spec = {key: value for key, value in each["spec"].items() if key != "claimRef"}
            self.scene.happens({**each, "spec": spec, "status": self.chance.choice([{}, {"phase": "Released"}, {"phase": "Available"}])})

    def change_capacity(self) -> None:
        zone, size = self.chance.choice([None, "a"]), {self.chance.choice(["capacity", "maximumVolumeSize"]): "5Gi"}
        self.scene.happens(driver(measured=self.chance.random() < 0.5), capacity("k", zone, **self.chance.choice([{}, size])))

    def reserve(self) -> str:
        """A volume is reserved for a claim, which is returned."""
        volume, claimed = self.any_of(VOLUME), self.any_of(CLAIM)
        if volume is None or claimed is None:
            return ""
        self.scene.happens({**volume, "spec": {**volume["spec"], **reference(claimed["metadata"]["name"])}})
        return str(claimed["metadata"]["name"])

    def bind(self) -> None:
        """A volume is reserved for a claim, and the claim is bound to it."""
        if name := self.reserve():
            each = self.scene.server.objects[CLAIM, "default", name]
            bound = self.scene.server.events[-1][1]["metadata"]["name"]
            metadata = {**each["metadata"], "annotations": {BIND_COMPLETED: "yes"}}
            self.scene.happens({**each, "metadata": metadata, "spec": {**each["spec"], "volumeName": bound}, "status": {"phase": "Bound"}})


def storage_of(snapshot: ClusterSnapshot) -> Json:
    """Return everything that is known of the claims of pending pods, with names instead of indices."""
    table = snapshot.nodes
    if (storage := table.storage) is None:
        return {}
    requests = {need.request for pod in snapshot.pods for need in pod.shape.volumes if need.request is not None}

    def of_volumes(indices: Any) -> list[tuple[str, tuple[str, ...]]]:
        return [(storage.volumes[index].name, storage.rows_of_volume(index)) for index in indices]

    found = {}
    for request in requests:
        options, sizes = storage.options(request), storage.sizes(request)
        by_node = {table.names[at]: of_volumes(volumes) for at, volumes in options.on_node.items()}
        found[repr(request)] = {
            "rows": storage.rows([request]),
            "sizes": None if sizes is None else sizes.tolist(),
            "provisioned": options.provisioned.tolist(),
            "everywhere": of_volumes(options.everywhere),
            "onNode": by_node,
            "volumesOn": [of_volumes(options.volumes_on(at)) for at in range(len(table))],
            "matches": options.matches,
            "reserved": storage.volumes[options.reserved].name if options.reserved >= 0 else "",
            "reachable": None if options.reachable is None else options.reachable.tolist(),
            "selected": options.selected,
        }
    return found


def contents(snapshot: ClusterSnapshot) -> Json:
    """Return all of a snapshot; rows of volumes are updated only while a pod waits for a volume."""
    content = told(snapshot)
    if any(each.delayed_claims for each in snapshot.pods):
        return content | {"storage": storage_of(snapshot)}
    rows = {snapshot.nodes.resources[row] for row in snapshot.nodes.volume_rows}
    nodes = [(*each, {name: amount for name, amount in amounts.items() if name not in rows}) for *each, amounts in content["nodes"]]
    return content | {"nodes": nodes}


def loaded(changes: Changes) -> ClusterSnapshot:
    return load([raw(each) for each in changes.scene.server.objects.values()])


@pytest.mark.parametrize("seed", range(sampled(200, share=10)))
def test_after_each_change_it_is_as_in_a_loaded_snapshot(seed):
    changes = Changes(seed)
    for _ in range(12):
        changes.step()
        want, got = loaded(changes), changes.scene.store.snapshot()
        assert contents(want) == contents(got)


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize("seed", range(sampled(100, share=10)))
def test_decisions_are_those_of_the_simulator(seed, strategy):
    changes, options = Changes(1000 + seed), CycleOptions(strategy=strategy)
    for _ in range(5):
        changes.step()
        wanted = run_cycle(loaded(changes), options).decisions
        got = [each.decision for each in decide(changes.scene.store, [each.root for each in wanted], options)]
        assert _without_steps(wanted) == _without_steps(got)


def _without_steps(decisions: Iterable[Decision]) -> str:
    """Return *decisions* as JSON without the number of search steps, which depends on the numbers of shapes."""
    return json_of([dataclasses.replace(each, search=dataclasses.replace(each.search, explored=0)) for each in decisions])


def test_examples_count_and_match_volumes():
    """The random clusters have pods of both kinds, and sets of several sizes."""
    counted, one_by_one, rows = 0, 0, set()
    for seed in range(40):
        snapshot = loaded(Changes(seed))
        in_rows = [pod for pod in snapshot.pods if not snapshot.nodes.volume_rows.isdisjoint(row for row, _ in pod.shape.requests)]
        counted += sum(not pod.shape.picks_volumes for pod in in_rows)
        one_by_one += sum(pod.shape.picks_volumes for pod in snapshot.pods)
        rows.add(len(snapshot.nodes.volume_rows))
    assert (True, True, {0, 1, 2}) == (counted > 10, one_by_one > 20, rows & {0, 1, 2}), (counted, one_by_one, rows)


class Reads:
    """Count how often all volumes are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        before = FreeVolumes.__init__

        def counting(free: FreeVolumes, *arguments: Any) -> None:
            self.count += 1
            before(free, *arguments)

        monkeypatch.setattr(FreeVolumes, "__init__", counting)


def test_volumes_are_read_once_while_they_are_reserved_bound_and_deleted(monkeypatch):
    reads = Reads(monkeypatch)
    volumes = [volume(f"v{number}", name, "5Gi") for number, name in enumerate(NAMES)]
    pods = [each for number in range(3) for each in (claim(f"c{number}", "4Gi"), using(f"c{number}", name=f"p{number}"))]
    scene = Watched(*(node(name) for name in NAMES), LOCAL, *volumes, *pods)
    store, objects = scene.store, scene.server.objects

    def figures() -> list[int]:
        table = store.usage.placement_state().nodes
        (row,) = table.volume_rows
        return table.allocatable[row].tolist()

    assert [1, 1, 1, 1] == figures()
    table = store.usage.placement_state().nodes
    scene.happens({**objects[VOLUME, "", "v0"], "spec": {**volumes[0]["spec"], **reference("c0")}})
    assert [0, 1, 1, 1] == figures()
    scene.happens({**volumes[0], "spec": {**volumes[0]["spec"], **reference("c0")}, "status": {"phase": "Bound"}})
    scene.happens((VOLUME, "", "v3"))
    assert [0, 1, 1, 0] == figures()
    scene.happens({**volumes[0], "status": {"phase": "Available"}})
    assert [1, 1, 1, 0] == figures()
    scene.happens((CLAIM, "default", "c2"), ("Pod", "default", "p2"), capacity("k", None))
    assert [1, 1, 1, 0] == figures()
    assert (1, table) == (reads.count, store.usage.placement_state().nodes)
    scene.happens(volume("v5", "n3", "5Gi"))
    assert ([1, 1, 1, 1], 2) == (figures(), reads.count)


def test_volumes_are_not_read_again_when_a_node_changes_apart_from_its_labels(monkeypatch):
    reads = Reads(monkeypatch)
    scene = Watched(*(node(name) for name in NAMES), LOCAL, volume("v", "n1"), claim(), using("c"))
    first = scene.store.usage.placement_state()
    scene.happens(node("n2", cpu="7"))
    second = scene.store.usage.placement_state()
    assert (True, 1) == (first is not second, reads.count)
    scene.happens(node("n2", cpu="7", zone="z"))
    scene.store.usage.placement_state()
    assert 2 == reads.count


def test_claims_of_gangs_that_come_and_go_are_compared_with_all_volumes_once(monkeypatch):
    """The figures of groups of volumes are kept while no pod waits."""
    counts = []
    before = FreeVolumes._count
    monkeypatch.setattr(FreeVolumes, "_count", lambda free, key: counts.append(key) or before(free, key))
    scene = Watched(*(node(name) for name in NAMES), LOCAL, *(volume(f"v{name}", name) for name in NAMES))
    for number in range(5):
        scene.happens(claim(f"c{number}"), using(f"c{number}", name=f"p{number}"))
        scene.store.usage.placement_state()
        scene.happens(("Pod", "default", f"p{number}"), (CLAIM, "default", f"c{number}"))
    assert 1 == len(counts)


def test_pods_without_other_volumes_keep_their_shapes():
    scene = Watched(*(node(name) for name in NAMES), LOCAL, *(volume(f"v{name}", name) for name in NAMES), claim(), using("c"))
    usage = scene.store.usage
    usage.placement_state()
    pod = usage.pods.pods["default/p"]
    before = usage.record(pod).shape
    scene.happens(("PersistentVolume", "", "vn0"))
    usage.placement_state()
    assert before is usage.record(pod).shape
    scene.happens(*(("PersistentVolume", "", f"v{name}") for name in NAMES[1:]))
    usage.placement_state()
    assert before is not usage.record(pod).shape


def test_claims_are_forgotten_that_no_pod_has_any_more(monkeypatch):
    monkeypatch.setattr("scheduler_core.loading.free_volumes._MOST_REQUESTS", 3)
    scene = Watched(*(node(name) for name in NAMES), LOCAL, *(volume(f"v{name}", name) for name in NAMES))
    for number in range(1, 9):
        scene.happens(claim(size=f"{number}Gi"), using("c"))
        want = load([raw(each) for each in scene.server.objects.values()])
        assert contents(want) == contents(scene.store.snapshot())
        assert len(scene.store.usage.storage._free._bits) <= 3


def test_modules_of_these_tests_are_those_that_both_use():
    """The comparison would say nothing if one of the two had a copy of its own."""
    assert live_storage.report_storage is claim_options.report_storage
