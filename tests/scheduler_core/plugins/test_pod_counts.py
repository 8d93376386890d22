"""Equal pods that are assumed together: counted by node at once, and by their labels when a selector needs it."""

from __future__ import annotations

import random

from scheduler_core.cluster.load import load
from scheduler_core.model.workload_selectors import equalities
from scheduler_core.plugins.pod_counts import PodCounts, PostponedPods
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from scheduler_core.plugins.topology_counts import PodSet
from tests.sampling import sampled
from tests.scheduler_core.builders import node, pod
from tests.scheduler_core.plugins.test_spread_score import service

KEYS = ("app", "job", "tier")


def clauses(labels):
    return PodSet(frozenset({"default"}), None, equalities(labels))


def test_a_selector_that_is_registered_later_counts_the_pods():
    """Gangs are assumed, undone and selected in any order; the counts are those of a plain sum."""
    postponed = 0
    for seed in range(sampled(200)):
        chance = random.Random(seed)
        objects = [node(f"n{number}") for number in range(5)]
        gangs = [{key: chance.choice("ab") for key in KEYS if chance.random() < 0.7} for _ in range(6)]
        for number, labels in enumerate(gangs):
            for member in range(3):
                objects.append(pod(f"g{number}-{member}"))
                objects[-1]["metadata"]["labels"] = {**labels, "index": f"{number}-{member}"}
        snapshot = load([*objects, service("s", {"app": "a"})])
        stateful = StatefulPlugins(snapshot)
        pods = [[each for each in snapshot.pods if each.name.startswith(f"g{number}-")] for number in range(6)]
        stateful.spread_kinds([each for same in pods for each in same])
        assumed: list[list[tuple[object, int]]] = []
        for step in range(12):
            if not stateful.active:
                break
            counts = stateful._active.counts
            if assumed and chance.random() < 0.3:
                assumed.pop()
                stateful.rewind(stateful.mark() - 1)
            elif chance.random() < 0.5 and (left := [same for same in pods if all(same[0] is not each[0][0] for each in assumed)]):
                assumed.append([(each, chance.randrange(5)) for each in chance.choice(left)])
                stateful.assume_all(assumed[-1], step)
                postponed += len(counts._postponed._batches)
            wanted = {key: chance.choice("ab") for key in chance.sample(KEYS, chance.randint(1, 2))}
            want: dict[int, int] = {}
            for each, where in (pair for batch in assumed for pair in batch):
                if all(each.labels.get(key) == value for key, value in wanted.items()):
                    want[where] = want.get(where, 0) + 1
            assert want == counts.by_node(clauses(wanted)).by_node, (seed, step)
    assert postponed > sampled(200) // 4


def test_the_keys_of_a_count_are_known_in_each_of_its_namespaces():
    counts = PodCounts(load([node("n")]).nodes, {})
    counts.by_node(PodSet(frozenset({"default", "other"}), None, equalities({"app": "a", "tier": "b"})))

    assert [{"app", "tier"}, {"app", "tier"}, set()] == [set(counts.keys_by_node(each)) for each in ("default", "other", "third")]


def test_only_batches_with_the_label_are_taken():
    (one, two) = load([node("n"), pod("one", labels={"job": "1"}), pod("two", labels={"job": "2"})]).pods
    postponed = PostponedPods()
    first, second, third = (postponed.add([(each, 0)]) for each in (one, two, one))

    assert [] == list(postponed.remove_labelled("job", "3"))
    assert [(one, 0)] == postponed.remove(third)
    assert [[(one, 0)]] == list(postponed.remove_labelled("job", "1"))
    assert () == postponed.remove(first)
    fourth = postponed.add([(one, 1)])
    assert second < fourth
    assert [[(two, 0)], [(one, 1)]] == list(postponed.remove_labelled())
    assert [] == list(postponed.remove_labelled("job", "1"))
