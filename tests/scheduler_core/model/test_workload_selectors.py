"""The default selector of a pod, compared with a look at every Service."""

from __future__ import annotations

import random

from scheduler_core.cluster.load import load
from scheduler_core.model.workload_selectors import DefaultSelectors, WorkloadSelectors, equalities
from tests.scheduler_core.builders import node, pod

KEYS = ("app", "job", "tier")


def labels(chance: random.Random, share: float) -> dict[str, str]:
    return {key: chance.choice("abc") for key in KEYS if chance.random() < share}


def test_services_that_select_a_pod():
    selected = 0
    for seed in range(200):
        chance = random.Random(seed)
        services = {f"s{number}": labels(chance, 0.5) or {"app": "a"} for number in range(chance.randint(0, 8))}
        objects = [node("n"), pod("p")]
        objects[1]["metadata"]["labels"] = labels(chance, 0.7)
        (record,) = load(objects).pods
        want: dict[str, str] = {}
        for name in sorted(services):
            if services[name].items() <= record.labels.items():
                want |= services[name]

        assert equalities(want) == DefaultSelectors(WorkloadSelectors({"default": services})).of_pod(record), seed
        selected += bool(want)
    assert selected > 50
