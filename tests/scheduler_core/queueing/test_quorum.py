"""Groups that lack members, and the groups that cause it."""

from __future__ import annotations

import pytest

from scheduler_core.causes.pre_enqueue import QuorumAwaited
from scheduler_core.queueing.quorum import shortages
from scheduler_core.queueing.trees import Trees
from scheduler_core.wording.pre_enqueue_words import pre_enqueue_words
from tests.scheduler_core.planted import composite, leaf, pod, snapshot


def short(groups, pods) -> list[str]:
    trees = Trees(snapshot(groups, pods))
    return [f"{each.group.name} {each.available}/{each.minimum}" for each in shortages(trees.all[0], trees)]


@pytest.mark.parametrize(
    ("group", "pods", "want"),
    [
        pytest.param(leaf("a", gang=2), [pod("p0", "a")], ["a 1/2"], id="gang, one short"),
        pytest.param(leaf("a", gang=2), [pod("p0", "a"), pod("p1", "a")], [], id="gang, enough"),
        pytest.param(leaf("a", gang=2), [pod("p0", "a"), pod("p1", "a", node=0)], [], id="running ones count"),
        pytest.param(leaf("a", gang=2), [pod("p0", "a"), pod("p1", "a", gates=("g",))], [], id="gated ones count"),
        pytest.param(leaf("a", gang=2), [pod("p0", "a"), pod("p1", "a", terminating=True)], [], id="terminating ones count"),
        pytest.param(leaf("a"), [pod("p0", "a")], [], id="basic needs one"),
        pytest.param(leaf("a"), [], ["a 0/1"], id="basic without any"),
        pytest.param(composite("a"), [], ["a 0/1"], id="a composite without children"),
    ],
)
def test_a_group_by_itself(group, pods, want):
    assert want == short([group], pods)


def tree(*, root: int, left: int = 0, right: int = 0):
    return [
        composite("root", gang=root),
        composite("left", "root", gang=left),
        leaf("l0", "left", gang=2),
        leaf("l1", "left"),
        composite("right", "root", gang=right),
        leaf("r0", "right", gang=2),
    ]


L0, L1, R0 = [pod("l0-0", "l0"), pod("l0-1", "l0")], [pod("l1-0", "l1")], [pod("r0-0", "r0"), pod("r0-1", "r0")]


@pytest.mark.parametrize(
    ("groups", "pods", "want"),
    [
        pytest.param(tree(root=2, left=2), [*L0, *L1, *R0], [], id="all there"),
        pytest.param(tree(root=1), R0, [], id="one branch is enough"),
        pytest.param(tree(root=2), [*L1, *R0], [], id="a basic composite needs one ready child"),
        pytest.param(tree(root=2, left=2), [*L1, *R0], ["root 1/2", "left 1/2", "l0 0/2"], id="a cousin is short"),
        pytest.param(
            tree(root=2, left=1), [*L1, *R0[:1]], ["root 1/2", "right 0/1", "r0 1/2"], id="who is short below a ready group is not told"
        ),
        pytest.param(tree(root=3), [*L0, *L1, *R0], ["root 2/3"], id="children that do not exist"),
        pytest.param(tree(root=1), [], ["root 0/1", "left 0/1", "l0 0/2", "l1 0/1", "right 0/1", "r0 0/2"], id="nobody"),
    ],
)
def test_of_a_tree_the_root_alone_is_judged(groups, pods, want):
    assert want == short(groups, pods)


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param([leaf("a", gang=2)], "waiting for minCount pods from a gang to appear in scheduling queue", id="flat"),
        pytest.param([composite("a"), leaf("b", "a")], 'waiting for composite pod group "a" tree to meet quorum', id="tree"),
    ],
)
def test_upstreams_words(groups, want):
    trees = Trees(snapshot(groups))
    short = shortages(trees.all[0], trees)
    text = pre_enqueue_words(QuorumAwaited(trees.all[0].name, tuple(short)))

    assert f"{want}: {'; '.join(map(pre_enqueue_words, short))}" == text


@pytest.mark.parametrize(
    ("group", "want"),
    [
        pytest.param(leaf("a", gang=5), 'PodGroup "a" has 1 of 5 pods, 4 missing', id="pods"),
        pytest.param(composite("a", gang=2), 'CompositePodGroup "a" has 0 of 2 ready child groups, 2 missing', id="groups"),
    ],
)
def test_a_shortage_in_words(group, want):
    trees = Trees(snapshot([group], [pod("p", "a")]))

    assert [want] == [pre_enqueue_words(each) for each in shortages(trees.all[0], trees)]
