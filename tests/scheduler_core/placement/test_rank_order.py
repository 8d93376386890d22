"""Rank order: the nodes of a group stay the same, and consecutive pods are neighbours as often as any order allows."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import HOST, RACK, ZONE, Json, composite, leaf, node, placed, pod, promising

JOB_INDEX = "batch.kubernetes.io/job-completion-index"
LEVELS = (ZONE, RACK)


def job_pod(index: int, group: str = "g", name: str = "", **more: Any) -> Json:
    return pod(name or f"{group}-{index}", group, labels={JOB_INDEX: str(index), "batch.kubernetes.io/job-name": group}, **more)


def decide(objects: list[Json], *, on: bool = True, strategy: str = "complete") -> Decision:
    (decision,) = run_cycle(load(objects), CycleOptions(strategy=strategy, rank_order=on)).decisions
    return decision


def small_cluster(seed: int) -> tuple[list[Json], int]:
    """Return nodes of one or two zones with racks, some nodes without labels, and the number of pods of one CPU that they hold."""
    draw = random.Random(seed)
    nodes, slots = [], 0
    for number in range(draw.randint(2, 5)):
        zone = draw.choice("ab")
        labels = {ZONE: zone, RACK: f"{zone}{draw.randint(1, 2)}"}
        for key in LEVELS:
            if draw.random() < 0.15:
                del labels[key]
        cpus = draw.randint(1, 3)
        nodes.append(node(f"n{draw.randint(0, 99):02}-{number}", str(cpus), **labels))
        slots += cpus
    return nodes, slots


def domains(nodes: list[Json], decision: Decision) -> dict[str, list[tuple[str, ...]]]:
    """Return the domain of each node on each level of the report; a domain is inside one of the level before."""
    (ranked,) = decision.ranks
    keys = [each.key for each in ranked.levels]
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}
    return {name: [tuple(of.get(key, "") for key in keys[:number]) for number in range(1, len(keys) + 1)] for name, of in labels.items()}


def apart(places: list[str], of: dict[str, list[tuple[str, ...]]]) -> tuple[int, ...]:
    """Return how many consecutive nodes are in different domains of each level."""
    pairs = [*itertools.pairwise(places)]
    return tuple(sum(of[one][level] != of[other][level] for one, other in pairs) for level in range(len(next(iter(of.values())))))


def least(places: list[str], of: dict[str, list[tuple[str, ...]]], *, before: list[str], after: list[str]) -> tuple[int, ...]:
    """Return the minimum of each level over all orders of *places*, each level for itself."""
    orders = set(itertools.permutations(places))
    return tuple(map(min, zip(*(apart([*before, *order, *after], of) for order in orders), strict=True)))


def in_order(decision: Decision, count: int) -> list[str]:
    nodes = placed(decision)
    return [nodes[f"g-{index}"] for index in range(count)]


@pytest.mark.parametrize("seed", range(sampled(300, least=60)))
def test_no_order_has_fewer_pairs_apart_on_any_level(seed: int) -> None:
    nodes, slots = small_cluster(seed)
    count = min(slots, 6)
    objects = [*nodes, leaf("g", count), *(job_pod(index) for index in range(count))]
    before = sorted(placed(decide(objects, on=False)).values())

    decision = decide(objects)
    places, of = in_order(decision, count), domains(nodes, decision)

    assert before == sorted(places)
    assert apart(places, of) == tuple(each.apart for each in decision.ranks[0].levels)
    assert least(places, of, before=[], after=[]) == apart(places, of)


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("seed", range(sampled(150, least=30)))
def test_the_order_begins_or_ends_at_a_running_neighbour(seed: int, end: str) -> None:
    nodes, slots = small_cluster(seed)
    count = max(min(slots, 6), 3)
    running, indexes = (0, range(1, count)) if end == "first" else (count - 1, range(count - 1))
    on = random.Random(seed).choice(nodes)["metadata"]["name"]
    objects = [*nodes, leaf("g", count), job_pod(running, on=on), *(job_pod(index) for index in indexes)]
    decision = decide(objects)
    of = domains(nodes, decision)

    assigned = placed(decision)
    places = [assigned[f"g-{index}"] for index in indexes]
    before, after = ([on], []) if end == "first" else ([], [on])

    assert least(places, of, before=before, after=after) == apart([*before, *places, *after], of)


def two_racks(*, each: int = 2) -> list[Json]:
    """Return two racks whose nodes greedy placement takes in turn."""
    return [node(f"n{number}", "1", rack=f"r{number % 2}") for number in range(2 * each)]


def alternating() -> list[Json]:
    return [*two_racks(), leaf("g", 4), *(job_pod(index) for index in range(4))]


def racks_of(decision: Decision, count: int = 4) -> list[str]:
    return [f"r{int(name[1:]) % 2}" for name in in_order(decision, count)]


def test_greedy_and_off_never_exchange_nodes() -> None:
    assert ["r0", "r1", "r0", "r1"] == racks_of(decide(alternating(), strategy="greedy"))
    assert ["r0", "r1", "r0", "r1"] == racks_of(decide(alternating(), on=False))
    assert () == decide(alternating(), on=False).ranks
    assert () == decide(alternating(), strategy="greedy").ranks


def test_consecutive_pods_share_racks_and_the_order_is_reported() -> None:
    decision = decide(alternating())
    (ranked,) = decision.ranks

    assert ["r0", "r0", "r1", "r1"] == racks_of(decision)
    assert ("g", 4) == (ranked.group.name, ranked.pods)
    assert [(RACK, 2, 1), (HOST, 4, 3)] == [(each.key, each.domains, each.apart) for each in ranked.levels]


def test_indexes_are_numbers() -> None:
    """As text, 10 is before 2."""
    nodes = two_racks(each=6)
    decision = decide([*nodes, leaf("g", 12), *(job_pod(index) for index in range(12))])
    assert ["r0"] * 6 + ["r1"] * 6 == racks_of(decision, 12)


SCHEMES = [
    pytest.param(lambda n: {"apps.kubernetes.io/pod-index": str(n)}, id="StatefulSet"),
    pytest.param(lambda n: {JOB_INDEX: str(n)}, id="Job"),
    pytest.param(lambda n: {"jobset.sigs.k8s.io/job-global-index": str(n // 2), JOB_INDEX: str(n % 2)}, id="JobSet"),
    pytest.param(lambda n: {"jobset.sigs.k8s.io/job-index": str(n // 2), JOB_INDEX: str(n % 2)}, id="JobSet without global index"),
    pytest.param(
        lambda n: {
            "leaderworkerset.sigs.k8s.io/group-index": str(n // 2),
            "leaderworkerset.sigs.k8s.io/worker-index": str(n % 2),
            "apps.kubernetes.io/pod-index": str(n % 2),
        },
        id="LeaderWorkerSet",
    ),
    pytest.param(
        lambda n: {
            "training.kubeflow.org/replica-type": "worker" if n else "master",
            "training.kubeflow.org/replica-index": str(max(n - 1, 0)),
        },
        id="training job",
    ),
    pytest.param(lambda n: {"volcano.sh/task-spec": "a" if n < 2 else "b", "volcano.sh/task-index": str(n % 2)}, id="Volcano"),
    pytest.param(lambda n: {"grove.io/podcliqueset-replica-index": str(n // 2), "grove.io/podclique-pod-index": str(n % 2)}, id="Grove"),
    pytest.param(
        lambda n: {
            "grove.io/podcliqueset-replica-index": "0",
            "grove.io/podcliquescalinggroup-replica-index": str(n // 2),
            "grove.io/podclique-pod-index": str(n % 2),
        },
        id="Grove scaling group",
    ),
    pytest.param(lambda n: {"ray.io/worker-group-replica-index": str(n // 2), "ray.io/replica-host-index": str(n % 2)}, id="Ray hosts"),
    pytest.param(lambda n: {"ray.io/worker-group-replica-index": str(n)}, id="Ray replicas"),
]


@pytest.mark.parametrize("labels", SCHEMES)
def test_indexes_of_each_controller(labels: Any) -> None:
    objects = [*two_racks(), leaf("g", 4), *(pod(f"g-{number}", "g", labels=labels(number)) for number in range(4))]
    assert ["r0", "r0", "r1", "r1"] == racks_of(decide(objects))


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "١", "9" * 19])  # noqa: RUF001 - a digit of another script
def test_a_label_that_is_no_index_gives_no_rank(text: str) -> None:
    objects = alternating()
    for each in objects:
        if each["kind"] == "Pod":
            each["metadata"]["labels"] = {JOB_INDEX: text}
    decision = decide(objects)
    assert ["r0", "r1", "r0", "r1"] == racks_of(decision)
    assert () == decision.ranks


def test_pods_of_different_shapes_keep_their_nodes() -> None:
    """Pods 0 and 2 select r0, 1 and 3 select r1: none of them could run on the node of another."""
    objects = [*two_racks(), leaf("g", 4), *(job_pod(index, nodeSelector={RACK: f"r{index % 2}"}) for index in range(4))]
    decision = decide(objects)
    (ranked,) = decision.ranks
    assert ["r0", "r1", "r0", "r1"] == racks_of(decision)
    assert 3 == ranked.levels[0].apart


def test_a_leader_of_another_shape_has_its_first_worker_in_its_rack() -> None:
    """The leader fits on a node of r1 only, so the workers begin there."""
    workers = [job_pod(index) for index in range(1, 4)]
    objects = [*two_racks(), leaf("g", 4), job_pod(0, nodeSelector={HOST: "n3"}), *workers]
    assert ["r1", "r1", "r0", "r0"] == racks_of(decide(objects))


def test_nominated_pods_keep_their_nodes() -> None:
    objects = [*two_racks(), leaf("g", 4), *(job_pod(index, nominated=f"n{index}") for index in range(4))]
    assert ["r0", "r1", "r0", "r1"] == racks_of(decide(objects))


def test_pods_that_a_selector_distinguishes_keep_their_nodes() -> None:
    """The running pod keeps pods with odd indexes off its node: pod 1 cannot exchange its node with pod 0."""
    selected = {"labelSelector": {"matchExpressions": [{"key": JOB_INDEX, "operator": "In", "values": ["1", "3"]}]}, "topologyKey": HOST}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selected]}}
    nodes = [node("n0", "3", rack="r0"), node("n1", "2", rack="r1")]
    watcher = pod("watcher", on="n0", cpu="0", affinity=terms)
    assigned = placed(decide([*nodes, watcher, leaf("g", 4), *(job_pod(index) for index in range(4))]))
    assert {"g-0": "n0", "g-1": "n1", "g-2": "n0", "g-3": "n1"} == assigned


def test_pods_apart_from_each_other_exchange_nodes() -> None:
    """The usual anti-affinity, one pod of a Job on a node, does not distinguish the pods."""
    term = {"labelSelector": {"matchLabels": {"batch.kubernetes.io/job-name": "g"}}, "topologyKey": HOST}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = [*two_racks(), leaf("g", 4), *(job_pod(index, affinity=affinity) for index in range(4))]
    assert ["r0", "r0", "r1", "r1"] == racks_of(decide(objects))


def test_pods_with_the_last_indexes_have_no_node() -> None:
    """By name, g-10 is before g-2."""
    decision = decide([*two_racks(), leaf("g", 2), *(job_pod(index) for index in range(12))])
    assert Status.SUCCESS is decision.status
    assert {"g-0", "g-1", "g-2", "g-3"} == set(placed(decision))
    assert {f"default/g-{index}" for index in range(4, 12)} == set(decision.pending)


def test_each_group_of_a_tree_keeps_its_nodes() -> None:
    groups = [leaf(name, 2, parent="tree") for name in ("a", "b")]
    members = [job_pod(index, group) for group in ("a", "b") for index in range(4)]
    objects = [*two_racks(each=4), composite("tree", 2), *groups, *members]
    on, off = placed(decide(objects)), placed(decide(objects, on=False))
    for group in ("a", "b"):
        names = [f"{group}-{index}" for index in range(4)]
        assert sorted(off[name] for name in names) == sorted(on[name] for name in names)
        racks = [int(on[name][1:]) % 2 for name in names]
        assert 1 >= sum(one != other for one, other in itertools.pairwise(racks))


def test_pods_between_many_running_ones_get_all_their_nodes() -> None:
    """More gaps than are considered one by one."""
    nodes = [node(f"n{number:03}", "1", rack=f"r{number % 4}") for number in range(140)]
    running = [job_pod(index, on=f"n{index:03}") for index in range(0, 140, 2)]
    objects = [*nodes, leaf("g", 2), *running, *(job_pod(index) for index in range(1, 140, 2))]
    assert {f"n{number:03}" for number in range(1, 140, 2)} == set(placed(decide(objects)).values())


def by_group(decision: Decision, group_of: dict[str, str]) -> Counter[tuple[str, str]]:
    return Counter((group_of[pod], name) for pod, name in decision.assignments.items())


@settings(max_examples=sampled(200), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(promising(apart=True))
def test_in_any_cluster_only_pods_of_one_group_exchange_nodes(objects: list[Json]) -> None:
    members = [each for each in objects if each["kind"] == "Pod"]
    for number, each in enumerate(members):
        each["metadata"].setdefault("labels", {})[JOB_INDEX] = str(number * 7 % 11)
    named = {f"default/{each['metadata']['name']}": (each["spec"].get("schedulingGroup") or {}).get("podGroupName", "") for each in members}
    snapshot = load(objects)
    on, off = (run_cycle(snapshot, CycleOptions(strategy="complete", rank_order=order)).decisions for order in (True, False))

    for one, other in zip(on, off, strict=True):
        assert (one.root, one.status, one.search, one.victims) == (other.root, other.status, other.search, other.victims)
        assert by_group(one, named) == by_group(other, named)
