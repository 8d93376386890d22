"""Rules about literals that the API server checks after the types (cel-go 0.29, ``cel/validator.go`` and ``ext/formatting.go``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from scheduler_core.cel import expressions
from scheduler_core.cel.calls import bind
from scheduler_core.cel.checker import Checked
from scheduler_core.cel.regexes import compiled
from scheduler_core.cel.static_types import Type
from scheduler_core.cel.text_format import clauses
from scheduler_core.cel.values import Err, Fault, Value

_INTEGERS, _DOUBLES = frozenset({"int", "uint"}), frozenset({"double", "string"})
_CLAUSES: dict[str, tuple[frozenset[str], str]] = {
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
    "f": (_DOUBLES, "fixed-point clause can only be used on doubles"),
    "e": (_DOUBLES, "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {"bool"}, "only integers and bools can be formatted as binary"),
    "x": (_INTEGERS | {"string", "bytes"}, "only integers, byte buffers, and strings can be formatted as hex"),
    "s": (
        frozenset({"list", "map", "int", "uint", "double", "bool", "string", "bytes", "type", "null", "google.protobuf.Timestamp",
                   "google.protobuf.Duration"}),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    ),
}  # fmt: skip
_LITERALS = ("duration", "timestamp", "matches")
"""Functions whose first argument is tested if it is a literal."""


def violations(parsed: expressions.Parsed, checked: Checked) -> list[str]:
    """Return the errors in the format of the API server."""
    found = [*_literal_arguments(parsed), *_mixed_literals(parsed, checked)]
    for node in expressions.walk(parsed.root):
        if isinstance(node, expressions.Call) and node.function == "format":
            found.extend(_format_arguments(parsed, checked, node))
    return found


def _literal_arguments(parsed: expressions.Parsed) -> Iterator[str]:
    for name in _LITERALS:
        for node in expressions.walk(parsed.root):
            if not isinstance(node, expressions.Call) or node.function != name or not node.args:
                continue
            argument = node.args[0]
            if isinstance(argument, expressions.Literal) and not _valid(name, argument.value):
                yield parsed.error(argument.id, f"invalid {name} argument")


def _valid(name: str, value: Value) -> bool:
    if name != "matches":
        return type(bind(name, "")([value])) is not Err
    try:
        compiled(value)
    except Fault:
        return False
    return True


def _mixed_literals(parsed: expressions.Parsed, checked: Checked) -> Iterator[str]:
    """Report lists, then maps, whose elements have several types, dyn among them; arguments of ``format`` can be mixed."""
    literals = list(_outside_format(parsed.root))
    for node in literals:
        if isinstance(node, expressions.ListLiteral):
            elements = [(each, index in node.optional) for index, each in enumerate(node.elements)]
            yield from itertools.islice(_mixed(parsed, checked, elements), 1)
    for node in literals:
        if isinstance(node, expressions.MapLiteral):
            yield from _mixed(parsed, checked, [(entry.key, False) for entry in node.entries])
            yield from _mixed(parsed, checked, [(entry.value, entry.optional) for entry in node.entries])


def _outside_format(node: expressions.Node) -> Iterator[expressions.Node]:
    if not isinstance(node, expressions.Call) or node.function != "format":
        yield node
        for each in expressions.children(node):
            yield from _outside_format(each)


def _mixed(parsed: expressions.Parsed, checked: Checked, elements: list[tuple[expressions.Node, bool]]) -> Iterator[str]:
    first: Type | None = None
    for each, optional in elements:
        found = checked.types[each.id]
        if optional:
            if not found.params:
                # The API server panics here, and refuses the object.
                yield parsed.error(each.id, f"expected type 'optional_type' but found '{found}'")
                return
            found = found.params[0]
        if first is None:
            first = found
        elif found != first:
            yield parsed.error(each.id, f"expected type '{first}' but found '{found}'")


def _format_arguments(parsed: expressions.Parsed, checked: Checked, node: expressions.Call) -> Iterator[str]:
    """Check a literal format string against the literal list of its arguments."""
    target = node.target
    if (
        not isinstance(target, expressions.Literal)
        or not isinstance(target.value, str)
        or not isinstance(node.args[0], expressions.ListLiteral)
    ):
        return
    elements = node.args[0].elements
    try:
        letters = [letter for _, _, letter in clauses(target.value) if letter]
    except Fault as error:
        yield parsed.error(node.id, str(error))
        return
    for letter, element in zip(letters, elements, strict=False):
        wrong = _wrong_argument(checked, element, letter)
        if wrong is not None:
            yield parsed.error(wrong[0], wrong[1])
            return
    if len(elements) < len(letters):
        yield parsed.error(node.id, f"index {len(elements)} out of range")
    if len(elements) > len(letters):
        yield parsed.error(node.id, f"too many arguments supplied to string.format (expected {len(letters)}, got {len(elements)})")


def _wrong_argument(checked: Checked, node: expressions.Node, letter: str) -> tuple[int, str] | None:
    """Return the node whose type a clause does not take, with the message."""
    known = _CLAUSES.get(letter.lower() if letter == "X" else letter)
    if known is None:
        return node.id, f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
    names, message = known
    found = checked.types[node.id]
    if found.kind != "dyn" and found.name not in names:
        name = {"null": "null_type", "any": "google.protobuf.Any"}.get(found.kind, found.name)
        return node.id, f"error during formatting: {message}, was given {name}"
    if letter == "s" and isinstance(node, (expressions.ListLiteral, expressions.MapLiteral)):
        return next(filter(None, (_wrong_argument(checked, each, letter) for each in expressions.children(node))), None)
    return None
