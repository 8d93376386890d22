"""Topology levels of a live cluster by attributes of devices: those of a loaded snapshot, and gangs that stay in one domain."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.sidecar.cache import live_levels
from scheduler_core.sidecar.cache.optional_watches import Reads
from scheduler_core.sidecar.scheduling.decide import decide
from scheduler_core.sidecar.settings import Mode
from tests.apiserver.fake import serving
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, node, pod
from tests.scheduler_core.loading.test_device_levels import KEY, of_clique
from tests.scheduler_core.plugins.device_objects import API, device, device_slice, only_on
from tests.scheduler_core.sidecar import test_process
from tests.scheduler_core.sidecar.histories import Watched, raw, told
from tests.scheduler_core.sidecar.test_cache import json_of
from tests.scheduler_core.sidecar.test_process import PATIENCE, SERVED, Cluster, Process, stop, watching
from tests.scheduler_core.sidecar.test_scheduler import Scene, gang, nodes_of
from tests.scheduler_core.sidecar.test_scheduler import told as events_of
from tests.scheduler_core.worded_problems import worded
from tests.webhooks.running import until

quick = test_process.quick
"""The fixture, used here too."""
NAMES = [f"n{number}" for number in range(5)]
ABSENT = "gpu.example/absent"
READS = Reads(schedules=True, device_topology=frozenset({KEY}))


class Changes:
    """Random changes of nodes and slices, and a gang in one clique."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        reads = Reads(schedules=True, device_topology=frozenset({KEY, ABSENT} if self.chance.random() < 0.2 else {KEY}))
        self.attributes = sorted(reads.device_topology)
        members = [pod(f"p{number}", "g", cpu="2") for number in range(4)]
        self.scene = Watched(*map(self.node, NAMES), leaf("g", 4, KEY), leaf("other", 1, "gpu.example/serial"), *members, reads=reads)
        for _ in range(8):
            self.step()

    def node(self, name: str) -> Json:
        return node(name, cpu=self.chance.choice("248"), pool=self.chance.choice("ab"))

    def step(self) -> None:
        """Change one object."""
        changes = [*[self.put_slice] * 5, self.put_common, self.put_rule, self.delete_slice, self.change_node, self.delete_node]
        self.chance.choice(changes)()

    def put_slice(self) -> None:
        on, chance = self.chance.choice(NAMES), self.chance
        cliques = [chance.choice(["c1", "c1", "c2", 3, None]) for _ in range(chance.choice([0, 1, 1, 2]))]
        name = chance.choice([on, on, "second"])
        self.scene.happens(of_clique(on, *cliques, name=name, generation=chance.choice([1, 1, 2]), count=chance.choice([1, 1, 1, 2])))

    def put_common(self) -> None:
        near = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]}}
        for_each = [{**device("x", {"clique": "c2"}), "nodeName": self.chance.choice(NAMES)}]
        fabric = of_clique(
            "", self.chance.choice(["c1", "c3"]), pool="fabric", name="fabric", **self.chance.choice([near, {"allNodes": True}])
        )
        more = device_slice(None, *for_each, pool="more", name="more", perDeviceNodeSelection=True)
        self.scene.happens(self.chance.choice([fabric, more]))

    def put_rule(self) -> None:
        rule = {"deviceSelector": {"pool": self.chance.choice(NAMES)}, "taint": {"key": "k", "effect": "NoSchedule"}}
        self.scene.happens({"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": rule})

    def delete_slice(self) -> None:
        if names := sorted(name for name in self.scene.server.objects if name[0] == "ResourceSlice"):
            self.scene.happens(self.chance.choice(names))

    def change_node(self) -> None:
        self.scene.happens(self.node(self.chance.choice(NAMES)))

    def delete_node(self) -> None:
        name = ("Node", "", self.chance.choice(NAMES))
        if name in self.scene.server.objects and self.chance.random() < 0.5:
            self.scene.happens(name)


@pytest.mark.parametrize("seed", range(sampled(200, share=10)))
def test_after_each_change_levels_and_decisions_are_those_of_a_loaded_snapshot(seed):
    changes, options = Changes(seed), CycleOptions(strategy=("complete", "greedy")[seed % 2])
    for _ in range(10):
        changes.step()
        store = changes.scene.store
        want, got = (
            load([raw(each) for each in changes.scene.server.objects.values()], device_topology=changes.attributes),
            store.snapshot(),
        )
        assert want.nodes.device_levels == got.nodes.device_levels
        assert told(want) == told(got)
        wanted = run_cycle(want, options).decisions
        assert json_of(wanted) == json_of([each.decision for each in decide(store, [each.root for each in wanted], options)])


def test_examples_place_gangs_and_have_problems():
    snapshots = [load([raw(each) for each in Changes(seed).scene.server.objects.values()], device_topology=[KEY]) for seed in range(40)]
    placed = sum(bool(run_cycle(each).decisions[0].assignments) for each in snapshots)
    assert (True, True) == (
        5 < placed < 35,
        sum("several" in str(each.problems) or "values" in str(each.problems) for each in snapshots) > 5,
    )


def test_only_nodes_are_read_again_whose_slices_or_labels_changed(monkeypatch):
    read: list[str] = []
    before = live_levels.reached_values

    def reading(pools: Any, at: int, attributes: Any) -> Any:
        read.append(NAMES[at])
        return before(pools, at, attributes)

    monkeypatch.setattr(live_levels, "reached_values", reading)
    scene = Watched(*map(node, NAMES), *(of_clique(name, "c1") for name in NAMES), reads=READS)
    store = scene.store

    def levels() -> Any:
        return store.usage.placement_state().nodes.device_levels[KEY]

    assert (("c1",) * 5, NAMES) == (levels(), read)
    first = store.usage.placement_state().nodes
    # Taints and names of devices decide about no domain.
    tainted = of_clique("n2", "c1")
    tainted["spec"]["devices"][0]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    scene.happens(tainted)
    assert (first, 5) == (store.usage.placement_state().nodes, len(read))
    scene.happens(of_clique("n2", "c2"), node("n3", zone="z"), node("n4", cpu="9"))
    assert (("c1", "c1", "c2", "c1", "c1"), ["n2", "n3"]) == (levels(), read[5:])
    scene.happens(device_slice(None, "far", pool="far", name="far", nodeSelector=only_on("n0")))
    assert (("c1", "c1", "c2", "c1", "c1"), NAMES) == (levels(), read[7:])


def test_without_the_option_devices_are_no_level_and_the_gang_is_reported():
    scene = Scene(*map(node, NAMES), of_clique("n0", "c1"), *gang("g", 2, key=KEY))
    writes = scene.writes()
    assert {} == nodes_of(writes)
    assert ("g", "FailedScheduling") in events_of(writes)
    (problem,) = worded(scene.store.problems())
    assert f"--device-topology {KEY} makes it a level" in problem.message


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_gang_that_no_clique_holds_is_placed_when_a_device_names_it(strategy):
    nodes = [node(name, cpu="2") for name in NAMES[:3]]
    slices = [of_clique("n0", "c1"), of_clique("n1", "c2"), of_clique("n2", "c2", "c1")]
    scene = Scene(*nodes, *slices, *gang("g", 4, key=KEY), reads=READS, strategy=strategy)
    assert {} == nodes_of(scene.writes())
    scene.now += 20
    # The gang has no claims: another domain of a node is a change of the node.
    scene.put(of_clique("n2", "c2"))
    assert {"n1", "n2"} == set(nodes_of(scene.writes()).values())


GROUPS, SLICES = "/apis/scheduling.k8s.io/v1beta1/podgroups", "/apis/resource.k8s.io/v1/resourceslices"


@pytest.mark.parametrize("served", [True, False], ids=["slices are served", "slices are not served"])
def test_process_waits_for_slices_and_places_the_gang_in_one_clique(monkeypatch, served):
    """The whole process beside a scripted API server."""
    if served:
        monkeypatch.setitem(SERVED, "/apis/resource.k8s.io/v1", ["resourceslices"])
    scripted, seen = Cluster(), []
    resolved = {"priority": 0, "preemptionPolicy": "Never"}
    group, members = leaf("g", 2, KEY, **resolved), [pod(name, "g", cpu="3", schedulerName="muster", **resolved) for name in "ab"]
    for each in (group, *members):
        each["metadata"]["uid"] = f"uid-{each['metadata']['name']}"
    scripted.objects = {
        "/api/v1/nodes": [node(name, cpu="4") for name in NAMES[:3]],
        "/api/v1/pods": members,
        GROUPS: [group],
        SLICES: [of_clique("n0", "c1"), of_clique("n1", "c2"), of_clique("n2", "c2")],
    }

    def bound(server: Any) -> list[str]:
        return sorted(
            json.loads(body)["target"]["name"] for _, path, _, body in [*server.requests] if path.partition("?")[0].endswith("/binding")
        )

    def look() -> None:
        seen.append(until(lambda: len(bound(server)) == 2 if served else "Unresolvable" in process.answer("/explain/default/g")[1]))
        scripted.over.set()
        stop()

    with serving(scripted) as (server, api):
        process = Process(api.host, modes=frozenset({Mode.PLACE}), lease=None, device_topology=(KEY,))
        thread = threading.Thread(target=look)
        process.on["listening"] = thread.start
        try:
            process.run()
        finally:
            scripted.over.set()
            thread.join(PATIENCE)
        assert until(lambda: not watching())
    assert [True] == seen, process.lines
    assert (["n1", "n2"] if served else []) == bound(server)
