"""Nodes of a parsed expression, with macros expanded (cel.expr.Expr of the CEL specification)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubeapi.base_structs import Record
from scheduler_core.cel.values import Value


class Literal(Record, frozen=True):
    """Constant."""

    id: int
    value: Value


class Ident(Record, frozen=True):
    """Variable or type."""

    id: int
    name: str


class Select(Record, frozen=True):
    """``operand.field``, or ``has(operand.field)`` if *test*."""

    id: int
    operand: Node
    field: str
    test: bool


class Call(Record, frozen=True):
    """Function, method or operator."""

    id: int
    target: Node | None
    function: str
    args: tuple[Node, ...]


class ListLiteral(Record, frozen=True):
    """``[a, ?b]``; *optional* has the indices of the elements with a question mark."""

    id: int
    elements: tuple[Node, ...]
    optional: frozenset[int]


class Entry(Record, frozen=True):
    """``key: value`` or ``?key: value``."""

    key: Node
    value: Node
    optional: bool


class MapLiteral(Record, frozen=True):
    """``{a: b}``."""

    id: int
    entries: tuple[Entry, ...]


class Message(Record, frozen=True):
    """``name{...}``: a protobuf message, which selectors of devices never need."""

    id: int
    name: str


@dataclass(slots=True, eq=False)
class Comprehension:
    """Fold over a list or map: the expansion of ``all``, ``map``, ``cel.bind`` and the other macros."""

    id: int
    variable: str
    second_variable: str
    range: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node = Literal | Ident | Select | Call | ListLiteral | MapLiteral | Message | Comprehension


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below *node*."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(each for entry in node.entries for each in (entry.key, entry.value))
        case Comprehension():
            return node.range, node.initial, node.condition, node.step, node.result
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Return *node* and all nodes below it."""
    yield node
    for each in children(node):
        yield from walk(each)


class Parsed(Record, frozen=True):
    """A parsed expression."""

    root: Node
    source: str
    positions: dict[int, int]
    """Offsets of the nodes in *source*, in characters."""

    def error(self, node_id: int, message: str) -> str:
        """Return *message* with the place of a node, in the format of the API server."""
        offset = self.positions.get(node_id, 0)
        before = self.source[:offset]
        line, column = before.count("\n"), offset - (before.rfind("\n") + 1)
        shown = self.source.split("\n")[line]
        marker = "." * column + "^" if shown.isascii() else "".join("." if each.isascii() else "\uff0e" for each in shown[:column]) + "^"
        return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {shown}\n | {marker}"
