"""Users of volumes: which pods a change of another pod can affect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.volume_users import VolumeUsers

VOLUME = "volume"
PODS = ["a", "b", "c", "d"]
NODES = st.sampled_from(["", "m", "n"])
MOVES = st.lists(st.tuples(st.sampled_from(PODS), st.none() | NODES), max_size=12)


def move(users: VolumeUsers, nodes: dict[str, str], pod: str, node: str | None) -> None:
    if pod in nodes:
        users.remove(pod, [VOLUME])
        del nodes[pod]
    if node is not None:
        users.add(pod, node, [VOLUME])
        nodes[pod] = node


def found(users: VolumeUsers, nodes: dict[str, str], pod: str) -> tuple[bool, ...]:
    """What a pod asks about the other users: a pod with a node also asks who is there."""
    on_node = nodes[pod] and users.has_others_on(nodes[pod], VOLUME, pod)
    return users.has_others(VOLUME, pod), users.has_pending_others(VOLUME, pod), bool(on_node)


def expected(nodes: dict[str, str], pod: str) -> tuple[bool, ...]:
    others = [node for name, node in nodes.items() if name != pod]
    return bool(others), "" in others, bool(nodes[pod]) and nodes[pod] in others


def counts(nodes: dict[str, str], pod: str) -> tuple[bool, bool]:
    """How the volume counts for a pod: whether it is shared, and whether it is shared where the pod runs."""
    any_other, pending, there = expected(nodes, pod)
    return any_other, any_other if not nodes[pod] else pending or there


@given(MOVES)
def test_users_are_counted(moves):
    users, nodes = VolumeUsers(), dict[str, str]()
    for pod, node in moves:
        move(users, nodes, pod, node)
        assert [found(users, nodes, each) for each in nodes] == [expected(nodes, each) for each in nodes]
    copy = users.copied()
    assert [found(copy, nodes, each) for each in nodes] == [expected(nodes, each) for each in nodes]


@given(MOVES, st.sampled_from(PODS), st.none() | NODES)
def test_every_pod_that_a_change_affects_is_named(moves, pod, after):
    users, nodes = VolumeUsers(), dict[str, str]()
    for each in moves:
        move(users, nodes, *each)
    before = {each: counts(nodes, each) for each in nodes}
    old = nodes.get(pod)
    move(users, nodes, pod, after)
    named = users.affected(VOLUME, pod, old, after)
    assert {each for each in nodes if each != pod and counts(nodes, each) != before[each]} <= {*named}
    assert pod not in named
    assert {*named} <= {*nodes}


def test_a_pod_that_is_bound_affects_none_of_many_pending_ones():
    users = VolumeUsers()
    for number in range(9):
        users.add(f"p{number}", "", [VOLUME])
    users.add("p0", "n", [VOLUME])
    assert users.affected(VOLUME, "p0", "", "n") == []
    users.add("p9", "", [VOLUME])
    assert users.affected(VOLUME, "p9", None, "") == []


@pytest.mark.parametrize(("before", "after"), [(None, ""), ("", None), ("", "x")])
def test_a_pending_pod_affects_all_with_a_node_if_it_is_the_only_pending_one(before, after):
    users = VolumeUsers()
    for name, node in (("a", "m"), ("b", "n"), *([("c", after)] if after is not None else [])):
        users.add(name, node, [VOLUME])
    assert users.affected(VOLUME, "c", before, after) == ["a", "b"]
