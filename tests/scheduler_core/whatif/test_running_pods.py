"""Running pods that make way for a root: few of them, moved where they take no capacity that the root needs."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.scheduler_core.whatif.cluster import decided, gang, helped, node, not_placed, pod, waiting

APART = [{"labelSelector": {"matchLabels": {"app": "lone"}}, "topologyKey": "kubernetes.io/hostname"}]
ANTI = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": APART}}
PINNED = {"kubernetes.io/hostname": "a2"}


def named(name, **labels):
    """Return a node with its host name as a label."""
    made = node(name, **{key: labels.pop(key) for key in ("rack", "cpu") if key in labels})
    made["metadata"]["labels"] |= {"kubernetes.io/hostname": name, **labels}
    return made


def lone(made):
    return {**made, "metadata": {**made["metadata"], "labels": {"app": "lone"}}}


def moved(objects):
    return [each for each in helped(objects) if "moved" in each]


def small(name, on, cpu=1, **spec):
    return pod(name, on=on, cpu=cpu, **spec)


def with_port(made):
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
    return made


MOVES = {
    "in a pool without topology": (
        [*(node(f"a{n}", cpu=8) for n in (1, 2, 3)), small("r", "a1"), small("s", "a2"), gang("g", 2, ""), *waiting("g", 2, cpu=8)],
        "default/r from a1 to a2",
    ),
    "for a pod without a group": (
        [*(node(f"a{n}", cpu=8) for n in (1, 2)), small("r", "a1", 3), small("s", "a2", 2), pod("big", cpu=8)],
        "default/r from a1 to a2",
    ),
    "inside the only rack that is large enough": (
        [
            *(*(node(f"a{n}", cpu=8) for n in (1, 2, 3)), node("b1", "r2", cpu=1)),
            *(small("r", "a1"), small("s", "a2"), gang("g", 2), *waiting("g", 2, cpu=8)),
        ],
        "default/r from a1 to a2",
    ),
    "inside a rack, because no other has capacity": (
        [
            *(*(node(f"a{n}", cpu=8) for n in (1, 2, 3)), node("b1", "r2", cpu=1), small("t", "b1")),
            *(small("r", "a1"), small("s", "a2"), gang("g", 2), *waiting("g", 2, cpu=8)),
        ],
        "default/r from a1 to a2",
    ),
    "small pods, because a large one has no other node": (
        [
            *(node("a1", cpu=8), *(node(f"b{n}", cpu=4) for n in (1, 2))),
            *(small("large", "a1", 6), *(small(f"s{n}", "a1") for n in (1, 2)), *(small(f"t{n}", f"b{n}", 3) for n in (1, 2))),
            *(gang("g", 1, ""), *waiting("g", 1, cpu=2)),
        ],
        "default/s1 from a1 to b1 and default/s2 from a1 to b2",
    ),
    "not to a node that it does not select": (
        [
            *(named(f"a{n}", cpu=8) for n in (1, 2, 3)),
            *(small("r", "a1", nodeSelector=PINNED), small("s", "a2", 2), small("t", "a3", 2), pod("big", cpu=8)),
        ],
        "default/r from a1 to a2",
    ),
    "not to a node whose pods keep away from it": (
        [
            *(named(f"a{n}", cpu=8) for n in (1, 2, 3)),
            *(lone(small("r", "a1", 2)), small("s", "a2", 2, affinity=ANTI), small("t", "a3", 3), pod("big", cpu=8)),
        ],
        "default/r from a1 to a3",
    ),
    "a member of a group, in its rack": (
        [
            *(node("a1", cpu=8), node("a2", cpu=8), node("a0", "r2", cpu=8)),
            *(gang("old", 1), pod("old-0", "old", on="a1", cpu=1), small("s", "a2", 2), small("t", "a0", 3), pod("big", cpu=8)),
        ],
        "default/old-0 from a1 to a2",
    ),
    "not one with a port of its node": (
        [*(node(f"a{n}", cpu=8) for n in (1, 2)), with_port(small("r", "a1")), small("s", "a2"), pod("big", cpu=8)],
        "default/s from a2 to a1",
    ),
}


@pytest.mark.parametrize(("objects", "want"), MOVES.values(), ids=MOVES)
def test_few_pods_move_and_that_comes_before_evictions(objects, want):
    changes = helped(objects)
    first = next(each for each in changes if "moved" in each or "evicted" in each)
    assert first.partition(" moved: ")[2] == want


STAY = {
    "pods that are being deleted": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    "pods of a DaemonSet": {"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]},
}


@pytest.mark.parametrize("metadata", STAY.values(), ids=STAY)
def test_pods_that_stay_are_neither_moved_nor_evicted(metadata):
    running = [small("r", "a1"), small("s", "a2")]
    for each in running:
        each["metadata"] |= metadata
    objects = [*(node(f"a{n}", cpu=8) for n in (1, 2, 3)), *running, gang("g", 2, ""), *waiting("g", 2, cpu=8)]
    assert not [each for each in helped(objects) if " moved: " in each or " evicted " in each]


def test_pods_that_this_cycle_places_are_not_evicted():
    objects = [node("a1"), pod("first", cpu=4, priority=0), pod("second", cpu=4, priority=0)]
    assert ["1 more node like a1"] == helped(objects)


@settings(max_examples=sampled(60), deadline=None)
@given(st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=2, max_size=4))
def test_a_single_move_is_found_if_there_is_one(sizes):
    nodes = [node(f"a{n}", cpu=8) for n in range(len(sizes))]
    running = [small(f"p{n}-{k}", f"a{n}", cpu) for n, each in enumerate(sizes) for k, cpu in enumerate(each) if sum(each) <= 8]
    root = pod("big", cpu=8)
    objects = [*nodes, *running, root]
    if not not_placed(objects):
        return

    def fits_after(pod_number, target):
        changed = [dict(each) for each in running]
        changed[pod_number] = small(running[pod_number]["metadata"]["name"], f"a{target}", sizes_of[pod_number])
        used = [
            sum(cpu for each, cpu in zip(changed, sizes_of, strict=True) if each["spec"]["nodeName"] == f"a{n}") for n in range(len(nodes))
        ]
        return max(used) <= 8 and not not_placed([*nodes, *changed, root])

    sizes_of = [cpu for each in sizes for cpu in each if sum(each) <= 8]
    single = any(fits_after(*each) for each in itertools.product(range(len(running)), range(len(nodes))))
    assert any(each.startswith("1 running pod moved") for each in moved(objects)) == single
    assert decided(objects)
