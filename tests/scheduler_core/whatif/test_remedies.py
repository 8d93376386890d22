"""Every remedy works when it is applied, and most roots have one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from scheduler_core.causes.changes import SearchLimit
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, prepared
from scheduler_core.model.status import Status
from scheduler_core.whatif.remedies.remedies import advise
from scheduler_core.whatif.trial import trial
from scheduler_core.wording.changes import remedy_text
from tests.sampling import every, sampled
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.cp_sat.corpus import Make
from tests.scheduler_core.oracle.strategies import TINY, Size, clusters
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, template, wanting
from tests.scheduler_core.whatif.cluster import COMPLETE, RACK, after, decided, gang, helped, node, not_placed, pod, remedies, tree, waiting
from tests.scheduler_core.whatif.contested import contested, cordoned

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
OLD = {"key": "old", "effect": "NoExecute"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TWO_RACKS = [node("a1"), node("a2"), node("b1", "r2"), node("b2", "r2")]


SITUATIONS = {
    "a rack is too small": (
        [*TWO_RACKS, gang("g", 6), *waiting("g", 6)],
        "topology constraint of PodGroup default/g widened from rack to zone (zone)",
    ),
    "a gang is too large": ([*TWO_RACKS, gang("g", 6), *waiting("g", 6)], "minCount of PodGroup default/g lowered from 6 to 4"),
    "nodes are lacking": ([*TWO_RACKS, gang("g", 6), *waiting("g", 6)], "1 more node in rack r1 like a1"),
    "nodes are tainted": (
        [node("a1", taints=[TAINT]), gang("g", 2), *waiting("g", 2)],
        "taint team=a:NoSchedule tolerated by the pods of PodGroup default/g",
    ),
    "a selector matches nothing": (
        [*TWO_RACKS, gang("g", 2), *waiting("g", 2, nodeSelector={"disk": "ssd"})],
        "node selector of the pods of PodGroup default/g dropped",
    ),
    "a node is cordoned": ([node("a1"), node("a2", unschedulable=True), gang("g", 4), *waiting("g", 4)], "node a2 uncordoned"),
    "nodes are cordoned and tainted": (
        [*(node(f"a{number}", unschedulable=True, taints=[CORDON]) for number in range(3)), gang("g", 4), *waiting("g", 4)],
        "2 nodes uncordoned: a0 and a1",
    ),
    "one rack is cordoned, the other too small": (
        [node("a1"), node("b1", "r2", unschedulable=True), node("b2", "r2", unschedulable=True), gang("g", 4), *waiting("g", 4)],
        "2 nodes uncordoned: b1 and b2",
    ),
    "a node is cordoned and has taints": (
        [node("a1", unschedulable=True, taints=[TAINT, CORDON, OLD]), gang("g", 2), *waiting("g", 2)],
        "taints team=a:NoSchedule and old:NoExecute tolerated by the pods of PodGroup default/g, and node a1 uncordoned",
    ),
    "a node is cordoned and has taints, and another change helps": (
        [node("a1", cpu=2), node("a2", unschedulable=True, taints=[TAINT]), gang("g", 3), *waiting("g", 3)],
        "taint team=a:NoSchedule tolerated by the pods of PodGroup default/g, and node a2 uncordoned",
    ),
    "a node has three taints": (
        [node("a1", taints=[TAINT, OLD, {**OLD, "key": "new"}]), gang("g", 2), *waiting("g", 2)],
        "taints team=a:NoSchedule, old:NoExecute and new:NoExecute tolerated by the pods of PodGroup default/g",
    ),
    "a larger cordoned node does not help": (
        [
            *(node("a1"), node("a2", cpu=8, unschedulable=True), node("a3", unschedulable=True)),
            *(gang("g", 2), *waiting("g", 1), pod("picky", "g", nodeSelector={"kubernetes.io/hostname": "a3"})),
        ],
        "node a3 uncordoned",
    ),
    "a node is cordoned, and pods are gated": (
        [node("a1", unschedulable=True), gang("g", 2), *waiting("g", 2, schedulingGates=[{"name": "x"}])],
        "scheduling gates of the pods of PodGroup default/g removed, and node a1 uncordoned",
    ),
    "pods are gated": (
        [*TWO_RACKS, gang("g", 1), *waiting("g", 1, schedulingGates=[{"name": "x"}])],
        "scheduling gates of the pods of PodGroup default/g removed",
    ),
    "no node has the label": (
        [*TWO_RACKS, gang("g", 2, "block"), *waiting("g", 2)],
        "topology constraint block of PodGroup default/g dropped",
    ),
    "no node has the label, and pods are gated": (
        [*TWO_RACKS, gang("g", 1, "block"), *waiting("g", 1, schedulingGates=[{"name": "x"}])],
        "topology constraint block of PodGroup default/g dropped, and scheduling gates of the pods of PodGroup default/g removed",
    ),
    "members are lacking": ([*TWO_RACKS, gang("g", 3), *waiting("g", 2)], "minCount of PodGroup default/g lowered from 3 to 2"),
    "a running pod stands in the way": (
        [*TWO_RACKS, pod("r", on="a1"), pod("s", on="b1"), gang("g", 4), *waiting("g", 4)],
        "1 running pod moved: default/r from a1 to b1",
    ),
    "one as important must leave": (
        [node("a1"), pod("r", on="a1"), gang("g", 2), *waiting("g", 2)],
        "Pod default/r evicted (1 running pod)",
    ),
    "a node would have to be larger": ([node("a1"), pod("big", cpu=8)], "1 more node like a1, but with 8 cpu"),
    "a node would have to have more memory": (
        [node("a1"), pod("big", overhead={"memory": "1900000Gi"})],
        "1 more node like a1, but with 1856Ti memory",
    ),
    "too many groups are demanded": (
        [node("a1"), tree("t", 2), *(each for name in ("x", "y") for each in (gang(name, 2, parent="t"), *waiting(name, 2)))],
        "minGroupCount of CompositePodGroup default/t lowered from 2 to 1",
    ),
    "a taint tolerated makes a smaller change do": (
        [node("a1"), node("a2", cpu=2, taints=[TAINT]), gang("g", 4), *waiting("g", 4)],
        "taint team=a:NoSchedule tolerated by the pods of PodGroup default/g, and minCount of PodGroup default/g lowered from 4 to 3",
    ),
}


@pytest.mark.parametrize("group", ["", "g"], ids=["a pod by itself", "a member"])
def test_pods_that_wait_for_a_resource_claim_have_no_remedy(group):
    assert [] == helped([*TWO_RACKS, gang("g", 1), wanting("p", "gpu=missing", group=group)])


@pytest.mark.parametrize(("objects", "change"), SITUATIONS.values(), ids=SITUATIONS)
def test_each_situation_has_a_verified_remedy(objects, change):
    assert change in helped(objects)


@settings(max_examples=sampled(40), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=2, max_size=5), st.integers(1, 8))
def test_as_few_nodes_are_uncordoned_as_work(nodes, pods):
    objects = [gang("g", pods, ""), *waiting("g", pods)]
    objects += [node(f"a{number}", cpu=cpu, unschedulable=closed) for number, (cpu, closed) in enumerate(nodes)]
    for decision in not_placed(objects):
        changes = [remedy_text(each) for each in remedies(objects, load(objects), decision, COMPLETE)]
        found = [1 if each.startswith("node ") else int(each.split()[0]) for each in changes if "uncordoned" in each]
        free, slots = (
            sum(cpu // 2 for cpu, closed in nodes if not closed),
            sorted((cpu // 2 for cpu, closed in nodes if closed), reverse=True),
        )
        fewest = next((count for count in range(1, len(slots) + 1) if free + sum(slots[:count]) >= pods), 0)
        assert found == ([fewest] if fewest else [])


def test_a_node_that_an_earlier_root_takes_is_uncordoned_too():
    closed = [node(f"a{number}", unschedulable=True) for number in range(3)]
    objects = [*closed, pod("first", cpu=4, priority=9), pod("second", cpu=4)]
    changes = {
        each.root.name: [remedy_text(change) for change in remedies(objects, load(objects), each, COMPLETE)] for each in not_placed(objects)
    }
    assert ["node a0 uncordoned", "2 nodes uncordoned: a0 and a1"] == [changes[name][0] for name in ("first", "second")]


def test_a_cordoned_node_that_is_not_ready_is_left_alone():
    broken = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    objects = [node("a1"), node("a2", unschedulable=True, taints=[broken]), gang("g", 4), *waiting("g", 4)]
    assert not [each for each in helped(objects) if "uncordoned" in each]


def test_a_cordoned_node_whose_machine_fails_is_not_uncordoned_for_its_other_taints():
    broken = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    objects = [node("a1"), node("a2", unschedulable=True, taints=[TAINT, broken]), gang("g", 4), *waiting("g", 4)]
    assert not [each for each in helped(objects) if "uncordoned" in each]


def test_little_comes_before_much():
    objects = [*TWO_RACKS, pod("r", on="a1"), pod("s", on="b1"), gang("g", 4), *waiting("g", 4)]
    assert ["topology", "minCount", "1 running", "1 running", "Pod", "Pod", "1 more", "1 more"] == [
        " ".join(change.split()[: 2 if change[0] == "1" else 1]) for change in helped(objects)
    ]


def test_a_pod_of_a_daemon_set_is_neither_moved_nor_evicted():
    objects = [*TWO_RACKS, pod("r", on="a1", owner="DaemonSet"), pod("s", on="b1", owner="DaemonSet"), gang("g", 4), *waiting("g", 4)]
    assert [] == [change for change in helped(objects) if "moved" in change or "evicted" in change]


def test_a_gang_leaves_as_a_whole():
    running = [gang("old", 2), *(pod(f"old-{number}", "old", on="a1") for number in range(2))]
    assert "PodGroup default/old evicted (2 running pods)" in helped([node("a1"), *running, gang("g", 1), *waiting("g", 1)])


def test_victims_of_a_preemption_are_no_remedy():
    objects = [node("a1"), pod("r", on="a1", priority=1), gang("g", 2, priority=5), *waiting("g", 2, priority=5)]
    assert [] == [change for change in helped(objects) if "evicted" in change]


def test_a_template_and_all_groups_made_of_it_change_together():
    shape = {"schedulingPolicy": {"gang": {"minCount": 3}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
    top = {"name": "top", "schedulingPolicy": {"gang": {"minGroupCount": 2}}, "podGroupTemplates": [{"name": "t", **shape}]}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"compositePodGroupTemplates": [top]},
    }
    children = [each for name in ("x", "y") for each in (gang(name, 3, parent="t"), *waiting(name, 3))]
    objects = [node("a1"), node("b1", "r2"), workload, tree("t", 2), *children]
    (decision,) = not_placed(objects)
    lowered = next(each for each in remedies(objects, load(objects), decision, COMPLETE) if remedy_text(each).startswith("minCount"))

    assert ["Workload", "PodGroup", "PodGroup"] == [each.apply["kind"] for each in lowered.steps]
    assert decided(after(objects, lowered.steps))[decision.root].status is Status.SUCCESS


def test_siblings_that_are_alike_demand_less_together():
    children = [each for name in ("x", "y") for each in (gang(name, 3, parent="t", template=name), *waiting(name, 3))]
    assert "minCount of PodGroup default/x and PodGroup default/y lowered from 3 to 2" in helped(
        [node("a1"), node("b1", "r2"), tree("t", 2), *children]
    )


def test_each_of_several_groups_is_given_nodes_in_a_domain_of_its_own():
    children = [each for name in ("x", "y") for each in (gang(name, 3, parent="t", template=name), *waiting(name, 3))]
    assert "2 more nodes: 1 in rack r1 like a1 and 1 in rack r2 like b1" in helped([node("a1"), node("b1", "r2"), tree("t", 2), *children])


def daemon(name, on, cpu=1):
    return pod(f"{name}-{on}", on=on, cpu=cpu, owner="DaemonSet")


def test_a_node_is_never_added_to_the_domain_of_another_host_name():
    host = "kubernetes.io/hostname"
    groups = [tree("t", 2, RACK), gang("a", 2, host, parent="t"), gang("b", 1, host, parent="t")]
    changes = helped([node("n1"), node("n2", cpu=1), *groups, *waiting("a", 2), *waiting("b", 1)])

    assert ["1 more node in rack r1 like n1"] == [change for change in changes if "more node" in change]


def test_a_fresh_node_runs_what_daemon_sets_run_on_the_one_it_is_like():
    objects = [node("a1"), daemon("log", "a1"), daemon("net", "a1"), pod("r", on="a1"), gang("g", 2), *waiting("g", 2)]
    (decision,) = not_placed(objects)
    more = next(each for each in remedies(objects, load(objects), decision, COMPLETE) if "more node" in remedy_text(each))

    assert ["a1-added-1", "log-a1-a1-added-1", "net-a1-a1-added-1"] == [each.apply["metadata"]["name"] for each in more.steps[:3]]
    assert {"a1-added-1"} == {each.apply["spec"]["nodeName"] for each in more.steps[1:3]}
    assert [{"kind": "DaemonSet", "name": "o"}] == more.steps[1].apply["metadata"]["ownerReferences"]


@pytest.mark.parametrize(("used", "want"), [(0, 1), (1, 4), (2, 4)], ids=["nothing", "a quarter", "half"])
def test_what_daemon_sets_take_of_a_fresh_node_is_no_capacity(used, want):
    own = [daemon("log", name, used) for name in ("a1", "a2") if used]
    changes = helped([node("a1"), node("a2"), *own, gang("g", 6), *waiting("g", 6)])
    surprise = ", not 2 as by the sum of requests: each holds only 1 pod" if used == 1 else ""
    assert [f"{want} more node{'s' * (want > 1)} in rack r1 like a1{surprise}"] == [change for change in changes if "more node" in change]


@pytest.mark.parametrize("owner", ["DaemonSet", "Node"], ids=["of a daemon set", "static"])
def test_a_larger_node_has_capacity_for_what_belongs_to_it_too(owner):
    objects = [node("a1"), pod("own", on="a1", cpu=1, owner=owner), pod("big", cpu=8)]
    assert ["1 more node like a1, but with 9 cpu"] == helped(objects)


def test_a_new_node_has_a_name_that_no_pod_requests():
    elsewhere = pod("left", on="a1-added-1")
    objects = [node("a1"), elsewhere, gang("g", 4), *waiting("g", 4)]
    (decision,) = not_placed(objects)
    more = next(each for each in remedies(objects, load(objects), decision, COMPLETE) if "more node" in remedy_text(each))
    assert "a1-added-2" == more.steps[0].apply["metadata"]["name"]


def test_a_root_that_is_placed_needs_no_help():
    objects = [node("a1"), gang("g", 2), *waiting("g", 2)]
    (decision,) = decided(objects).values()
    assert () == remedies(objects, load(objects), decision, COMPLETE)


def test_it_says_where_it_stopped_looking():
    objects = [*TWO_RACKS, gang("g", 6), *waiting("g", 6)]
    (decision,) = not_placed(objects)
    messages = advise(objects, load(objects), decision, COMPLETE, tries=2)
    assert messages.limit is SearchLimit.TRIES
    assert advise(objects, load(objects), decision, COMPLETE).limit is None


@pytest.mark.parametrize("bound", ["_EFFORT", "_ALL_STEPS", "MOST"])
def test_it_stops_when_all_is_examined_or_searched_that_may_be(monkeypatch, bound):
    objects = corpus.instance(3, Make(depth=3, moved=4, short=4, shapes=3))
    (decision,) = not_placed(objects)
    free = advise(objects, load(objects), decision, COMPLETE)
    monkeypatch.setattr(trial, bound, 1)
    messages = advise(objects, load(objects), decision, COMPLETE)

    assert messages.limit is SearchLimit.TRIES
    assert len(messages.remedies) < len(free.remedies)


def test_the_order_of_objects_changes_nothing():
    objects = [*TWO_RACKS, pod("r", on="a1"), pod("s", on="b1"), gang("g", 4), *waiting("g", 4)]
    assert helped(objects) == helped(objects[::-1])


@pytest.mark.parametrize(
    "options", [COMPLETE, CycleOptions(), CycleOptions(strategy="complete", evict=True)], ids=["complete", "greedy", "evict"]
)
@settings(max_examples=sampled(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(clusters(TINY), clusters(Size(nodes=5, depth=3)), contested(Size(nodes=3, depth=2)), cordoned(Size(nodes=4, depth=2))))
def test_every_remedy_applied_is_placed(options, objects):
    for decision in not_placed(objects, options):
        for each in remedies(objects, load(objects), decision, options):
            assert decided(after(objects, each.steps), options)[decision.root].status is each.then, remedy_text(each)


SHAPES = {
    "flat": Make(depth=1, short=2),
    "two levels": Make(depth=2, short=2),
    "three levels": Make(depth=3, short=2, largest=6),
    "four levels": Make(depth=4, short=2, largest=4),
    "three shapes": Make(shapes=3, short=2),
    "optional pods": Make(optional=True, short=2),
    "room elsewhere": Make(moved=4),
    "pools": Make(shapes=2, pools=True, short=2),
    "some run": Make(running=True, short=3),
    "much too little": Make(short=8),
}


def tally(instances):
    """Return the number of roots that are not placed and of those with a remedy; every remedy is applied and verified."""
    met = with_remedy = 0
    for objects in instances:
        snapshot = load(objects)
        for decision in not_placed(objects):
            result = remedies(objects, snapshot, decision, COMPLETE)
            met, with_remedy = met + 1, with_remedy + bool(result)
            for each in result:
                assert decided(after(objects, each.steps))[decision.root].status is each.then is Status.SUCCESS, remedy_text(each)
    return met, with_remedy


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_nine_of_ten_trees_that_are_not_placed_have_a_remedy(make):
    seeds = every(5, range(10)[::-1])
    met, with_remedy = tally(corpus.instance(seed, make) for seed in seeds)
    assert met >= 0.7 * len(seeds)
    assert with_remedy >= 0.9 * met


def with_daemons(objects):
    """Return the same cluster with one pod of a DaemonSet on each node."""
    met, result = set(), []
    for each in objects:
        on = each["spec"].get("nodeName") if each["kind"] == "Pod" and "schedulingGroup" not in each["spec"] else None
        owned = {**each, "metadata": {**each["metadata"], "ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}}
        result.append(owned if on and on not in met else each)
        met.add(on)
    return result


@pytest.mark.parametrize(
    ("count", "make"),
    [
        pytest.param(12, lambda seed: with_daemons(corpus.instance(seed, Make(depth=1 + seed % 3, short=3, largest=6))), id="daemons"),
        pytest.param(20, corpus.crowded, id="crowded"),
        pytest.param(24, lambda seed: corpus.instance(seed, corpus.drawn(seed)), id="drawn"),
    ],
)
def test_nine_of_ten_of_every_kind_have_a_remedy(count, make):
    seeds = every(4, range(count))
    met, with_remedy = tally(map(make, seeds))
    assert met >= 5 * len(seeds) / count
    assert with_remedy >= 0.9 * met


def test_nine_of_ten_pending_roots_have_a_remedy():
    met = []

    @seed(1)
    @settings(
        max_examples=sampled(150, least=50), deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(clusters(TINY))
    def meet(objects):
        snapshot = load(objects)
        met.extend(bool(remedies(objects, snapshot, decision, COMPLETE)) for decision in not_placed(objects))

    meet()
    assert len(met) > sampled(40, least=13)
    assert sum(met) >= 0.9 * len(met)


def test_a_root_whose_attempt_ends_with_an_error_has_no_remedies():
    selectors = [{"cel": {"expression": "device.attributes['gpu.example'].model == 'x'"}}]
    objects = [node("a1"), device_class(selectors=selectors), template(), device_slice("a1", "without-model"), wanting()]
    (decision,) = not_placed(objects, CycleOptions())
    assert decision.status is Status.ERROR
    assert remedies(objects, load(objects), decision, CycleOptions()) == ()
    decider, roots = prepared(load(objects), CycleOptions())
    assert [decider.fitting(each) for each in roots] == [None]


GPU = "nvidia.com/gpu"


def with_gpus(made, number):
    made["status"]["allocatable"][GPU] = str(number)
    return made


def gpu_pod(name, number, **spec):
    made = pod(name, cpu=1, **spec)
    made["spec"]["containers"][0]["resources"]["requests"][GPU] = str(number)
    return made


NO_GPUS = {
    "a tainted node has GPUs": [with_gpus(node("gpu-1", taints=[TAINT]), 8), node("cpu-1"), gpu_pod("big", 8)],
    "a node with another label has GPUs": [with_gpus(node("gpu-1"), 8), node("cpu-1", "r2"), gpu_pod("big", 8, nodeSelector={RACK: "r2"})],
    "a cordoned node has GPUs": [with_gpus(node("gpu-1", unschedulable=True), 8), node("cpu-1"), gpu_pod("big", 8)],
    "a node has too few GPUs": [with_gpus(node("gpu-1"), 4), node("cpu-1"), gpu_pod("big", 8)],
}


@pytest.mark.parametrize("objects", NO_GPUS.values(), ids=NO_GPUS)
def test_a_node_without_gpus_gets_none_where_other_nodes_have_them(objects):
    changes = helped(objects)
    assert changes
    assert not [each for each in changes if "cpu-1" in each]


def test_a_node_gets_gpus_where_no_node_has_any():
    assert "1 more node like cpu-1, but with 8 nvidia.com/gpu" in helped([with_gpus(node("cpu-1"), 0), gpu_pod("big", 8)])
