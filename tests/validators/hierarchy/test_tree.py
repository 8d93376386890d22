"""GroupTree: parents, depths, cycles and orphans, for any order of the input."""

from __future__ import annotations

import gc
import random
import sys

import pytest

from kubeapi.groups import CompositePodGroup, CompositePodGroupSpec, Group, PodGroup, PodGroupSpec
from kubeapi.meta import ObjectMeta
from kubeapi.workloads import Workload
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.object_lookup import KnownObjects
from validators.rules import parent_acyclic


def composite(name: str, parent: str | None = None, namespace: str = "") -> CompositePodGroup:
    return CompositePodGroup(ObjectMeta(name=name, namespace=namespace), CompositePodGroupSpec(parent_composite_pod_group_name=parent))


def leaf(name: str, parent: str | None = None, namespace: str = "") -> PodGroup:
    return PodGroup(ObjectMeta(name=name, namespace=namespace), PodGroupSpec(parent_composite_pod_group_name=parent))


def depths(groups: list[Group]) -> dict[str, int]:
    return {node.group.metadata.name: node.depth for node in GroupTree.build(groups).nodes}


def on_cycle(groups: list[Group]) -> set[str]:
    return {node.group.metadata.name for node in GroupTree.build(groups).nodes if node.on_cycle}


def test_a_root_alone_has_depth_one() -> None:
    assert depths([leaf("a")]) == {"a": 1}


def test_the_tree_of_one_group_is_freed_without_the_garbage_collector() -> None:
    group = leaf("a")
    before = sys.getrefcount(group)
    gc.disable()
    try:
        node = GroupTree.build([group]).nodes[0]
        assert node.root is node
        del node
        assert sys.getrefcount(group) == before
    finally:
        gc.enable()


def test_depth_counts_levels_from_the_root() -> None:
    assert depths([leaf("c", "b"), composite("b", "a"), leaf("d", "a"), composite("a")]) == {"a": 1, "b": 2, "c": 3, "d": 2}


def test_children_are_in_order_of_name() -> None:
    tree = GroupTree.build([leaf("z", "a"), composite("a"), leaf("b", "a"), composite("m", "a")])

    assert [child.group.metadata.name for child in tree.roots[0].children] == ["b", "m", "z"]


def test_a_pod_group_is_never_a_parent() -> None:
    tree = GroupTree.build([leaf("a"), leaf("b", "a")])

    assert [node.orphan for node in tree.nodes] == [False, True]


def test_a_parent_is_sought_in_the_own_namespace() -> None:
    tree = GroupTree.build([composite("a", namespace="one"), leaf("b", "a", namespace="two")])

    assert tree.nodes[1].orphan


def test_no_namespace_is_default() -> None:
    tree = GroupTree.build([composite("a", namespace="default"), leaf("b", "a")])

    assert tree.nodes[1].depth == 2


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param([composite("a", "a")], {"a"}, id="a group that is its own parent"),
        pytest.param([composite("a", "b"), composite("b", "a")], {"a", "b"}, id="two"),
        pytest.param(
            [composite("a", "c"), composite("b", "a"), composite("c", "b"), leaf("d", "a")], {"a", "b", "c"}, id="a leaf hangs below"
        ),
        pytest.param(
            [composite("e", "d"), composite("d", "b"), composite("a", "b"), composite("b", "a")], {"a", "b"}, id="a tail leads in"
        ),
        pytest.param([composite("a"), composite("b", "a")], set(), id="none"),
    ],
)
def test_cycles(groups: list[Group], want: set[str]) -> None:
    assert want == on_cycle(groups)
    assert all(depth == 0 for name, depth in depths(groups).items() if name in want)


@pytest.mark.parametrize("seed", range(60))
def test_agrees_with_climbing_from_every_group(seed: int) -> None:
    """Depth and cycles equal those of a walk up the parents, for any order of the input."""
    chosen = random.Random(seed)
    names = [f"g{number}" for number in range(chosen.randint(1, 12))]
    parents = {name: chosen.choice([None, None, "missing", *names]) for name in names}
    groups: list[Group] = [composite(name, parent) for name, parent in parents.items()]

    def climb(name: str) -> tuple[int, bool]:
        path, current = [name], parents[name]
        while current in parents and current not in path:
            path.append(current)
            current = parents[current]
        circular = current in path
        return (0 if circular else len(path)), circular and current == name

    want = {name: climb(name) for name in names}
    for _ in range(2):
        tree = GroupTree.build(groups)
        assert want == {node.group.metadata.name: (node.depth, node.on_cycle) for node in tree.nodes}
        chosen.shuffle(groups)


def test_around_finds_ancestors_and_descendants() -> None:
    new = composite("middle", "root")
    others = [composite("root"), composite("below", "middle"), leaf("far", "below"), leaf("stranger")]
    tree = GroupTree.from_group(new, KnownObjects(others, complete=True))

    assert {node.group.metadata.name: node.depth for node in tree.nodes} == {"root": 1, "middle": 2, "below": 3, "far": 4}
    assert tree.node(new).height() == 3
    assert [node.group.metadata.name for node in tree.nodes if node is not tree.node(new) and not node.children] == ["far"]


def test_around_does_not_meet_the_stored_self() -> None:
    """The cluster may have the object already (its cache is newer or older): the tree has it once."""
    new = composite("a", "root")
    tree = GroupTree.from_group(new, KnownObjects([composite("root", "a"), composite("a")], complete=True))

    assert {"a", "root"} == {node.group.metadata.name for node in tree.nodes if node.on_cycle}
    assert len(tree.nodes) == 2


def test_a_long_chain_costs_no_stack() -> None:
    groups: list[Group] = [composite(f"g{number}", f"g{number - 1}" if number else None) for number in range(5000)]

    assert depths(groups)["g4999"] == 5000
    assert GroupTree.build(groups).roots[0].height() == 5000


@pytest.mark.parametrize("length", [1, 2, 8, 9, 50, 100])
def test_a_circle_is_followed_no_further_than_it_is_shown(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group of a cycle reports it, so following all of it would cost the square of its length."""
    tree = GroupTree.build([composite(f"g{number}", f"g{(number + 1) % length}") for number in range(length)])
    steps = 0

    class Followed:
        def __init__(self, node: GroupNode) -> None:
            self.node, self.group = node, node.group

        @property
        def parent(self) -> Followed | None:
            nonlocal steps
            steps += 1
            assert self.node.parent is not None
            return start if self.node.parent is start.node else Followed(self.node.parent)

    start = Followed(tree.nodes[0])
    messages = parent_acyclic._cycle(start)  # type: ignore[arg-type]
    names = [f"g{number}" for number in range(length)]

    assert messages == " → ".join([*(names if length <= 8 else [*names[:7], "…"]), "g0"])
    assert steps <= 9


def test_the_templates_of_a_workload_are_kept_for_all_its_groups() -> None:
    tree, workloads = GroupTree.build([leaf("a")]), [Workload(), Workload()]
    first = tree.templates_of(workloads[0])

    assert tree.templates_of(workloads[0]) is first
    assert tree.templates_of(workloads[1]) is not first
