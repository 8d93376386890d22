"""What a diagnosis says, and that it is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core import diagnosis
from scheduler_core.diagnosis import phrases
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Name, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.topology import Placement
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.greedy import BARE, Greedy, assigned
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.queueing import scheduling_queue
from tests.sampling import sampled
from tests.scheduler_core.oracle import brute
from tests.scheduler_core.oracle.strategies import Size, clusters

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
RACK = "topology.example/rack"
HOST = "kubernetes.io/hostname"
GROUP = {"apiVersion": "scheduling.k8s.io/v1alpha3"}

at_random = settings(deadline=None, max_examples=sampled(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def node(name: str, cpu: str = "4", *, rack: str = "", taints: tuple[str, ...] = (), cordoned: bool = False, **room: str) -> Object:
    """*taints* as kubectl writes them; other labels and resources go by their names."""
    labels = {HOST: name, **({RACK: rack} if rack else {})}
    spec: Object = {"unschedulable": cordoned, "taints": [taint(each) for each in taints]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110", **room}},
    }


def labelled(made: Object, **labels: str) -> Object:
    made["metadata"]["labels"].update(labels)
    return made


def taint(text: str) -> Object:
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(name: str, group: str = "", cpu: str = "1", *, on: str = "", requests: Object | None = None, **spec: Any) -> Object:
    """A pending pod, or one that runs *on* a node; its number in the group is its age."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu, **(requests or {})}}, "ports": spec.pop("ports", [])}
    spec |= {"containers": [container]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if on:
        spec["nodeName"] = on
    metadata = {"name": name, "namespace": "default", "labels": {"app": group}, "creationTimestamp": "2026-09-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running" if on else "Pending"}}


def pods(group: str, count: int, cpu: str = "1", **spec: Any) -> list[Object]:
    return [pod(f"{group}-{number}", group, cpu, **dict(spec)) for number in range(count)]


def group(name: str, gang: int = 0, *, key: str = "", parent: str = "", kind: str = "PodGroup", age: int = 0) -> Object:
    """A PodGroup or a CompositePodGroup, basic where *gang* is 0."""
    policy: Object = {"gang": {"minCount" if kind == "PodGroup" else "minGroupCount": gang}} if gang else {"basic": {}}
    spec: Object = {"schedulingPolicy": policy, "workloadRef": {"workloadName": "w", "templateName": name}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {
        **GROUP,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": f"2026-09-01T00:00:{age:02}Z"},
        "spec": spec,
    }


def composite(name: str, gang: int = 0, *, key: str = "", parent: str = "", age: int = 0) -> Object:
    return group(name, gang, key=key, parent=parent, kind="CompositePodGroup", age=age)


def tried(
    objects: list[Object], options: PlacingOptions | None = None, plugins: Plugins | None = None
) -> list[tuple[Greedy, PlacementRequest, PlacementOutcome]]:
    """Each root that is ready, tried on the cluster as it is."""
    snapshot = load(objects)
    greedy = Greedy(PlacementState.from_snapshot(snapshot, options or PlacingOptions(), plugins=plugins or Plugins()))
    placement_requests = [greedy.request(entity) for entity in scheduling_queue.build(snapshot, scheduling_queue.QueueOptions()).ready]
    return [(greedy, request, greedy.place(request)) for request in placement_requests]


def diagnosed(objects: list[Object], **how: Any) -> diagnosis.Diagnosis:
    """Of the only root."""
    [(greedy, request, outcome)] = tried(objects, **how)
    return diagnosis.explain(greedy, request, outcome)


def placed(objects: list[Object]) -> bool:
    return all(outcome.success for _, _, outcome in tried(objects))


def named(groups: Any) -> dict[str, str]:
    return {name.name: text for name, text in groups.items()}


def sixteen_gpus() -> list[Object]:
    """Four racks of four nodes with eight GPUs; three with four pods' worth of GPUs free, one with a node under maintenance."""
    made = []
    full = {1: (8, 8, 4, 4), 2: (8, 8, 4, 4), 3: (8, 8, 4, 4), 4: (8, 8, 4, 0)}
    for rack, taken in full.items():
        for number, gpus in enumerate(taken, 1):
            name = f"gpu-r{rack}-n{number}"
            taints = ("maintenance=yes:NoSchedule",) if not gpus else ()
            made.append(node(name, "96", rack=f"rack-{rack}", taints=taints, **{GPU: "8"}))
            made += [pod(f"infer-{name}-{each}", cpu="8", on=name, requests={GPU: "4"}) for each in range(gpus // 4)]
    return [*made, group("finetune", 4, key=RACK), *pods("finetune", 4, "8", requests={GPU: "4"})]


def greedy_trap() -> list[Object]:
    """Two racks of five slots; packing the first two children into one leaves no rack for the fourth."""
    made = [labelled(node(f"r{rack}-{number}", "1", rack=f"r{rack}"), zone="z1") for rack in (1, 2) for number in range(5)]
    made.append(composite("trap", 4, key="zone"))
    for number, size in enumerate((2, 2, 3, 3), 1):
        made += [group(f"g{number}", size, key=RACK, parent="trap", age=number), *pods(f"g{number}", size)]
    return made


def stealing() -> list[Object]:
    made = [node(f"n{number}", "1", rack="r1") for number in range(8)]
    made += [composite("serve", 2, key=RACK), group("prefill", 4, parent="serve", age=1), group("decode", 3, parent="serve", age=2)]
    return [*made, *pods("prefill", 7), *pods("decode", 3)]


def blocks(**racks: int) -> list[Object]:
    """One-slot nodes in racks named by block and number, and the tree of the worked example of KEP-6012."""
    made = [
        labelled(node(f"{rack}-{number}", "1", rack=f"rack-{rack}"), block=f"block-{rack[0]}")
        for rack, count in racks.items()
        for number in range(count)
    ]
    made.append(composite("train", 2, key="block"))
    for number in (1, 2):
        made += [group(f"pg-{number}", 5, key=RACK, parent="train", age=number), *pods(f"pg-{number}", 5)]
    return made


class TestSixteenGpus:
    def test_each_rack_says_how_many_pods_it_holds_and_why_not_more(self):
        want = (
            "group finetune finds no rack for its 4 pods (8 cpu, 4 nvidia.com/gpu each): "
            "rack-1, rack-2 and rack-3 hold 2 each (short of 8 nvidia.com/gpu: 8 free, 16 needed); "
            "rack-4 holds 1 (short of 12 nvidia.com/gpu: 4 free, 16 needed), "
            "or 3 if the taint maintenance=yes:NoSchedule on 1 of 4 nodes were tolerated"
        )

        found = diagnosed(sixteen_gpus())

        assert want == found.message
        assert {"finetune": want} == named(found.groups)

    def test_what_if_holds_when_it_is_tried(self):
        objects = sixteen_gpus()
        for each in objects:
            if each["kind"] == "PodGroup":
                each["spec"]["schedulingPolicy"]["gang"]["minCount"] = 3

        assert not placed(objects)
        for each in objects:
            if each["metadata"]["name"].startswith("finetune-"):
                each["spec"]["tolerations"] = [{"key": "maintenance", "operator": "Exists"}]
        assert placed(objects)

    def test_pods_that_find_no_node_have_their_own_reason_and_the_others_that_of_the_group(self):
        own = "0/16 nodes are available: 4 Insufficient nvidia.com/gpu, 12 node(s) didn't match pod group's topology."
        of_group = (
            "pod group is unschedulable, 0/4 placements are available, first placement status: "
            "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
        )
        want = {"default/finetune-0": of_group, "default/finetune-1": of_group, "default/finetune-2": own, "default/finetune-3": own}

        assert want == diagnosed(sixteen_gpus()).pods

    def test_equal_pods_leave_nothing_uncertain(self):
        assert diagnosed(sixteen_gpus()).uncertain == ""


class TestTrees:
    def test_a_group_that_its_siblings_left_no_rack_for_says_where_they_went(self):
        found = diagnosed(greedy_trap())

        assert found.message == (
            "group g4 of trap finds no rack in zone z1 for its 3 pods (1 cpu each): rack r2 holds 2 (short of 1 cpu: 2 free, 3 needed); "
            "rack r1 holds 1 (short of 2 cpu: 1 free, 3 needed). It would fit by itself, but earlier g1 and g2 took rack r1 and "
            "g3 took rack r2. trap needs all 4 of its groups in one zone: zone z1 holds 3"
        )
        assert found.uncertain == (
            "The greedy algorithm may have missed a placement: g1, g2 and g3 keep their placements, although a sibling "
            "may need the capacity (KEP-6012, No-Backtracking)"
        )
        assert named(found.groups)["g3"] == "fits by itself in rack r2, but group g4 does not"

    def test_optional_pods_that_took_a_siblings_room_are_named(self):
        found = diagnosed(stealing())

        assert found.message == (
            "group decode of serve finds no capacity in rack r1 for its 3 pods (1 cpu each): only for 1 (short of 2 cpu: 1 free, 3 needed). "
            "It would fit by itself, but earlier prefill placed 7 pods, 3 more than it needs. "
            "serve needs both of its groups in one rack: rack r1 holds 1"
        )
        assert found.uncertain == (
            "The greedy algorithm may have missed a placement: 3 optional pods of group prefill took capacity before its "
            "siblings were placed (KEP-6012, Resource stealing under greedy evaluation)"
        )

    def test_the_worked_example_fits(self):
        assert placed(blocks(a1=3, a2=5, b1=5, b2=5))

    def test_the_worked_example_with_a_slot_less_says_how_far_each_block_gets(self):
        found = diagnosed(blocks(a1=3, a2=5, b1=5, b2=4))

        assert found.message == (
            "group pg-2 of train finds no rack in block-a for its 5 pods (1 cpu each): rack-a1 holds 3 (short of 2 cpu: 3 free, 5 needed); "
            "rack-a2 holds none (short of 5 cpu: 0 free, 5 needed). It would fit by itself, but earlier pg-1 took rack-a2. "
            "train needs both of its groups in one block: block-a holds 1; "
            "block-b holds 1 (group pg-2 has capacity for 4 of 5 pods in one rack)"
        )
        assert found.uncertain == ""

    def test_the_innermost_group_that_fails_comes_first_then_what_is_above_it(self):
        made = [
            labelled(node(f"{zone}-{rack}-{number}", "1", rack=rack), zone=zone)
            for zone in "abcdef"
            for rack in "xy"
            for number in range(3)
        ]
        made += [composite("root", 2, key="zone"), composite("left", 2, parent="root", age=1), group("late", 1, parent="root", age=2)]
        made += [group("l1", 3, key=RACK, parent="left", age=1), group("l2", 4, key=RACK, parent="left", age=2)]

        found = diagnosed([*made, *pods("l1", 3), *pods("l2", 4), *pods("late", 1)])

        assert found.message == (
            "group l2 of left of root finds no rack in zone a for its 4 pods (1 cpu each): rack y holds 3 (short of 1 cpu: 3 free, 4 needed); "
            "rack x holds none (short of 4 cpu: 0 free, 4 needed). left needs both of its groups: 1 fits. "
            "root needs both of its groups in one zone: zone a holds none; "
            "zones b, c and d hold none (group l2 of left has capacity for 3 of 4 pods in one rack); and 2 more zones"
        )
        assert named(found.groups)["late"] == "not tried: root can no longer place both of its groups"
        assert found.uncertain == ""

    def test_all_children_that_fail_are_named(self):
        made = [node("n1"), composite("w", 1), group("a", 2, parent="w"), group("b", 3, parent="w")]

        found = diagnosed([*made, *pods("a", 2, "3"), *pods("b", 1)])

        assert found.message == (
            "group a of w finds no capacity in the cluster for its 2 pods (3 cpu each): only for 1 (short of 2 cpu: 4 free, 6 needed). "
            "b does not fit either. w needs 1 of its 2 groups: none fits"
        )
        assert named(found.groups)["b"] == "group b of w has 1 of the 3 pods that it needs"

    def test_a_composite_without_enough_children_says_so(self):
        made = [node("n1"), composite("w"), composite("few", 2, parent="w"), group("a", 1, parent="few")]

        found = diagnosed([*made, group("b", 1, parent="w"), *pods("a", 1), *pods("b", 1, "9")])

        assert named(found.groups)["few"] == "group few of w has 1 of the 2 groups that it needs"
        assert named(found.groups)["a"] == "not tried: few has 1 of the 2 groups that it needs"

    def test_an_error_is_told_of_the_group_that_has_it(self):
        made = [
            node("n1", rack="r1"),
            node("n2", rack="r2"),
            composite("w", 2),
            group("a", 2, parent="w"),
            group("b", 3, key=RACK, parent="w"),
        ]
        running = [pod("b-x", "b", on="n1"), pod("b-y", "b", on="n2")]

        found = diagnosed([*made, *pods("a", 2), *pods("b", 2), *running])

        assert found.message.startswith("group b of w: members run in 2 domains of 'topology.example/rack'")
        assert {Name("PodGroup", "default", "b"): found.message} == found.groups
        assert {f"default/{name}": found.message for name in ("a-0", "a-1", "b-0", "b-1")} == found.pods


ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "g"}}}]
    }
}
SPREAD = [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "g"}}}]
CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize(
    ("nodes", "gang", "want"),
    [
        pytest.param(
            [node(f"n{number}", rack="r1", **{GPU: "3"}) for number in range(4)],
            [group("g", 5, key=RACK), *pods("g", 5, requests={GPU: "2"})],
            "group g finds no rack for its 5 pods (1 cpu, 2 nvidia.com/gpu each): "
            "rack r1 holds 4 (fragmented: 4 nvidia.com/gpu more are free, but no node has 2 (at most 1))",
            id="enough in sum, in pieces",
        ),
        pytest.param(
            [
                *(node(f"n{number}", "2", **{GPU: "8"}) for number in range(2)),
                *(node(f"m{number}", "64", **{GPU: "1"}) for number in range(4)),
            ],
            [group("g", 2), *pods("g", 2, "4", requests={GPU: "2"})],
            "group g finds no capacity in the cluster for its 2 pods (4 cpu, 2 nvidia.com/gpu each): "
            "fragmented: no node has 2 nvidia.com/gpu and 4 cpu free together",
            id="two resources that no node has together",
        ),
        pytest.param(
            [node(f"n{number}", **{GPU: "8"}) for number in range(2)],
            [group("g", 2), *pods("g", 2, requests={GPU: "16"})],
            "group g finds no capacity in the cluster for its 2 pods (1 cpu, 16 nvidia.com/gpu each): "
            "a pod requests 16 nvidia.com/gpu, more than any node has (8)",
            id="larger than any node",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 4), *pods("g", 4, "500m", requests={"memory": "9Gi"})],
            "group g finds no capacity in the cluster for its 4 pods (0.5 cpu, 9Gi memory each): "
            "only for 2 (short of 4Gi memory: 32Gi free, 36Gi needed)",
            id="memory and fractions of a core",
        ),
        pytest.param(
            [node("n1", pods="2")],
            [group("g", 4), *pods("g", 4, "10m")],
            "group g finds no capacity in the cluster for its 4 pods (0.01 cpu each): only for 2 (short of 2 pod slots: 2 free, 4 needed)",
            id="too many pods",
        ),
        pytest.param(
            [node(f"n{number}", "1", rack="r3", taints=("dedicated=inference:NoSchedule",) * (number < 4)) for number in range(8)],
            [group("g", 6, key=RACK), *pods("g", 6)],
            "group g finds no rack for its 6 pods (1 cpu each): rack r3 holds 4 (short of 2 cpu: 4 free, 6 needed), "
            "or all 6 if the taint dedicated=inference:NoSchedule on 4 of 8 nodes were tolerated",
            id="a taint",
        ),
        pytest.param(
            [node(f"n{number}", taints=("a:NoSchedule", "b:NoExecute")) for number in range(3)],
            [group("g", 1), *pods("g", 1)],
            "group g finds no capacity in the cluster for its pod (1 cpu): all 3 nodes have the untolerated taint a:NoSchedule",
            id="a taint behind which stands another",
        ),
        pytest.param(
            [node(f"n{number}", rack="r1", taints=(f"t{number}:NoSchedule",)) for number in range(6)],
            [group("g", 7, key=RACK), *pods("g", 7, "4")],
            "group g finds no rack for its 7 pods (4 cpu each): rack r1 holds none (all 6 nodes have untolerated taints: "
            "t0:NoSchedule, t1:NoSchedule, t2:NoSchedule and 3 more), or 1 if the taint t0:NoSchedule on 1 of 6 nodes were tolerated",
            id="many taints",
        ),
        pytest.param(
            [labelled(node(f"n{number}", "1"), gpu="h100" if number < 4 else "a100") for number in range(8)],
            [group("g", 6), *pods("g", 6, nodeSelector={"gpu": "h100"})],
            "group g finds no capacity in the cluster for its 6 pods (1 cpu each): only for 4 (short of 2 cpu: 4 free, 6 needed), "
            "or for all 6 if its node selector gpu=h100, which 4 of 8 nodes do not match, were dropped",
            id="a node selector",
        ),
        pytest.param(
            [node(f"n{number}", rack="r1", cordoned=True) for number in range(2)],
            [group("g", 2, key=RACK), *pods("g", 2)],
            "group g finds no rack for its 2 pods (1 cpu each): rack r1 holds none, or both if both nodes were uncordoned",
            id="unschedulable nodes",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, ports=[{"hostPort": 8080}])],
            "group g finds no capacity in the cluster for its 3 pods (1 cpu each): only for 2 (both nodes have host port 8080/TCP in use)",
            id="ports of the host",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, affinity=ANTI)],
            "group g finds no capacity in the cluster for its 3 pods (1 cpu each): only for 2 (both nodes didn't match pod anti-affinity rules), "
            "or for all 3 if its pod anti-affinity were dropped",
            id="anti-affinity",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, affinity=ANTI, topologySpreadConstraints=SPREAD)],
            "group g finds no capacity in the cluster for its 3 pods (1 cpu each): only for 2 (both nodes didn't match pod anti-affinity rules), "
            "or for all 3 if all rules between pods were dropped",
            id="two rules between pods",
        ),
        pytest.param(
            [node("n1"), node("n2", "1")],
            [group("g", 4), *pods("g", 4, topologySpreadConstraints=SPREAD)],
            "group g finds no capacity in the cluster for its 4 pods (1 cpu each): only for 3 (1 of 2 nodes has less than 1 cpu free; "
            "1 of 2 nodes didn't match pod topology spread constraints), or for all 4 if its topology spread constraints were dropped",
            id="spread, and a full node",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 1, key=RACK), *pods("g", 1)],
            "group g finds no rack: no node of the cluster has the label topology.example/rack",
            id="no such label",
        ),
        pytest.param(
            [node("n1", "2", rack="r1"), node("n2", "9", rack="r2")],
            [group("g", 4, key=RACK), pod("g-x", "g", on="n1"), *pods("g", 3)],
            "group g finds no rack for its 3 pending pods (1 cpu each), 1 running: rack r1 holds 1 (short of 2 cpu: 1 free, 3 needed)",
            id="a rack chosen by a pod that runs",
        ),
        pytest.param(
            [node("n1", **{GPU: "8"}), node("n2", taints=("x:NoExecute",), **{GPU: "16"})],
            [pod("lonely", requests={GPU: "12"})],
            "pod lonely (1 cpu, 12 nvidia.com/gpu) finds no node in the cluster: a pod requests 12 nvidia.com/gpu, more than any node that "
            "it can use has (8); it would fit if the taint x:NoExecute on 1 of 2 nodes were tolerated",
            id="a pod by itself",
        ),
    ],
)
def test_a_leaf_says_what_it_is_short_of(nodes, gang, want):
    assert want == diagnosed([*nodes, *gang]).message


def test_a_field_that_is_not_modelled_is_a_reason_like_any_other():
    found = diagnosed([node("n1", rack="r1"), group("g", 2, key=RACK), *pods("g", 2, volumes=CLAIM)])

    assert "rack r1 holds none (spec.volumes[0].persistentVolumeClaim can keep the pod off a node" in found.message
    assert found.message.endswith(", or both if it were ignored")
    assert found.pods["default/g-0"].startswith("0/1 nodes are available: 1 spec.volumes[0].persistentVolumeClaim")


def test_reasons_of_a_pod_are_counted_most_first_and_ties_go_by_text():
    nodes = [
        *(node(f"full-{number}", "0") for number in range(3)),
        node("tainted", taints=("b=c:NoExecute",)),
        node("cordoned", cordoned=True),
        *(labelled(node(f"other-{number}"), disk="hdd") for number in range(2)),
    ]
    for each in nodes:
        each["metadata"]["labels"].setdefault("disk", "ssd")

    found = diagnosed([*nodes, pod("p", nodeSelector={"disk": "ssd"})])

    assert found.pods == {
        "default/p": "0/7 nodes are available: 3 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint {b: c}, 1 node(s) were unschedulable."
    }


def test_domains_beyond_the_fourth_are_counted():
    nodes = [node(f"n{number:03}", "2", rack=f"rack-{number % 50:02}") for number in range(100)]

    found = diagnosed([*nodes, group("g", 9, key=RACK), *pods("g", 9)])

    assert found.message == (
        "group g finds no rack for its 9 pods (1 cpu each): rack-00, rack-01, rack-02 and rack-03 hold 4 each "
        "(short of 5 cpu: 4 free, 9 needed); and 46 more racks (4 at most)"
    )


def test_the_domain_that_holds_most_comes_first():
    nodes = [node("a", "1", rack="a"), node("b", "3", rack="b"), node("c", "2", rack="c")]

    found = diagnosed([*nodes, group("g", 4, key=RACK), *pods("g", 4)])

    assert [found.message.index(f"rack {rack} holds") for rack in "bca"] == sorted(
        found.message.index(f"rack {rack} holds") for rack in "abc"
    )


def test_no_message_is_longer_than_a_thousand_characters():
    long = "a" * 240
    nodes = [node(f"n{number}", rack="r" * 50 + str(number), taints=(f"{'t' * 60}{number}=v{number}:NoSchedule",)) for number in range(40)]
    made = [
        composite(long, 1),
        *(composite(f"{long}-{number}", 1, parent=long if not number else f"{long}-{number - 1}") for number in range(2)),
    ]

    found = diagnosed([*nodes, *made, group("g", 3, key=RACK, parent=f"{long}-1"), *pods("g", 3)])

    assert max(map(len, (found.message, *found.groups.values(), *found.pods.values(), found.uncertain))) <= 1000


@pytest.mark.parametrize(
    ("objects", "cause"),
    [
        pytest.param(
            [node("n1", "3"), node("n2", "3"), group("g", 4), *pods("g", 2), *(pod(f"h-{number}", "g", "2") for number in range(2))],
            "",
            id="unlike pods, all placed",
        ),
        pytest.param(
            [node("n1", "2"), node("n2", "2"), group("g", 3), *pods("g", 2), pod("h-0", "g", "2")],
            "the pods of group g are not equal (KEP-4671, Algorithm Limitations: heterogeneous pod groups)",
            id="unlike pods",
        ),
        pytest.param(
            [node("n1", "1"), node("n2", "1"), group("g", 3), *pods("g", 2), pod("h-0", "g", "2")],
            "",
            id="unlike pods, one too large for any node",
        ),
        pytest.param(
            [node("n1"), node("n2"), group("g", 3), *pods("g", 3, affinity=ANTI)],
            "the pods of group g depend on other pods through pod anti-affinity (KEP-4671, Algorithm Limitations: inter-pod dependencies)",
            id="anti-affinity",
        ),
        pytest.param(
            [node("n1"), node("n2", "1"), group("g", 4), *pods("g", 4, topologySpreadConstraints=SPREAD)],
            "the pods of group g depend on other pods through topology spread constraints "
            "(KEP-4671, Algorithm Limitations: inter-pod dependencies)",
            id="spread",
        ),
        pytest.param(
            [node(f"n{number}", "1", rack="r1") for number in range(7)]
            + [
                composite("w", 2, key=RACK),
                group("a", 4, parent="w", age=1),
                group("b", 4, parent="w", age=2),
                *pods("a", 4),
                *pods("b", 4),
            ],
            "",
            id="siblings that are too many together",
        ),
        pytest.param(
            [
                *(node("n1", "3", rack="r1"), composite("w", 2)),
                *(group("a", 2, parent="w"), group("b", 1, parent="w"), group("c", 1, parent="w")),
                *(*pods("a", 2, "1500m"), *pods("b", 1), *pods("c", 1)),
            ],
            "a keeps its placement, although a sibling may need the capacity (KEP-6012, No-Backtracking)",
            id="a child that could be left out",
        ),
    ],
)
def test_a_failure_says_which_feature_may_have_missed_a_placement(objects, cause):
    [(greedy, request, outcome)] = tried(objects)

    found = diagnosis.explain(greedy, request, outcome).uncertain

    assert (f"The greedy algorithm may have missed a placement: {cause}" if cause else "") == found


def test_a_doubt_about_one_of_many_domains_is_not_lost():
    small = [labelled(node(f"small-{number:03}", "1", rack="r1"), zone=f"a{number:03}") for number in range(100)]
    trap = [labelled(each, zone="last") if each["kind"] == "Node" else each for each in greedy_trap()]

    assert diagnosed([*small, *trap]).uncertain.endswith("(KEP-6012, No-Backtracking)")


def test_domains_that_were_not_looked_into_are_a_doubt():
    racks = [(zone, rack, number) for zone in range(70) for rack in range(3) for number in range(2)]
    nodes = [labelled(node(f"n{zone}-{rack}-{number}", "1", rack=f"r{rack}"), zone=f"z{zone}") for zone, rack, number in racks]
    made = [composite("w", 2, key="zone"), *(group(name, 3, key=RACK, parent="w") for name in "ab")]

    found = diagnosed([*nodes, *made, *pods("a", 3), *pods("b", 3)])

    assert found.uncertain == "The greedy algorithm may have missed a placement: 6 more zones for w were not examined"


def test_a_cluster_without_nodes_is_told_as_such():
    found = diagnosed([group("g", 1), *pods("g", 1)])

    assert found.message == "group g finds no capacity in the cluster for its pod (1 cpu): there are no nodes"
    assert found.pods == {"default/g-0": "0/0 nodes are available."}


def test_a_running_gang_with_no_node_for_more_pods_says_so():
    running = [pod(f"g-r{number}", "g", on="n1") for number in range(2)]

    found = diagnosed([node("n1", "2", rack="r1"), node("n2", rack="r2"), group("g", 2, key=RACK), *running, *pods("g", 3)])

    assert found.message == (
        "group g has its minimum, but no node for 3 more pods (1 cpu each) in rack r1: short of 3 cpu: 0 free, 3 needed"
    )
    assert set(found.pods.values()) == {"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod group's topology."}


def test_pods_that_a_success_leaves_over_have_their_reasons():
    [(greedy, request, outcome)] = tried([node("n1", "3", rack="r1"), node("n2", "2", rack="r2"), group("g", 2, key=RACK), *pods("g", 5)])
    greedy.assume(request, outcome)

    reason = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod group's topology."
    assert {"default/g-3": reason, "default/g-4": reason} == diagnosis.leftovers(greedy, request, outcome)


def test_a_child_that_a_success_leaves_out_has_its_cause():
    made = [node("n1", "3"), composite("w", 1), group("a", 2, parent="w", age=1), group("b", 2, parent="w", age=2)]
    [(greedy, request, outcome)] = tried([*made, *pods("a", 2), *pods("b", 2)])

    found = diagnosis.explain(greedy, request, outcome)

    assert outcome.status is Status.SUCCESS
    assert {
        "b": "group b of w finds no capacity in the cluster for its 2 pods (1 cpu each): only for 1 (short of 1 cpu: 1 free, 2 needed)"
    } == named(found.groups)
    assert found.pods == {
        "default/b-0": "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
        "default/b-1": "0/1 nodes are available: 1 Insufficient cpu.",
    }


def test_where_every_pod_must_be_placed_all_of_them_are_needed():
    found = diagnosed([node("n1", "3"), group("g", 2), *pods("g", 5)], options=PlacingOptions(every_pod=True))

    assert found.message == (
        "group g finds no capacity in the cluster for its 5 pods (1 cpu each): only for 3 (short of 2 cpu: 3 free, 5 needed)"
    )


class Halves:
    def generate(self, entity: Entity, parent: Any, nodes: Any) -> dict[str, Any]:
        return {"even": parent[::2], "odd": parent[1::2]}


class Veto:
    def check(self, entity: Entity, assigned: Any, nodes: Any) -> str:
        return "the budget of the team is spent"


def test_placements_of_a_plugin_are_told_by_name():
    nodes = [node(f"n{number}", "1") for number in range(5)]

    found = diagnosed([*nodes, group("g", 4), *pods("g", 4)], plugins=Plugins(generators=(Halves(),)))

    assert found.message == (
        "group g finds no capacity in the cluster for its 4 pods (1 cpu each): even holds 3 (short of 1 cpu: 3 free, 4 needed); "
        "odd holds 2 (short of 2 cpu: 2 free, 4 needed)"
    )


def test_a_veto_of_a_plugin_is_told_and_is_no_proof():
    found = diagnosed([node("n1"), group("g", 2), *pods("g", 2)], plugins=Plugins(checks=(Veto(),)))

    assert found.message == (
        "group g finds no capacity in the cluster for its 2 pods (1 cpu each): only for 2 (the budget of the team is spent)"
    )
    assert found.uncertain == "The greedy algorithm may have missed a placement: a plugin decides what is feasible"


@pytest.mark.parametrize(
    ("resource", "value", "want"),
    [
        pytest.param("cpu", 1500, "1.5 cpu", id="cores"),
        pytest.param("cpu", 8000, "8 cpu", id="whole cores"),
        pytest.param("cpu", 1, "0.001 cpu", id="a millicore"),
        pytest.param("memory", 16 * 2**30, "16Gi memory", id="Gi"),
        pytest.param("memory", 16 * 2**30 - 1, "15.99Gi memory", id="cut off, not rounded"),
        pytest.param("memory", 3 * 2**19, "1.5Mi memory", id="Mi"),
        pytest.param("memory", 512, "512 memory", id="bytes"),
        pytest.param("hugepages-2Mi", 2**21, "2Mi hugepages-2Mi", id="huge pages"),
        pytest.param(GPU, 3, "3 nvidia.com/gpu", id="devices"),
        pytest.param("pods", 1, "1 pod slot", id="one pod"),
        pytest.param("pods", 2, "2 pod slots", id="pods"),
    ],
)
def test_amounts_are_written_for_people(resource, value, want):
    assert want == phrases.amount(resource, value)


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param(["r1"], "rack r1", id="one"),
        pytest.param(["r1", "r2"], "racks r1 and r2", id="several"),
        pytest.param(["rack-1", "rack-2"], "rack-1 and rack-2", id="values that say what they are"),
        pytest.param(["a", "b", "c", "d", "e", "f"], "racks a, b, c, d and 2 more", id="more than are shown"),
        pytest.param([""], "the rack without a name", id="an empty value"),
    ],
)
def test_domains_are_named(values, want):
    assert want == phrases.places([Placement(number, RACK, value, np.array([0])) for number, value in enumerate(values)])


@at_random
@given(clusters())
def test_a_diagnosis_covers_every_pod_and_group_and_leaves_the_site_as_it_was(objects):
    for greedy, request, outcome in tried(objects):
        ledger, known = greedy.state.ledger, greedy.state.topology.count
        before = ledger.used.copy(), ledger.versions[:known].copy(), greedy.state.stateful.mark()

        found = diagnosis.explain(greedy, request, outcome)

        waiting = {each.key for leaf in request.entity.leaves() for each in leaf.waiting}
        nodes = {each.key for each, _ in assigned(request, outcome)} if outcome.success else set()
        assert waiting - nodes == set(found.pods)
        if not outcome.success and outcome.status is not Status.ERROR and outcome.message != BARE:
            assert {each.name for each in request.entity.walk()} == set(found.groups)
        assert np.array_equal(before[0], ledger.used)
        assert np.array_equal(before[1], ledger.versions[:known])
        assert before[2] == greedy.state.stateful.mark()


@at_random
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_changes_nothing(objects, random):
    want = [diagnosis.explain(*each) for each in tried(objects)]
    random.shuffle(objects)

    assert want == [diagnosis.explain(*each) for each in tried(objects)]


@at_random
@given(clusters())
def test_what_is_left_over_is_the_same_before_and_after_it_is_assumed(objects):
    for greedy, request, outcome in tried(objects):
        if outcome.success:
            want = diagnosis.explain(greedy, request, outcome).pods
            mark = greedy.state.ledger.mark()
            greedy.assume(request, outcome)

            assert want == diagnosis.leftovers(greedy, request, outcome)
            greedy.state.ledger.rewind(mark)


@at_random
@given(clusters(Size(nodes=4, trees=1, depth=3, pending=3, running=1, lone=2)))
def test_a_failure_without_doubt_has_no_placement_whatever_is_tried(objects):
    for greedy, request, outcome in tried(objects):
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        if outcome.status is Status.UNSCHEDULABLE and outcome.message != BARE and waiting <= 6:
            if not diagnosis.explain(greedy, request, outcome).uncertain:
                name = request.entity.name

                assert brute.placement(objects, name.kind, name.name, name.namespace) is None
