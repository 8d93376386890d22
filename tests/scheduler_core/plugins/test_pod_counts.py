"""Equal pods that are assumed together: counted by node at once, and by their labels when a selector needs it.

And owners of anti-affinity terms: counted for all terms that select a pod.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.model.workload_selectors import equalities
from scheduler_core.plugins import pod_counts
from scheduler_core.plugins.affinity_terms import Term
from scheduler_core.plugins.pod_counts import PodCounts, PostponedPods
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from scheduler_core.plugins.topology_counts import NodeTally, PodDifference, PodSet
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


def repelling(name: str, app: str, others: str, key: str):
    """Return a pod that allows none of *others* in its domain of *key*."""
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [*others]}]}
    terms = [{"labelSelector": selector, "topologyKey": key}]
    return pod(name, labels={"app": app}, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def test_owners_of_many_terms_are_counted_as_of_each_term(monkeypatch):
    """Pods come, go and become known in any order, and more of them change than are remembered."""
    monkeypatch.setattr(pod_counts, "_CHANGES", 6)
    met = 0
    for seed in range(sampled(150)):
        chance = random.Random(seed)
        racks = [{"rack": chance.choice("xy")} if chance.random() < 0.8 else {} for _ in range(4)]
        objects = [node(f"n{number}", **labels) for number, labels in enumerate(racks)]
        for number in range(10):
            others = "".join(chance.sample("abc", chance.randint(1, 2)))
            objects.append(repelling(f"p{number}", chance.choice("abc"), others, chance.choice(["rack", "kubernetes.io/hostname"])))
        snapshot = load(objects)
        counts, placed = PodCounts(snapshot.nodes, {}), {}
        for _ in range(40):
            each = chance.choice(snapshot.pods)
            if each in placed:
                counts.count(each, placed.pop(each), -1)
            elif chance.random() < 0.5:
                placed[each] = chance.randrange(4)
                counts.count(each, placed[each])
            else:
                several = [(other, chance.randrange(4)) for other in snapshot.pods if other not in placed and chance.random() < 0.3]
                counts.count_all(several, 1)
                placed |= dict(several)
            crowd = counts.kind(chance.choice(snapshot.pods)).crowd
            found, nodes = counts.forbidden(crowd), snapshot.nodes.everything
            claims = counts.forbidding(crowd)
            want = [not any(claim.owners.counts_at(nodes)[number] for claim in claims) for number in range(4)]
            assert want == ([True] * 4 if found is None else found.allow(nodes).tolist()), seed
            assert (not all(want)) == (found is not None and found.any())
            met += not all(want)
    assert met > 10 * sampled(150)


@pytest.mark.parametrize("order", [1, -1])
def test_pods_belong_to_all_sets_of_a_count(order):
    """One set is of one namespace, the other of all."""
    pods = [pod(f"p{number}", labels=labels) for number, labels in enumerate([{"app": "a"}, {"app": "a", "tier": "b"}, {"tier": "b"}])]
    snapshot = load([node("n"), *pods])
    counts = PodCounts(snapshot.nodes, {})
    counts.count_all([(each, 0) for each in snapshot.pods], 1)
    sets = [clauses({"app": "a"}), PodSet(frozenset(), (), equalities({"tier": "b"}))][::order]

    assert {0: 1} == counts.watch("both", NodeTally(np.zeros(1, dtype=np.int32)), sets, living=False).by_node


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("others", [None, ()], ids=["one namespace", "all namespaces"])
def test_pods_without_those_of_one_value(exists, others):
    """The count for a term that leaves out one value of a label is that of all its pods, whether they come before or after it."""
    out = [SelectorClause("app", "Exists")] * exists + [SelectorClause("app", "NotIn", frozenset("a")), SelectorClause("tier", "Exists")]
    term = Term("rack", PodSet(frozenset({"default"}) if others is None else frozenset(), others, tuple(out)))
    labels = [{key: value for key in ("app", "tier") if (value := chance) != "-"} for chance in "ab-"]
    labels += [{"app": "a", "tier": "b"}, {"app": "b", "tier": "b"}, {"tier": "b"}]
    snapshot = load([node("n0", rack="x"), node("n1", rack="y"), *(pod(f"p{number}", labels=each) for number, each in enumerate(labels))])
    counts = PodCounts(snapshot.nodes, {})
    placed = [(each, number % 2) for number, each in enumerate(snapshot.pods)]
    counts.count_all(placed[::2], 1)
    found = counts.selected(term)
    counts.count_all(placed[1::2], 1)

    want = [sum(term.pods.has(each.namespace, each.labels) and node == at for each, node in placed) for at in range(2)]
    assert isinstance(found, PodDifference)
    assert want == found.counts_at(snapshot.nodes.everything).tolist()
    assert sum(want)


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
