"""Topology spread on random small clusters: scores are those of a naive implementation, and the fast path places as pod by pod."""

from __future__ import annotations

import random

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import assigned
from scheduler_core.placement.placement_request import Signatures
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.cluster.scheduler_configs import configuration, valid_profile
from tests.sampling import every, sampled
from tests.scheduler_core import naive_spread
from tests.scheduler_core.spread_clusters import cluster

Placed = list[tuple[str, str, list[tuple[str, int]]]]


def results(snapshot: ClusterSnapshot, signatures: Signatures | None = None) -> tuple[Placed, int]:
    """Return the result of each root, and the number of roots with topology spread whose results can be cached."""
    state = PlacementState.from_snapshot(snapshot, CycleOptions().placing)
    greedy, found, fast = Greedy(state, signatures), [], 0
    for root in run_cycle.queued(snapshot, CycleOptions()):
        request = greedy.request(root)
        outcome = greedy.place(request)
        fast += request.memorable and bool(request.counts)
        pods = assigned(request, outcome) if outcome.success else []
        found.append((str(root.name), f"{outcome.status} {outcome.reason}", [(pod.key, node) for pod, node in pods]))
        if outcome.success:
            greedy.assume(request, outcome)
        state.ledger.forget()
        state.stateful.forget()
    return found, fast


def test_the_fast_path_places_as_pod_by_pod():
    total, seeds = 0, every(20, range(1000))
    for seed in seeds:
        snapshot = load(cluster(random.Random(seed)))
        found, fast = results(snapshot)
        assert results(snapshot, Signatures(lambda _: True, one_by_one=True))[0] == found, seed
        total += fast
    assert total > len(seeds)


def test_the_fast_path_places_as_pod_by_pod_with_any_profile():
    total, seeds = 0, every(20, range(500))
    for seed in seeds:
        chance = random.Random(seed)
        profile = valid_profile(chance, "default-scheduler")
        weight = chance.choice((1, 3, 2**31 - 1))
        profile["plugins"]["score"]["enabled"].append({"name": "PodTopologySpread", "weight": weight})
        if chance.random() < 0.5:
            effects = chance.sample(("ScheduleAnyway", "DoNotSchedule"), chance.randint(0, 2))
            listed = [{"maxSkew": chance.randint(1, 3), "topologyKey": "rack", "whenUnsatisfiable": each} for each in effects]
            args = {"defaultingType": "List", "defaultConstraints": listed}
            profile["pluginConfig"].append({"name": "PodTopologySpread", "args": args})
        snapshot = load([*cluster(chance), configuration(profile)])
        assert snapshot.profiles.by_name, snapshot.problems
        found, fast = results(snapshot)
        assert results(snapshot, Signatures(lambda _: True, one_by_one=True))[0] == found, seed
        total += fast
    assert total > len(seeds) // 2


def test_scores_are_those_of_a_naive_implementation():
    compared = 0
    for seed in range(sampled(500, share=10)):
        chance = random.Random(seed)
        objects = cluster(chance)
        snapshot = load(objects)
        known = StatefulPlugins(snapshot)
        pods = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Pod"}
        nodes = [each for each in objects if each["kind"] == "Node"]
        where = {record.name: snapshot.nodes.names[record.node] for record in snapshot.pods if record.node >= 0}
        for record in [each for each in snapshot.pods if each.node < 0][:8]:
            feasible = snapshot.nodes.everything[[chance.random() < 0.7 for _ in nodes]]
            names = [snapshot.nodes.names[node] for node in feasible.tolist()]
            if known.scores(record):
                (plugin,) = (each for each in known.plugins if isinstance(each, PodTopologySpread))
                want = naive_spread.scores(pods[record.name], nodes, names, where, objects)
                assert [want[name] for name in names] == plugin.normalise(plugin.score(record, feasible)).tolist(), (seed, record.name)
                compared += 1
            node = chance.randrange(len(nodes))
            known.assume(record, node)
            where[record.name] = snapshot.nodes.names[node]
    assert compared > sampled(500, share=10)


@pytest.mark.parametrize("seed", range(5))
def test_what_was_assumed_together_is_undone(seed):
    snapshot = load(cluster(random.Random(seed)))
    state = PlacementState.from_snapshot(snapshot, CycleOptions().placing)
    greedy = Greedy(state)
    roots = run_cycle.queued(snapshot, CycleOptions())
    requests = [greedy.request(root) for root in roots]
    before = [request.versions for request in requests]
    mark, counted = state.ledger.mark(), state.stateful.mark()
    first = [greedy.place(request) for request in requests]
    for request in requests:
        outcome = greedy.place(request)
        if outcome.success:
            greedy.assume(request, outcome)
    state.ledger.rewind(mark)
    state.stateful.rewind(counted)

    assert before == [request.versions for request in requests]
    second = [greedy.place(request) for request in requests]
    for request, one, two in zip(requests, first, second, strict=True):
        assert (one.status, one.reason) == (two.status, two.reason)
        assert assigned(request, one) == assigned(request, two)
