"""Parser of expressions: that of cel-expr-python, Google's binding of its C++ implementation of CEL.

The library expands the macros.  Its result is read from the serialized ``cel.expr.ParsedExpr``.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from typing import TYPE_CHECKING

from kubeapi.base_structs import replaced
from scheduler_core.cel import expressions
from scheduler_core.cel.values import UInt, Value

if TYPE_CHECKING:
    from cel_expr_python import cel

_MACROS = """
extensions:
- name: bindings
- name: optional
  version: 2
- name: lists
  version: 2
- name: two-var-comprehensions
"""

_Fields = dict[int, list[int | bytes]]
_MASK = 2**64 - 1
_ONE = "exists_one"


class SyntaxFault(Exception):
    """An expression that is not in the grammar of CEL; the message has the format of the API server."""


def parse(expression: str) -> expressions.Parsed:
    """Return the nodes of *expression*.

    Raises:
        SyntaxFault: it cannot be parsed.
    """
    result = _parsed(expression)
    if renamed := _with_known_macros(result):
        result = replaced(_parsed(renamed), source=expression)
    _restore_variables(result)
    return result


def _with_known_macros(parsed: expressions.Parsed) -> str:
    """Return the expression with the name ``existsOne`` for ``exists_one`` of two variables, which the library lacks; empty without any."""
    calls = (each for each in expressions.walk(parsed.root) if isinstance(each, expressions.Call) and each.target is not None)
    ends = {parsed.positions[each.id] for each in calls if each.function == _ONE and len(each.args) == 3}
    text = parsed.source
    for end in ends:
        at = text.rindex(_ONE, 0, end)
        text = text[:at] + "existsOne".ljust(len(_ONE)) + text[at + len(_ONE) :]
    return text if ends else ""


def _restore_variables(parsed: expressions.Parsed) -> None:
    """Give copies of a comprehension its second variable: ``optMap`` and ``optFlatMap`` copy their operand without it."""
    nodes = [each for each in expressions.walk(parsed.root) if isinstance(each, expressions.Comprehension)]
    known = {(parsed.positions[each.id], each.accumulator, each.variable): each.second_variable for each in nodes if each.second_variable}
    for each in nodes:
        each.second_variable = known.get((parsed.positions[each.id], each.accumulator, each.variable), "")


def _parsed(expression: str) -> expressions.Parsed:
    """Return what the library reads.

    Raises:
        SyntaxFault: it cannot be parsed.
    """
    try:
        serialized = _environment().compile(expression, True).serialize()  # noqa: FBT003 - disable_check
    except (RuntimeError, ValueError) as error:
        raise SyntaxFault(_message(str(error))) from None
    parsed = _fields(_bytes(_fields(serialized), 2))
    positions = {}
    for entry in _fields(_bytes(parsed, 3)).get(4, []):
        pair = _fields(entry)
        positions[_int(pair, 1)] = _int(pair, 2)
    result = expressions.Parsed(_node(_bytes(parsed, 2)), expression, positions)
    for node in expressions.walk(result.root):
        if isinstance(node, expressions.Literal) and isinstance(node.value, float) and math.isinf(node.value):
            raise SyntaxFault(result.error(node.id, "invalid double literal"))
    return result


@functools.cache
def _environment() -> cel.Env:
    # Imported on the first selector: a cluster without devices does not pay for it.
    from cel_expr_python import cel

    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_MACROS))


def _message(text: str) -> str:
    """Return the library's *text* without its status codes, and without errors that have no place."""
    lines = re.sub(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$", "", text).splitlines()
    placed = [line for line in lines if "<input>:4294967295:" not in line]
    return "\n".join(placed or lines).replace("<input>:4294967295:0", "<input>:1:1")


def _fields(data: int | bytes) -> _Fields:
    """Return the fields of a serialized message: numbers as integers, the rest as bytes."""
    if isinstance(data, int):
        raise _unreadable()
    fields: _Fields = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value: int | bytes
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case _:
                size, at = _varint(data, at)
                value, at = data[at : at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _unreadable() -> SyntaxFault:
    return SyntaxFault("ERROR: <input>:1:1: the parsed expression cannot be read")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _MASK, at
        shift += 7


def _bytes(fields: _Fields, number: int) -> bytes:
    value = fields.get(number, [b""])[-1]
    if isinstance(value, int):
        raise _unreadable()
    return value


def _text(fields: _Fields, number: int) -> str:
    return _bytes(fields, number).decode()


def _int(fields: _Fields, number: int) -> int:
    value = fields.get(number, [0])[-1]
    if isinstance(value, bytes):
        raise _unreadable()
    return value


def _node(data: int | bytes) -> expressions.Node:
    fields = _fields(data)
    node_id = _int(fields, 2)
    for number, read in _KINDS.items():
        if number in fields:
            return read(node_id, _fields(fields[number][-1]))
    raise SyntaxFault("ERROR: <input>:1:1: unsupported expression")


def _literal(node_id: int, fields: _Fields) -> expressions.Node:
    value: Value
    match next(iter(fields)):
        case 2:
            value = bool(_int(fields, 2))
        case 3:
            number = _int(fields, 3)
            value = number - 2**64 if number >= 2**63 else number
        case 4:
            value = UInt(_int(fields, 4))
        case 5:
            value = struct.unpack("<d", _bytes(fields, 5))[0]
        case 6:
            value = _text(fields, 6)
        case 7:
            value = _bytes(fields, 7)
        case _:
            value = None
    return expressions.Literal(node_id, value)


def _ident(node_id: int, fields: _Fields) -> expressions.Node:
    return expressions.Ident(node_id, _text(fields, 1))


def _select(node_id: int, fields: _Fields) -> expressions.Node:
    return expressions.Select(node_id, _node(_bytes(fields, 1)), _text(fields, 2), bool(_int(fields, 3)))


def _call(node_id: int, fields: _Fields) -> expressions.Node:
    target = _node(_bytes(fields, 1)) if 1 in fields else None
    return expressions.Call(node_id, target, _text(fields, 2), tuple(map(_node, fields.get(3, []))))


def _list(node_id: int, fields: _Fields) -> expressions.Node:
    optional: set[int] = set()
    for each in fields.get(2, []):
        if isinstance(each, int):
            optional.add(each)
            continue
        at = 0
        while at < len(each):
            index, at = _varint(each, at)
            optional.add(index)
    return expressions.ListLiteral(node_id, tuple(map(_node, fields.get(1, []))), frozenset(optional))


def _struct(node_id: int, fields: _Fields) -> expressions.Node:
    if 1 in fields:
        return expressions.Message(node_id, _text(fields, 1))
    entries = []
    for each in fields.get(2, []):
        entry = _fields(each)
        entries.append(expressions.Entry(_node(_bytes(entry, 3)), _node(_bytes(entry, 4)), bool(_int(entry, 5))))
    return expressions.MapLiteral(node_id, tuple(entries))


def _comprehension(node_id: int, fields: _Fields) -> expressions.Node:
    initial, condition, step, result = (_node(_bytes(fields, number)) for number in (4, 5, 6, 7))
    return expressions.Comprehension(
        node_id, _text(fields, 1), _text(fields, 8), _node(_bytes(fields, 2)), _text(fields, 3), initial, condition, step, result
    )


_KINDS = {3: _literal, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _comprehension}
"""Fields of ``cel.expr.Expr``, each with the reader of its content."""
