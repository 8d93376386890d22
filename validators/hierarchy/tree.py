"""GroupTree: PodGroups and CompositePodGroups joined by their parent references.

A CompositePodGroup names its parent, and so does a PodGroup; only a CompositePodGroup can be one (KEP-6012, API
overview).  Nothing is assumed: parents may be missing, references may run in a circle, and a name may occur twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from validators.lookup import Lookup
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.objects import namespace_of
from validators.model.templates import TemplatesByName
from validators.model.workload import Workload

_LONGEST_CLIMB = 64
"""Parents that are looked up before giving up: far more than the four levels that a tree may have."""


@dataclasses.dataclass(slots=True, eq=False)
class GroupNode:
    """A group in its tree."""

    group: Group
    parent: GroupNode | None = None
    children: list[GroupNode] = dataclasses.field(default_factory=list)
    depth: int = 0
    """Levels from the root, which has 1; 0 on a cycle and below one."""
    root: GroupNode | None = None
    """The topmost ancestor; None on a cycle and below one."""
    on_cycle: bool = False

    @property
    def orphan(self) -> bool:
        """Whether it names a parent that is not there."""
        return self.parent is None and self.group.spec.parent_composite_pod_group_name is not None

    def ancestors(self) -> Iterator[GroupNode]:
        """Parent, grandparent and so on, as long as the way is no circle."""
        if self.depth:
            node = self.parent
            while node is not None:
                yield node
                node = node.parent

    def height(self) -> int:
        """Return the levels down to its lowest descendant; 1 without children.  The node must not lie on or below a cycle."""
        levels, level = 0, [self]
        while level:
            levels += 1
            level = [child for each in level for child in each.children]
        return levels


class GroupTree:
    """Groups joined into trees; ``roots`` are the groups without a parent (orphans included), by namespace and name."""

    def __init__(self, nodes: list[GroupNode], roots: list[GroupNode]) -> None:
        self.nodes = nodes
        self.roots = roots
        self.widths: dict[tuple[str, str], bool] = {}
        """Whether one topology key is wider than another, as found while these trees were judged among the same nodes."""
        self._templates: dict[int, TemplatesByName] = {}
        self._by_group = {id(node.group): node for node in nodes}

    @classmethod
    def build(cls, groups: Iterable[Group]) -> GroupTree:
        """Join *groups*.  Of two composites of one name the first is the parent of those that name it."""
        nodes = [GroupNode(group) for group in groups]
        composites: dict[tuple[str, str], GroupNode] = {}
        for node in nodes:
            if isinstance(node.group, CompositePodGroup):
                composites.setdefault(_name(node.group), node)
        for node in nodes:
            parent = node.group.spec.parent_composite_pod_group_name
            if parent is not None:
                node.parent = composites.get((namespace_of(node.group), parent))
            if node.parent is not None:
                node.parent.children.append(node)
        for node in nodes:
            node.children.sort(key=_order)
        roots = sorted((node for node in nodes if node.parent is None), key=_order)
        _measure(roots)
        _mark_cycles(nodes)
        return cls(nodes, roots)

    @classmethod
    def from_group(cls, group: Group, lookup: Lookup) -> GroupTree:
        """*group* with its ancestors and descendants, as far as *lookup* knows them."""
        found: dict[int, Group] = {id(group): group}
        known = {_name(group)} if isinstance(group, CompositePodGroup) else set()
        for each in (*_climb(group, lookup), *_descend(group, lookup)):
            if isinstance(each, CompositePodGroup):
                if _name(each) in known:
                    continue
                known.add(_name(each))
            found[id(each)] = each
        return cls.build(found.values())

    def templates_of(self, workload: Workload) -> TemplatesByName:
        """The templates of *workload*, the very object: walked once for all groups that are made of them."""
        found = self._templates.get(id(workload))
        if found is None:
            found = self._templates[id(workload)] = TemplatesByName(workload)
        return found

    def node(self, group: Group) -> GroupNode:
        """The node of *group*, the very object."""
        return self._by_group[id(group)]


def _name(group: Group) -> tuple[str, str]:
    return namespace_of(group), group.metadata.name


def _order(node: GroupNode) -> tuple[str, str, str]:
    return (*_name(node.group), node.group.kind)


def _measure(roots: list[GroupNode]) -> None:
    for root in roots:
        root.depth, root.root = 1, root
        stack = [root]
        while stack:
            node = stack.pop()
            for child in node.children:
                child.depth, child.root = node.depth + 1, root
                stack.append(child)


def _mark_cycles(nodes: list[GroupNode]) -> None:
    seen: set[int] = set()
    for start in nodes:
        way: dict[int, GroupNode] = {}
        node: GroupNode | None = start
        while node is not None and not node.depth and id(node) not in seen:
            seen.add(id(node))
            way[id(node)] = node
            node = node.parent
        if node is not None and id(node) in way:
            ordered = list(way.values())
            for each in ordered[ordered.index(node) :]:
                each.on_cycle = True


def _climb(group: Group, lookup: Lookup) -> Iterator[Group]:
    namespace, current = namespace_of(group), group
    for _ in range(_LONGEST_CLIMB):
        parent = current.spec.parent_composite_pod_group_name
        if not parent or (parent == group.metadata.name and isinstance(group, CompositePodGroup)):
            return
        found = lookup.get("CompositePodGroup", namespace, parent)
        if not isinstance(found, CompositePodGroup):
            return
        yield found
        current = found


def _descend(group: Group, lookup: Lookup) -> Iterator[Group]:
    if not isinstance(group, CompositePodGroup) or not group.metadata.name:
        return
    namespace, seen = namespace_of(group), {group.metadata.name}
    level = [group.metadata.name]
    while level:
        below: list[str] = []
        for name in level:
            for kind in ("PodGroup", "CompositePodGroup"):
                for child in lookup.children(kind, namespace, name):
                    if isinstance(child, PodGroup):
                        yield child
                    elif isinstance(child, CompositePodGroup) and child.metadata.name not in seen:
                        seen.add(child.metadata.name)
                        below.append(child.metadata.name)
                        yield child
        level = below
