"""Equal pods with soft topology spread: the forecast of many pods gives the order of one pod after the other."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.placement import domain_cache, equal_pods_by_domain
from scheduler_core.placement.placement_request import Signatures
from scheduler_core.placement.soft_spread import fill_spread, forecast
from scheduler_core.placement.soft_spread.forecast import Forecast
from tests.cluster.scheduler_configs import configuration
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, node, pod
from tests.scheduler_core.spread_clusters import HOSTNAME, ZONE, cluster
from tests.scheduler_core.test_spread_agreement import results

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}


@pytest.fixture
def foreseen(monkeypatch):
    """Return a counter of the pods that were foreseen."""
    counted: Counter[str] = Counter()
    take = Forecast.place_foreseen

    def counting(self: Forecast, count: int) -> list[int]:
        found = take(self, count)
        counted["pods"] += len(found)
        counted["calls"] += 1
        return found

    monkeypatch.setattr(Forecast, "place_foreseen", counting)
    return counted


def one_after_the_other(monkeypatch, objects: list[Json]):
    with monkeypatch.context() as patch:
        patch.setattr(Forecast, "place_foreseen", lambda _, __: [])
        return results(load(objects))


def gang(count: int, **more) -> list[Json]:
    pods = [pod(f"g-{number:04}", "g", **more) for number in range(count)]
    for each in pods:
        each["metadata"]["labels"] = {"app": "a"}
    return [leaf("g", count), *pods, SERVICE]


def test_few_pods_of_random_clusters(monkeypatch, foreseen):
    for module in (forecast, fill_spread):
        monkeypatch.setattr(module, "LEAST", 2)
    for seed in range(sampled(1000, share=10)):
        objects = cluster(random.Random(seed))
        assert results(load(objects)) == one_after_the_other(monkeypatch, objects), seed
    assert foreseen["pods"] > sampled(1000, share=10) // 2


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_many_pods(monkeypatch, foreseen, alike, full):
    """With *full*, each pod fills its node, which changes the weight of the spread over nodes."""
    for seed in range(sampled(40, least=4, share=10)):
        chance = random.Random(seed)
        zones, count = chance.randint(1, 6), chance.randint(130, 300)
        objects: list[Json] = []
        for number in range(count):
            name, there = f"n{number:04}", chance.randint(0, 3)
            labels = {HOSTNAME: name, ZONE: f"z{number % zones}"}
            objects.append(node(name, "64", "64Gi", pods=there + 1 if full else 110, **labels))
            running = [pod(f"x-{number}-{each}", cpu="1m" if alike else f"{chance.randint(1, 90)}00m", on=name) for each in range(there)]
            for each in running:
                each["metadata"]["labels"] = {"app": chance.choice("ab")}
            objects += running
        objects += gang(chance.randint(128, count) if alike else 128, cpu="100m")
        assert results(load(objects)) == one_after_the_other(monkeypatch, objects), seed
    assert foreseen["calls"]
    assert foreseen["pods"] or not alike


def test_pods_on_equal_nodes_are_foreseen_in_one_step(foreseen):
    nodes = [node(f"n{number:04}", "64", "64Gi", **{HOSTNAME: f"n{number:04}", ZONE: f"z{number % 5}"}) for number in range(300)]
    results(load([*nodes, *gang(250, cpu="100m")]))

    assert {"pods": 250, "calls": 1} == dict(foreseen)


def jobs(chance: random.Random) -> list[Json]:
    """Return nodes in racks, and gangs of few kinds, most with a Service of their own, so that no constraint counts a pod before them."""
    racks, zones = chance.randint(1, 3), chance.choice((1, 1, 2, 4))
    objects: list[Json] = []
    for number in range(chance.randint(2, 14)):
        labels = {ZONE: f"z{number % zones}", "rack": f"r{number % racks}"}
        objects.append(node(f"n{number:02}", str(chance.choice((4, 8, 9))), "16Gi", pods=chance.choice((3, 4, 110, 110)), **labels))
        for each in range(chance.choice((0, 1, 2))):
            running = pod(f"r{number}-{each}", cpu=f"{chance.randint(1, 15)}00m", memory=f"{chance.randint(1, 50)}00Mi", on=f"n{number:02}")
            running["metadata"]["labels"] = {"app": chance.choice(("none", "none", "none", "g1"))}
            objects.append(running)
    kinds = [(chance.randint(1, 5), chance.choice(("500m", "1")), chance.choice(("rack", "rack", ""))) for _ in range(2)]
    for number in range(chance.randint(2, 10)):
        name, (count, cpu, key) = f"g{number}", chance.choice(kinds)
        pods = [pod(f"{name}-{each}", name, cpu=cpu) for each in range(count)]
        if chance.random() < 0.2:
            pods[-1] = pod(f"{name}-{count - 1}", name, cpu="250m")
        for each in pods:
            each["metadata"]["labels"] = {"app": name}
        objects += [leaf(name, max(1, count - 1), key=key), *pods]
        if chance.random() < 0.9:
            objects.append({**SERVICE, "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": {"app": name}}})
    return objects


def counted_calls(monkeypatch, *places) -> Counter[str]:
    """Return a counter of the calls of functions, given with their modules or classes, and of those that return None."""
    used: Counter[str] = Counter()

    def counting(name, call):
        def called(*arguments):
            found = call(*arguments)
            used.update([name] if found is not None else [name, f"{name} gave up"])
            return found

        return called

    for place, name in places:
        monkeypatch.setattr(place, name, counting(name, getattr(place, name)))
    return used


def test_the_first_pods_of_a_service_are_placed_as_pod_by_pod(monkeypatch):
    """How many pods fit in a rack often follows from the last gang there."""
    places = (fill_spread, "first_pods"), (domain_cache.DomainCache, "_count_again"), (equal_pods_by_domain, "count_in_domain")
    used = counted_calls(monkeypatch, *places)
    seeds = range(sampled(700, share=10))
    for seed in seeds:
        snapshot = load(jobs(random.Random(seed)))
        assert results(snapshot)[0] == results(snapshot, Signatures(lambda _: True, one_by_one=True))[0], seed
    assert used["first_pods"] - used["first_pods gave up"] > len(seeds)
    assert used["first_pods gave up"] > len(seeds) // 10
    assert used["_count_again"] - used["count_in_domain"] > len(seeds) // 5
    assert used["count_in_domain"] > len(seeds) // 10


def test_the_first_pods_of_a_service_are_placed_as_pod_by_pod_with_any_weights(monkeypatch):
    used = counted_calls(monkeypatch, (fill_spread, "first_pods"))
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    seeds = range(sampled(2000, share=20))
    for seed in seeds:
        chance = random.Random(seed)
        strategy = {"type": chance.choice(("LeastAllocated", "MostAllocated")), "resources": resources}
        weights = [
            {"name": "NodeResourcesFit", "weight": chance.choice((1, 3, 9))},
            {"name": "PodTopologySpread", "weight": chance.choice((1, 2, 3))},
        ]
        args = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
        snapshot = load([*jobs(chance), configuration({"plugins": {"score": {"enabled": weights}}, "pluginConfig": args})])
        assert snapshot.profiles.by_name, snapshot.problems
        assert results(snapshot)[0] == results(snapshot, Signatures(lambda _: True, one_by_one=True))[0], seed
    assert used["first_pods"] - used["first_pods gave up"] > len(seeds)
    assert used["first_pods gave up"] > len(seeds) // 2


def test_pods_before_a_node_that_was_preferred_most_is_full_are_counted(monkeypatch):
    """Once that node is full, other scores are normalised anew, and the pods that are left are placed on top of those before."""
    used = counted_calls(monkeypatch, (fill_spread, "with_pods"))
    seeds = range(sampled(400, share=10))
    for seed in seeds:
        chance = random.Random(seed)
        preference = [{"weight": 9, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]
        affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preference}}
        objects = gang(chance.randint(4, 10), cpu="100m", affinity=affinity)
        for number in range(8):
            disk = {"disk": "ssd"} if number < 2 else {}
            objects.append(node(f"n{number}", "8", "16Gi", pods=chance.choice((1, 2, 4)), **{ZONE: f"z{chance.randrange(3)}"}, **disk))
        snapshot = load(objects)
        assert results(snapshot)[0] == results(snapshot, Signatures(lambda _: True, one_by_one=True))[0], seed
    assert used["with_pods"] > len(seeds) // 2
