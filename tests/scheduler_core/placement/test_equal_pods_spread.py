"""Equal pods with soft topology spread: the forecast of many pods gives the order of one pod after the other."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from scheduler_core.loading.load import load
from scheduler_core.placement import equal_pods_spread, spread_forecast
from scheduler_core.placement.spread_forecast import Forecast
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
    for module in (spread_forecast, equal_pods_spread):
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
