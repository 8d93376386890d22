"""Registry: one plugin of each kind is added here, and the engine uses it without another change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kubeapi.nodes import Taint
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.cluster.load import load
from scheduler_core.model.devices import CANNOT_ALLOCATE, INVALID_POOLS, UNAVAILABLE
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.status import Status
from scheduler_core.model.volumes import BIND_CONFLICT
from scheduler_core.plugins import registry
from scheduler_core.plugins.assumed_volumes import NOT_ENOUGH_SPACE
from scheduler_core.plugins.base import (
    ClusterEvent,
    Filters,
    Floats,
    LedgerPlugin,
    StatefulPlugin,
    StaticPlugin,
    StaticScore,
)
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY
from scheduler_core.plugins.node_affinity import NODE_AFFINITY
from scheduler_core.plugins.node_ports import PORTS
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE
from scheduler_core.plugins.noderesources import NodeResources
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from scheduler_core.plugins.taint_toleration import taint_reason
from scheduler_core.plugins.volume_binding import NODE_CONFLICT, UNBOUND
from scheduler_core.plugins.volume_zone import ZONE_CONFLICT
from scheduler_core.wording import decision_words
from tests.scheduler_core.builders import Json, decided, leaf, node, placed, pod, pods, reasons_of, run, state

STRATEGIES = pytest.mark.parametrize("strategy", ["greedy", "complete"])
OLD, CROWDED, LICENSED = "node(s) were too old", "node(s) were not empty", "node(s) had no licence left in their zone"


def requests_key(shape: PodShape, key: str) -> bool:
    """Return what a pod of these tests requests: a toleration that has no other meaning."""
    return any(each.key == key for each in shape.tolerations)


def wishing(key: str) -> Json:
    return {"tolerations": [{"key": key, "operator": "Exists"}]}


class Generation(StaticPlugin):
    """Static plugin: pods may require nodes that are not old; younger nodes score higher."""

    name = "Generation"
    weight = 100

    def filters(self, shape: PodShape) -> Filters:
        return [(OLD, self._ages() > 0)] if requests_key(shape, "modern") else []

    def score(self, shape: PodShape) -> StaticScore | None:
        return StaticScore(self._ages(), self.weight) if requests_key(shape, "modern") else None

    def _ages(self) -> Ints:
        column = self.nodes.column("generation")
        return np.array([int(column.values[value]) if value >= 0 else 0 for value in column.ids], dtype=np.int64)


class Alone(LedgerPlugin):
    """Ledger plugin: pods may require nodes without pods."""

    name = "Alone"
    events = frozenset({ClusterEvent.ROOM})

    def __init__(self, ledger):
        super().__init__(ledger)
        self._added: set[int] = set()

    @classmethod
    def touches(cls, shape: PodShape) -> bool:
        return requests_key(shape, "alone")

    def filters(self, shape: PodShape, nodes: Nodes) -> Filters:
        if not requests_key(shape, "alone"):
            return []
        return [(CROWDED, np.array([self.ledger.used[3, node] == 0 and node not in self._added for node in nodes.tolist()], dtype=bool))]

    def add_pod(self, shape: PodShape, node: int) -> None:
        self._added.add(node)


class Licences(StatefulPlugin):
    """Stateful plugin: each zone has one licence, and pods may need one."""

    name = "Licences"
    events = frozenset({ClusterEvent.POD})

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        self.zones = counts.nodes.column("zone").ids
        self.taken: Counter[int] = Counter()

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        return requests_key(shape, "licence")

    def touches(self, pod: PodRecord) -> bool:
        return requests_key(pod.shape, "licence")

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        return (
            [(LICENSED, np.array([not self.taken[zone] for zone in self.zones[nodes].tolist()], dtype=bool))] if self.touches(pod) else []
        )

    keeps_state = True

    def add_pod(self, pod: PodRecord, node: int) -> None:
        self.taken[int(self.zones[node])] += self.touches(pod)

    def remove_pod(self, pod: PodRecord, node: int) -> None:
        self.taken[int(self.zones[node])] -= self.touches(pod)


class MostAllocated(NodeResources):
    """Node-local plugin: fuller nodes score higher."""

    def ladder(self, capacity: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
        return 200 - super().ladder(capacity, scored, used, depth, whole=whole)

    def score(self, capacity, scored, used):
        return 200 - super().score(capacity, scored, used)


@pytest.fixture(autouse=True)
def added(monkeypatch):
    monkeypatch.setattr(registry, "STATIC", (*registry.STATIC, Generation))
    monkeypatch.setattr(registry, "LEDGER", (*registry.LEDGER, Alone))
    monkeypatch.setattr(registry, "STATEFUL", (*registry.STATEFUL, Licences))


NODES = [
    node("n0", zone="a"),
    node("n1", zone="a", generation="1"),
    node("n2", zone="b", generation="3"),
    node("n3", zone="b", generation="2"),
]


@STRATEGIES
def test_a_static_plugin_filters_and_scores(strategy):
    objects = [*NODES, leaf("g", 6), *pods("g", 6, **wishing("modern"))]

    # The best of those that still have capacity, with the others by their share of it.
    assert {"g-0": "n2", "g-1": "n2", "g-2": "n2", "g-3": "n2", "g-4": "n3", "g-5": "n3"} == placed(decided(objects, strategy=strategy))


@STRATEGIES
def test_pods_refused_by_a_static_plugin_have_its_reason_and_evict_no_pod(strategy):
    objects = [*NODES[:1], pod("low", on="n0"), leaf("g", 1, priority=9), *pods("g", 1, cpu="4", priority=9, **wishing("modern"))]
    decision = decided(objects, strategy=strategy)

    assert decision.status in {Status.UNSCHEDULABLE, Status.UNRESOLVABLE}
    assert not decision.victims
    assert "1 node(s) were too old" in reasons_of(decision)["default/g-0"]
    assert "its only node is refused by plugin Generation: node(s) were too old" in decision_words.message(decision)


@STRATEGIES
def test_pods_that_a_ledger_plugin_touches_are_placed_one_by_one(strategy):
    objects = [*NODES, pod("there", on="n0"), leaf("g", 3), *pods("g", 3, **wishing("alone"))]

    assert {"n1", "n2", "n3"} == set(placed(decided(objects, strategy=strategy)).values())
    objects = [*objects, leaf("h", 1), *pods("h", 1, **wishing("alone"))]
    assert [Status.SUCCESS, Status.UNSCHEDULABLE] == [each.status for each in run(objects, strategy=strategy).decisions]


@STRATEGIES
def test_a_stateful_plugin_counts_pods_that_run_and_pods_that_are_assumed(strategy):
    objects = [*NODES, leaf("g", 2), *pods("g", 2, **wishing("licence"))]
    zones = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}

    assert {"a", "b"} == {zones[where] for where in placed(decided(objects, strategy=strategy)).values()}
    reserved = [*objects, pod("holder", on="n0", **wishing("licence"))]
    assert Status.UNSCHEDULABLE is decided(reserved, strategy=strategy).status
    other = [*NODES, pod("holder", on="n0", **wishing("licence")), pod("one", **wishing("licence"))]
    assert placed(decided(other, strategy=strategy))["one"] in {"n2", "n3"}


def test_an_eviction_resolves_what_a_stateful_plugin_refuses():
    objects = [*NODES[:1], pod("holder", on="n0", **wishing("licence")), pod("high", priority=9, **wishing("licence"))]
    decision = decided(objects)

    assert ["default/holder"] == sorted(decision.victims)


def test_marks_and_rewinding_reach_what_a_plugin_keeps():
    objects = [*NODES, pod("holder", on="n0", **wishing("licence")), *(pod(f"p{number}", **wishing("licence")) for number in range(3))]
    snapshot = load(objects)
    known = StatefulPlugins(snapshot)
    (licences,) = (plugin for plugin in known.plugins if isinstance(plugin, Licences))
    records = {each.name: each for each in snapshot.pods}
    mark = known.mark()
    known.assume(records["p0"], 2)
    known.remove(records["holder"], 0)

    assert [0, 1] == [licences.taken[zone] for zone in sorted({*licences.zones.tolist()})]
    known.rewind(mark)
    assert [1, 0] == [licences.taken[zone] for zone in sorted({*licences.zones.tolist()})]


@pytest.mark.parametrize("cpus", [("1",) * 6, ("1", "500m") * 4, ("1", "500m", "250m") * 4], ids=["equal", "by turns", "of three"])
def test_another_node_local_plugin_is_read_by_every_fast_path(monkeypatch, cpus):
    monkeypatch.setattr(registry, "NODE_LOCAL", MostAllocated)
    objects = [*NODES, pod("there", on="n2"), leaf("g", len(cpus)), *(pod(f"g-{number:02}", "g", cpu) for number, cpu in enumerate(cpus))]

    # What is begun is filled first.
    assert "n2" == placed(decided(objects))["g-00"]
    assert len(set(placed(decided(objects)).values())) <= 3


def test_every_plugin_says_what_it_is():
    modelled = registry.modelled()

    # VolumeBinding has two parts.
    assert len(modelled) == len({(plugin.name, issubclass(plugin, StatefulPlugin)) for plugin in modelled})
    for plugin in modelled:
        assert plugin.events
        assert plugin.events <= set(ClusterEvent)
        assert plugin.weight >= 0
        assert not plugin.resolvable("any reason") or plugin.about_pods
    here = state([node("n")])
    assert here.profile.compile(load([node("n"), pod("p")]).pods[0].shape).plain


def test_plugins_of_claims_have_no_verdict_on_a_pod_without_claims():
    here, shape = state([node("n")]), load([node("n"), pod("p")]).pods[0].shape
    of_claims = [plugin(here.nodes) for plugin in registry.STATIC if plugin in registry.OF_CLAIMS]

    assert len(of_claims) == len(registry.OF_CLAIMS)
    assert not any(plugin.pre_filter(shape) or plugin.filters(shape) or plugin.score(shape) for plugin in of_claims)
    assert {plugin for plugin in registry.STATIC if plugin.pre_filter is not StaticPlugin.pre_filter} <= registry.OF_CLAIMS


def saying(plugin: str, reason: str, refused: str) -> type[StaticPlugin]:
    """Return a plugin that kube-scheduler does not have; it refuses the nodes whose name begins with *refused* for *reason*."""

    def filters(self: StaticPlugin, shape: PodShape) -> Filters:
        return [(reason, np.array([not name.startswith(refused) for name in self.nodes.names]))]

    return type(plugin, (StaticPlugin,), {"name": plugin, "filters": filters})


OF_KUBE_SCHEDULER = [
    UNSCHEDULABLE,
    NODE_AFFINITY,
    taint_reason(Taint(key="a", value="b", effect="NoSchedule")),
    PORTS,
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    SPREAD,
    LACKS_TOPOLOGY,
    CANNOT_ALLOCATE,
    UNAVAILABLE,
    INVALID_POOLS,
    BIND_CONFLICT,
    NOT_ENOUGH_SPACE,
    NODE_CONFLICT,
    ZONE_CONFLICT,
    UNBOUND,
]


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("reason", [*OF_KUBE_SCHEDULER, "Insufficient cpu", "Too many pods", "a; b: c. d, e"])
@STRATEGIES
def test_a_plugin_with_a_reason_of_another_one_is_quoted_by_its_name(monkeypatch, strategy, reason, last):
    plugin = saying("Night", reason, "n")
    monkeypatch.setattr(plugin, "last", last)
    monkeypatch.setattr(registry, "STATIC", (*registry.STATIC, plugin))
    decision = decided([*NODES, leaf("g", 2), *pods("g", 2)], strategy=strategy)
    message = decision_words.message(decision)

    assert f"all 4 nodes are refused by plugin Night: {reason}" in message
    assert f"0/4 nodes are available: 4 {reason}." == reasons_of(decision)["default/g-0"]
    assert "would fit" not in message


def test_plugins_with_one_reason_are_separate_causes_and_one_line_of_kube_scheduler(monkeypatch):
    plugins = (saying("Night", UNSCHEDULABLE, "n1"), saying("Weekend", UNSCHEDULABLE, "n2"))
    monkeypatch.setattr(registry, "STATIC", (*registry.STATIC, *plugins))
    cordoned = {**node("n0", zone="a"), "spec": {"unschedulable": True}}
    decision = decided([cordoned, *NODES[1:3], pod("one")])
    message = decision_words.message(decision)

    assert "it would fit if 1 of 3 nodes were uncordoned" in message
    assert "1 of 3 nodes is refused by plugin Night: node(s) were unschedulable" in message
    assert "1 of 3 nodes is refused by plugin Weekend: node(s) were unschedulable" in message
    assert "0/3 nodes are available: 3 node(s) were unschedulable." == reasons_of(decision)["default/one"]
    (error,) = decision.pending["default/one"]
    assert [(each.plugin, each.message, each.nodes) for each in error.reasons] == [
        (plugin, UNSCHEDULABLE, 1) for plugin in ("Night", "NodeUnschedulable", "Weekend")
    ]


def test_a_plugin_that_excludes_all_nodes_is_quoted_by_its_name(monkeypatch):
    plugin = saying("Night", "node(s) were dark", "n")
    monkeypatch.setattr(plugin, "pre_filter", lambda self, shape: UNBOUND)
    monkeypatch.setattr(registry, "STATIC", (*registry.STATIC, plugin))
    monkeypatch.setattr(registry, "OF_CLAIMS", registry.OF_CLAIMS | {plugin})
    claiming = pod("one", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {"volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}},
    }
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "default", "name": "c"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
    decision = decided([*NODES, claim, volume, claiming])

    assert f"all 4 nodes are refused by plugin Night: {UNBOUND}" in decision_words.message(decision)
    assert f"0/4 nodes are available: {UNBOUND}." == reasons_of(decision)["default/one"]


def test_reasons_of_kube_scheduler_have_their_plugin_and_resource():
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    nodes = [node("cordoned", unschedulable=True), node("tainted", taints=[taint]), node("small", "1"), node("full", pods=0)]
    (error,) = decided([*nodes, pod("one", cpu="2")]).pending["default/one"]

    assert [tuple(each) for each in error.reasons] == [
        ("Insufficient cpu", 1, "NodeResourcesFit", "cpu"),
        ("Too many pods", 1, "NodeResourcesFit", "pods"),
        ("node(s) had untolerated taint {a: b}", 1, "TaintToleration", None),
        (UNSCHEDULABLE, 1, "NodeUnschedulable", None),
    ]


def test_a_field_that_is_not_modelled_has_no_plugin():
    (error,) = decided([node("n"), pod("one", volumes=[{"name": "v", "azureFile": {}}])]).pending["default/one"]

    assert [(each.message, each.plugin) for each in error.reasons] == [(UnmodelledField(("spec.volumes[0].azureFile",)), "")]
