"""How large a tree of groups is."""

from __future__ import annotations

from validators.hierarchy.tree import GroupNode


def height(node: GroupNode) -> int:
    """Levels from *node* down to its lowest descendant; 1 without children.  *node* must not lie on or below a cycle."""
    levels, level = 0, [node]
    while level:
        levels += 1
        level = [child for each in level for child in each.children]
    return levels


def leaves(node: GroupNode) -> int:
    """Descendants without children, *node* itself where it has none.  Not for nodes on or below a cycle."""
    count, stack = 0, [node]
    while stack:
        each = stack.pop()
        if each.children:
            stack.extend(each.children)
        else:
            count += 1
    return count
