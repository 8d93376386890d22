"""Parts of a device that an expression reads."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.cel import expressions

Path = tuple[str, ...]
"""Path below ``device``; a shorter path stands for everything below it."""

_LONGEST = {"driver": 1, "allowMultipleAllocations": 1, "attributes": 3, "capacity": 3}
_INDEXES = frozenset({"_[_]", "_[?_]", "_?._"})


def paths(root: expressions.Node) -> frozenset[Path]:
    """Return the paths that the expression reads: none of them is below another one."""
    found = {path[: _LONGEST.get(path[0], 1)] if path else path for path in _paths(root)}
    return frozenset(path for path in found if not any(path[:length] in found for length in range(len(path))))


def _paths(node: expressions.Node) -> Iterator[Path]:
    path = path_of(node)
    if path is not None:
        yield path
        return
    if isinstance(node, expressions.Comprehension) and "device" in {node.variable, node.second_variable, node.accumulator}:
        # A loop variable hides the device: which of the two is meant is not analyzed.
        yield ()
    for each in expressions.children(node):
        yield from _paths(each)


def path_of(node: expressions.Node) -> Path | None:
    """Return the path that *node* spells, if it is only the device and constant selections."""
    match node:
        case expressions.Ident():
            return () if node.name.removeprefix(".") == "device" else None
        case expressions.Select():
            above = path_of(node.operand)
            return None if above is None else (*above, node.field)
        case expressions.Call(function=function, args=(operand, expressions.Literal(value=str() as key)), target=None) if (
            function in _INDEXES
        ):
            above = path_of(operand)
            return None if above is None else (*above, key)
    return None
