"""The bound of pods without a node never exceeds what a cycle leaves, and is exact for equal pods that spread."""

from __future__ import annotations

import random

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.whatif.remedies.pod_bounds import PodBounds
from tests.sampling import every
from tests.scheduler_core.whatif.cluster import COMPLETE, RACK, ZONE, gang, node, pod

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
GREEDY = CycleOptions()


def spread(key: str, skew: int = 1, **fields):
    selector = {"matchLabels": {"app": "x"}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **fields}


def labelled(made, **labels):
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


def cluster(seed: int):
    """Return a random cluster, and the keys of its pods that are to be placed."""
    rng = random.Random(seed)
    objects = []
    for number in range(rng.randint(2, 7)):
        spec = {"taints": [TAINT]} if rng.random() < 0.2 else {}
        each = node(f"n{number}", f"r{rng.randint(1, 3)}", rng.choice((2, 4, 6)), **spec)
        each["metadata"]["labels"][ZONE] = f"z{rng.randint(1, 2)}"
        if rng.random() < 0.15:
            del each["metadata"]["labels"][rng.choice((ZONE, RACK))]
        objects.append(each)
        if rng.random() < 0.4:
            objects.append(labelled(pod(f"r{number}", on=f"n{number}", cpu=rng.choice((1, 2))), app=rng.choice("xy")))
    keys = rng.sample((ZONE, RACK, "kubernetes.io/hostname"), rng.randint(1, 2))
    policies = {"nodeTaintsPolicy": rng.choice(("Honor", "Ignore")), "nodeAffinityPolicy": rng.choice(("Honor", "Ignore"))}
    fields = {**policies, **({"minDomains": rng.randint(1, 4)} if rng.random() < 0.3 else {})}
    spec = {"topologySpreadConstraints": [spread(key, rng.randint(1, 2), **fields) for key in keys]} if rng.random() < 0.8 else {}
    if rng.random() < 0.3:
        spec["nodeSelector"] = {RACK: "r1"}
    group = "g" if rng.random() < 0.15 else ""
    own = [
        labelled(pod(f"own{number}", group, cpu=rng.choice((1, 2)) if seed % 2 else 2, **spec), app="x" if rng.random() < 0.9 else "y")
        for number in range(rng.randint(1, 9))
    ]
    others = [
        labelled(pod(f"other{number}", cpu=1, priority=rng.choice((-1, 0, 5))), app=rng.choice("xy")) for number in range(rng.randint(0, 3))
    ]
    return [*objects, *own, *others, *([gang("g", 1, "")] if group else [])], {f"default/own{number}" for number in range(len(own))}


@pytest.mark.parametrize("seed", every(4, range(1200)))
def test_no_cycle_leaves_fewer_pods(seed):
    objects, required = cluster(seed)
    for options in (GREEDY, COMPLETE):
        bound = PodBounds(load(objects), options).least_missing(required)
        decisions = run_cycle(load(objects), options).decisions
        assert bound <= sum(
            pod not in each.assignments for each in decisions for pod in (*each.assignments, *each.pending) if pod in required
        )


def test_it_is_exact_for_equal_pods_that_spread():
    """Racks r1 and r2 hold 4 and 2 pods; with maxSkew 1, r1 gets 3."""
    racks = [node("a", "r1", 8), node("b", "r2", 4)]
    own = [labelled(pod(f"p{number}", topologySpreadConstraints=[spread(RACK)]), app="x") for number in range(8)]
    required = {f"default/p{number}" for number in range(8)}
    assert PodBounds(load([*racks, *own]), GREEDY).least_missing(required) == 3
    assert PodBounds(load([*racks, *own, node("c", "r2", 2)]), GREEDY).least_missing(required) == 1


def test_pods_that_another_root_can_evict_may_make_way_for_the_rest_of_a_group():
    required = {f"default/p{number}" for number in range(3)}
    for group, want in (("", 2), ("g", 0)):
        objects = [node("a"), pod("low", on="a", priority=-5), *(pod(f"p{number}", group) for number in range(3)), gang("g", 1, "")]
        assert PodBounds(load(objects), GREEDY).least_missing(required) == 2
        assert PodBounds(load([*objects, pod("other", cpu=1)]), GREEDY).least_missing(required) == want
