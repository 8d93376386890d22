"""GroupTree: PodGroups and CompositePodGroups joined by their parent references.

A CompositePodGroup or PodGroup names its parent, which is always a CompositePodGroup (KEP-6012, API overview).  The
groups may be invalid: parents may be missing, references may form a cycle, and a name may occur twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.workloads import Workload
from validators.model.objects import namespace_of
from validators.model.templates import TemplatesByName
from validators.object_lookup import Lookup, group_rank

_MAX_ANCESTORS = 64
"""Limit of parents that are looked up: far more than the four levels that a tree may have."""


@dataclasses.dataclass(slots=True, eq=False)
class GroupNode:
    """Group in its tree."""

    group: Group
    parent: GroupNode | None = None
    children: list[GroupNode] = dataclasses.field(default_factory=list)
    depth: int = 0
    """Level in the tree: 1 for the root; 0 on a cycle and below one."""
    topmost: GroupNode | None = None
    """The topmost ancestor; None for a root, and on a cycle and below one."""
    on_cycle: bool = False

    @property
    def root(self) -> GroupNode | None:
        """The topmost ancestor, or the node itself if it has no parent; None on a cycle and below one."""
        # A node that had itself as an attribute would only be freed by the garbage collector.
        return self if self.depth == 1 else self.topmost

    @property
    def orphan(self) -> bool:
        """True if the group names a parent that does not exist."""
        return self.parent is None and self.group.spec.parent_composite_pod_group_name is not None

    def ancestors(self) -> Iterator[GroupNode]:
        """Yield the parent, its parent and so on up to the root; nothing on a cycle or below one."""
        if self.depth:
            node = self.parent
            while node is not None:
                yield node
                node = node.parent

    def height(self) -> int:
        """Return the number of levels down to the lowest descendant; 1 without children.  Not for nodes on or below a cycle."""
        levels, level = 0, [self]
        while level:
            levels += 1
            level = [child for each in level for child in each.children]
        return levels


class GroupTree:
    """Groups joined into trees.  ``roots`` are the groups without a parent (orphans included), by namespace and name."""

    def __init__(self, nodes: list[GroupNode], roots: list[GroupNode]) -> None:
        self.nodes = nodes
        self.roots = roots
        self.widths: dict[tuple[str, str], bool] = {}
        """Cache: whether a topology key is wider than another one, on the nodes of the lookup."""
        self._templates: dict[int, TemplatesByName] = {}
        self._by_group = {id(node.group): node for node in nodes}

    @classmethod
    def build(cls, groups: Iterable[Group]) -> GroupTree:
        """Return the trees of *groups*.  If two composites have the same name, the one that counts is the parent of their children."""
        nodes = [GroupNode(group) for group in groups]
        composites: dict[tuple[str, str], GroupNode] = {}
        for node in nodes:
            if isinstance(node.group, CompositePodGroup):
                before = composites.setdefault(_name(node.group), node)
                if group_rank(node.group) < group_rank(before.group):
                    composites[_name(node.group)] = node
        for node in nodes:
            parent = node.group.spec.parent_composite_pod_group_name
            if parent is not None:
                node.parent = composites.get((namespace_of(node.group), parent))
            if node.parent is not None:
                node.parent.children.append(node)
        for node in nodes:
            node.children.sort(key=_order)
        roots = sorted((node for node in nodes if node.parent is None), key=_order)
        _set_depths(roots)
        _mark_cycles(nodes)
        return cls(nodes, roots)

    @classmethod
    def from_group(cls, group: Group, lookup: Lookup) -> GroupTree:
        """Return the tree of *group* with the ancestors and descendants that *lookup* knows."""
        groups: dict[int, Group] = {id(group): group}
        composites = {_name(group)} if isinstance(group, CompositePodGroup) else set()
        for each in (*_ancestors(group, lookup), *_descendants(group, lookup)):
            if isinstance(each, CompositePodGroup):
                if _name(each) in composites:
                    continue
                composites.add(_name(each))
            groups[id(each)] = each
        return cls.build(groups.values())

    def templates_of(self, workload: Workload) -> TemplatesByName:
        """Return the templates of *workload* by name, cached by the identity of the object."""
        templates = self._templates.get(id(workload))
        if templates is None:
            templates = self._templates[id(workload)] = TemplatesByName(workload)
        return templates

    def node(self, group: Group) -> GroupNode:
        """Return the node of *group*, by the identity of the object."""
        return self._by_group[id(group)]


def _name(group: Group) -> tuple[str, str]:
    return namespace_of(group), group.metadata.name


def _order(node: GroupNode) -> tuple[str, str, str]:
    return (*_name(node.group), node.group.kind)


def _set_depths(roots: list[GroupNode]) -> None:
    for root in roots:
        root.depth = 1
        stack = [root]
        while stack:
            node = stack.pop()
            for child in node.children:
                child.depth, child.topmost = node.depth + 1, root
                stack.append(child)


def _mark_cycles(nodes: list[GroupNode]) -> None:
    seen: set[int] = set()
    for start in nodes:
        path: dict[int, GroupNode] = {}
        node: GroupNode | None = start
        while node is not None and not node.depth and id(node) not in seen:
            seen.add(id(node))
            path[id(node)] = node
            node = node.parent
        if node is not None and id(node) in path:
            ordered = list(path.values())
            for each in ordered[ordered.index(node) :]:
                each.on_cycle = True


def _ancestors(group: Group, lookup: Lookup) -> Iterator[Group]:
    namespace, current = namespace_of(group), group
    for _ in range(_MAX_ANCESTORS):
        parent = current.spec.parent_composite_pod_group_name
        if not parent or (parent == group.metadata.name and isinstance(group, CompositePodGroup)):
            return
        composite = lookup.get("CompositePodGroup", namespace, parent)
        if not isinstance(composite, CompositePodGroup):
            return
        yield composite
        current = composite


def _descendants(group: Group, lookup: Lookup) -> Iterator[Group]:
    if not isinstance(group, CompositePodGroup) or not group.metadata.name:
        return
    namespace, seen = namespace_of(group), {group.metadata.name}
    level = [group.metadata.name]
    while level:
        next_level: list[str] = []
        for name in level:
            for kind in ("PodGroup", "CompositePodGroup"):
                for child in lookup.children(kind, namespace, name):
                    if isinstance(child, PodGroup):
                        yield child
                    elif isinstance(child, CompositePodGroup) and child.metadata.name not in seen:
                        seen.add(child.metadata.name)
                        next_level.append(child.metadata.name)
                        yield child
        level = next_level
