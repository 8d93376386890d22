"""The exact oracle compared with exhaustive search, with planted placements, and with the greedy strategy."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given

from scheduler_core.model.status import Status
from tests.sampling import every
from tests.scheduler_core.cp_sat import corpus, judge, model, program, victims
from tests.scheduler_core.cp_sat.raw import SIZE
from tests.scheduler_core.cp_sat.runs import SEEDS, batches, decide, decide_first, drawn, feasible, fewest_victims, slowly
from tests.scheduler_core.oracle import brute
from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.model import Objects, read
from tests.scheduler_core.oracle.strategies import TINY, clusters


def kind_of(name: str, objects: Objects) -> str:
    return str(next(each["kind"] for each in objects if each["kind"].endswith("Group") and each["metadata"]["name"] == name))


@slowly
@given(clusters(TINY))
def test_there_is_a_placement_where_trying_everything_finds_one(objects):
    for name, result in model.placements(objects).items():
        assert (brute.placement(objects, kind_of(name, objects), name) is not None) == (result is not None)
        assert [] == brute.violations(objects, result or {})


def largest(objects: Objects, name: str) -> int:
    """Return the largest number of pods of any valid assignment, by exhaustive search."""
    cluster = read(objects)
    root = cluster.groups[kind_of(name, objects), "default", name]
    running = set(cluster.where)
    result = 0
    for _ in brute._assigned(queued(root, cluster), cluster):
        new = cluster.where.keys() - running
        if len(new) > result and not any(brute._unmet(group, cluster) for key in new for group in brute._above(cluster.pods[key], cluster)):
            result = len(new)
    return result


@slowly
@given(clusters(TINY))
def test_no_placement_is_larger_than_the_largest(objects):
    for name, most in model.most_pods(objects).items():
        assert largest(objects, name) == most


def least(objects: Objects, name: str) -> tuple[int, ...] | None:
    """Return the lowest cost of preemption, by trying all sets of units."""
    cluster = read(objects)
    below = victims.candidates(cluster, cluster.groups[kind_of(name, objects), "default", name])
    result = []
    for chosen in itertools.chain.from_iterable(itertools.combinations(below, size) for size in range(len(below) + 1)):
        removed = {pod.key for unit in chosen for pod in unit.pods}
        if brute.placement(judge.without(objects, removed), kind_of(name, objects), name):
            result.append(victims.cost(list(chosen), below, cluster.budgets))
    return min(result, default=None)


@slowly
@given(clusters(TINY))
def test_nobody_else_can_stay_where_the_fewest_leave(objects):
    for name, fewest in model.fewest_victims(objects).items():
        assert least(objects, name) == (None if fewest is None else fewest.cost)


@slowly
@given(clusters())
def test_greedy_beats_the_truth_on_no_small_cluster(objects):
    for name, possible in model.feasible(objects).items():
        assert [] == judge.placing(decide_first(name, objects, "greedy"), objects, feasible=possible)


def test_the_solver_says_so_where_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(program, "PATIENCE", 0.0)

    with pytest.raises(program.Undecided):
        model.feasible(corpus.instance(0, corpus.Make(shapes=3)))


@batches(share=2)
def test_what_is_planted_is_found_and_greedy_never_beats_the_truth(seeds):
    messages = []
    for case in drawn(seeds):
        result = model.placements(case.objects)["t"]
        messages += [f"{case.seed}: {line}" for line in brute.violations(case.objects, result or {})]
        if case.make.planted and result is None:
            messages.append(f"{case.seed}: the planted placement is not found")
        decision = decide(case.objects, "greedy")
        messages += [f"{case.seed}: {line}" for line in judge.placing(decision, case.objects, feasible=result is not None)]

    assert [] == messages


@batches(share=6)
def test_who_leaves_in_greedy_is_never_less_than_the_least_and_none_of_it_in_vain(seeds):
    messages = []
    for seed in seeds:
        objects = corpus.crowded(seed)
        fewest = fewest_victims(corpus.crowded, seed)
        messages += [f"{seed}: {line}" for line in judge.evicting(decide(objects, "greedy"), objects, fewest)]
        removed_pods = judge.without(objects, fewest.victims if fewest else ())
        if model.feasible(removed_pods)["t"] != (fewest is not None):
            messages.append(f"{seed}: {fewest} does not help")

    assert [] == messages


def test_the_corpus_is_hard_for_greedy():
    flat = [decide(corpus.instance(seed, corpus.Make()), "greedy").status for seed in range(60)]

    assert flat.count(Status.SUCCESS) in range(20, 50)


def test_the_corpus_has_instances_with_and_without_a_placement():
    assert {True, False} == {feasible(seed) for seed in SEEDS[:30]}


def test_instances_are_the_same_each_time_and_differ_by_seed():
    make = corpus.drawn(7)

    assert corpus.instance(7, make) == corpus.instance(7, make)
    assert corpus.instance(7, make) != corpus.instance(8, make)


@pytest.mark.parametrize("slack", [0, 5, 10, 20])
@pytest.mark.parametrize("optional", [False, True])
def test_just_so_much_is_free_next_to_the_minimum(slack, optional):
    for seed in every(3, range(20)):
        objects = corpus.instance(seed, corpus.Make(slack=slack, optional=optional, depth=1 + seed % 4))
        minimum = sum(each["spec"]["schedulingPolicy"]["gang"].get("minCount", 0) for each in objects if each["kind"].endswith("Group"))
        capacity = free(objects)

        assert capacity == minimum + round(minimum * slack / (100 - slack))


def free(objects: Objects) -> int:
    """Return the number of smallest pods that fit."""
    cluster = read(objects)
    one = next(pod for pod in cluster.pods.values() if pod.group)
    return sum(
        min(
            (node.allocatable[name] - sum(pod.requests.get(name, 0) for pod in cluster.on(node.name))) // amount
            for name, amount in one.requests.items()
        )
        for node in cluster.nodes.values()
    )


@pytest.mark.parametrize(
    ("make", "holds"),
    [
        pytest.param(corpus.Make(depth=4), lambda levels, _: levels == 4, id="four levels"),
        pytest.param(corpus.Make(nodes=200), lambda _, each: sum(one["kind"] == "Node" for one in each) >= 200, id="200 nodes"),
        pytest.param(corpus.Make(pools=True, shapes=2), lambda _, each: any(one["spec"].get("nodeSelector") for one in each), id="pools"),
        pytest.param(
            corpus.Make(running=True),
            lambda _, each: any("schedulingGroup" in one["spec"] and "nodeName" in one["spec"] for one in each),
            id="members that run",
        ),
    ],
)
def test_an_instance_is_what_was_requested(make, holds):
    created = [corpus.instance(seed, make) for seed in range(3)]

    assert any(holds(depth(objects), objects) for objects in created)


def depth(objects: list[dict[str, Any]]) -> int:
    return max(group.depth() for group in read(objects).groups.values())


def test_running_pods_leave_no_node_with_less_than_nothing():
    for case in drawn(range(30)):
        cluster = read(case.objects)
        for node in cluster.nodes.values():
            for name in SIZE.keys() & node.allocatable.keys():
                assert sum(pod.requests.get(name, 0) for pod in cluster.on(node.name)) <= node.allocatable[name]
