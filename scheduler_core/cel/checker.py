"""Type check of a parsed expression against its variables and the declared functions (cel-go 0.29, ``checker/checker.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from scheduler_core.cel import expressions, static_types
from scheduler_core.cel.declarations import DEVICE, LATER_FUNCTIONS, Overload, device_fields, functions
from scheduler_core.cel.static_types import BOOL, DYN, ERROR, INT, STRING, Substitutions, Type, list_of, map_of
from scheduler_core.cel.values import UInt

_LITERALS = {
    bool: BOOL, int: INT, UInt: static_types.UINT, float: static_types.DOUBLE, str: STRING, bytes: static_types.BYTES,
    type(None): static_types.NULL,
}  # fmt: skip
_TYPES = {
    **{each.name: each for each in (BOOL, INT, STRING, static_types.UINT, static_types.DOUBLE, static_types.BYTES)},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": static_types.NULL,
    "type": Type("type", "type"),
    "optional_type": static_types.optional_of(DYN),
    "net.IP": Type("opaque", "net.IP"),
    "net.CIDR": Type("opaque", "net.CIDR"),
    "google.protobuf.Timestamp": static_types.TIMESTAMP,
    "google.protobuf.Duration": static_types.DURATION,
}
"""Types that an expression can name."""
OF_SELECTORS: Mapping[str, Type] = MappingProxyType({"device": DEVICE})
"""Variables of a device selector."""


@dataclass(slots=True)
class Checked:
    """Results of the type check, by the identifiers of the nodes."""

    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Overloads of a call that its arguments fit."""
    functions: dict[int, str] = field(default_factory=dict)
    """Functions with a qualified name, such as ``sets.contains``: they have no receiver."""
    type_names: dict[int, str] = field(default_factory=dict)
    """Identifiers that name a type."""
    errors: list[str] = field(default_factory=list)


def check(parsed: expressions.Parsed, attribute: Type = DYN, variables: Mapping[str, Type] = OF_SELECTORS) -> Checked:
    """Return the types of all nodes, and the errors in the format of the API server.

    *attribute* is the type of attributes: DYN in stored expressions, and ANY in those of new objects, without the functions of later
    versions.
    """
    checker = _Checker(parsed, attribute, variables)
    checker.visit(parsed.root)
    checked = checker.checked
    for node_id, found in checked.types.items():
        checked.types[node_id] = checker.substitutions.resolve(found, to_dyn=True)
    return checked


class _Checker:
    def __init__(self, parsed: expressions.Parsed, attribute: Type, variables: Mapping[str, Type]) -> None:
        self.parsed, self.fields = parsed, device_fields(attribute)
        self.without = frozenset[str]() if attribute == DYN else LATER_FUNCTIONS
        self.checked = Checked()
        self.substitutions = Substitutions()
        self.variables: list[dict[str, Type]] = [dict(variables)]
        self.free = 0

    def visit(self, node: expressions.Node) -> Type:
        match node:
            case expressions.Literal():
                found = _LITERALS[type(node.value)]
            case expressions.Ident():
                found = self._ident(node)
            case expressions.Select():
                found = self._select(node)
            case expressions.Call():
                found = self._call(node)
            case expressions.ListLiteral():
                found = self._list(node)
            case expressions.MapLiteral():
                found = self._map(node)
            case expressions.Comprehension():
                found = self._comprehension(node)
            case expressions.Message():
                found = self._undeclared(node, node.name)
        self.checked.types[node.id] = found
        return found

    def _error(self, node: expressions.Node, message: str) -> Type:
        self.checked.errors.append(self.parsed.error(node.id, message))
        return ERROR

    def _undeclared(self, node: expressions.Node, name: str) -> Type:
        return self._error(node, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, node: expressions.Node, expected: Type, actual: Type) -> Type:
        return self._error(node, f"expected type '{expected}' but found '{actual}'")

    def _assignable(self, left: Type, right: Type) -> bool:
        return self.substitutions.assign([left], [right])

    def _variable(self) -> Type:
        self.free += 1
        return static_types.param(f"_var{self.free - 1}")

    def _ident(self, node: expressions.Ident) -> Type:
        name = node.name.removeprefix(".")
        for scope in reversed(self.variables if name == node.name else self.variables[:1]):
            if name in scope:
                return scope[name]
        return self._type_named(node, name) or self._undeclared(node, node.name)

    def _type_named(self, node: expressions.Node, name: str) -> Type | None:
        found = _TYPES.get(name)
        if found is None:
            return None
        self.checked.type_names[node.id] = name
        return static_types.type_of(found)

    def _select(self, node: expressions.Select) -> Type:
        name = _qualified(node)
        if name is not None and name.partition(".")[0] not in {each for scope in self.variables for each in scope}:
            named = self._type_named(node, name)
            if named is not None:
                return named
        found = self._field(node, node.operand, node.field, optional=False)
        return BOOL if node.test else self.substitutions.resolve(found)

    def _field(self, node: expressions.Node, operand: expressions.Node, name: str, *, optional: bool) -> Type:
        target, wrapped = _unwrapped(self.substitutions.resolve(self.visit(operand)))
        match target.kind:
            case "map":
                found = target.params[1]
            case "struct" if target == DEVICE:
                found = self.fields.get(name) or self._error(node, f"undefined field '{name}'")
            case "struct":
                found = self._error(node, f"unexpected failed resolution of '{target}'")
            case "param":
                self._assignable(DYN, target)
                found = DYN
            case kind:
                if kind not in {*static_types.WILDCARDS, "error"}:
                    self._error(node, f"type '{target}' does not support field selection")
                found = DYN
        return static_types.optional_of(found) if wrapped or optional else found

    def _call(self, node: expressions.Call) -> Type:
        if node.function == "_?._":
            return self._optional_select(node)
        arguments = [self.visit(each) for each in node.args]
        declared = functions()
        if node.target is None:
            return self._resolve(node, node.function, node.args, arguments)
        prefix = _qualified(node.target)
        if prefix is not None and f"{prefix}.{node.function}" in declared:
            self.checked.functions[node.id] = f"{prefix}.{node.function}"
            return self._resolve(node, f"{prefix}.{node.function}", node.args, arguments)
        receiver = self.visit(node.target)
        return self._resolve(node, node.function, (node.target, *node.args), [receiver, *arguments], member=True)

    def _optional_select(self, node: expressions.Call) -> Type:
        operand, name = node.args
        if not isinstance(name, expressions.Literal) or not isinstance(name.value, str):
            return self._error(name, "unsupported optional field selection")
        found = self._field(node, operand, name.value, optional=True)
        self.checked.overloads[node.id] = ("select_optional_field",)
        return self.substitutions.resolve(found)

    def _resolve(
        self, node: expressions.Call, name: str, operands: tuple[expressions.Node, ...], arguments: list[Type], *, member: bool = False
    ) -> Type:
        overloads = functions().get(name.removeprefix("."))
        if overloads is None or name in self.without:
            return self._undeclared(node, name)
        if name in {"_&&_", "_||_"}:
            self.checked.overloads[node.id] = (overloads[0].id,)
            wrong = [(each, found) for each, found in zip(operands, arguments, strict=True) if not self._assignable(found, BOOL)]
            for each, found in wrong:
                self._mismatch(each, BOOL, found)
            return ERROR if wrong else BOOL
        fitting: list[str] = []
        result: Type | None = None
        for overload in overloads:
            if overload.member != member:
                continue
            fitted = self._fit(overload, arguments)
            if fitted is None:
                continue
            fitting.append(overload.id)
            if result is None:
                result = fitted
            elif result.kind not in static_types.WILDCARDS and result != fitted:
                result = DYN
        if result is None:
            return self._error(node, f"found no matching overload for '{name}' applied to '{self._signature(arguments, member=member)}'")
        self.checked.overloads[node.id] = tuple(fitting)
        return result

    def _signature(self, arguments: list[Type], *, member: bool) -> str:
        shown = [str(self.substitutions.resolve(each, to_dyn=True)) for each in arguments]
        return f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"

    def _fit(self, overload: Overload, arguments: list[Type]) -> Type | None:
        """Return the type of the result if *overload* takes the *arguments*."""
        if len(overload.params) != len(arguments):
            return None
        fresh = Substitutions()
        for each in (*overload.params, overload.result):
            for name in _parameters(each):
                if name not in fresh:
                    fresh[name] = self._variable()
        if not self.substitutions.assign(arguments, [fresh.resolve(each) for each in overload.params]):
            return None
        return self.substitutions.resolve(fresh.resolve(overload.result))

    def _join(self, known: Type | None, found: Type) -> Type:
        if known is None:
            return found
        if self._assignable(known, found):
            return static_types.most_general(known, found)
        # Literals of mixed types are refused later: see validation.
        return DYN

    def _optional(self, node: expressions.Node, found: Type) -> Type:
        inner, wrapped = _unwrapped(found)
        if not wrapped and inner.kind not in static_types.WILDCARDS:
            self._mismatch(node, static_types.optional_of(inner), inner)
        return inner

    def _list(self, node: expressions.ListLiteral) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            found = self.visit(element)
            if index in node.optional:
                found = self._optional(element, found)
            joined = self._join(joined, found)
        return list_of(joined or self._variable())

    def _map(self, node: expressions.MapLiteral) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._join(keys, self.visit(entry.key))
            found = self.visit(entry.value)
            if entry.optional:
                found = self._optional(entry.value, found)
            values = self._join(values, found)
        return map_of(keys or self._variable(), values or self._variable())

    def _comprehension(self, node: expressions.Comprehension) -> Type:
        ranged = self.substitutions.resolve(self.visit(node.range))
        accumulated = self.visit(node.initial)
        first, second = self._elements(node, self.substitutions.resolve(ranged))
        self.variables.append({node.accumulator: accumulated})
        self.variables.append({node.variable: first, **({node.second_variable: second} if node.second_variable else {})})
        for each, expected in ((node.condition, BOOL), (node.step, accumulated)):
            found = self.visit(each)
            if not self._assignable(expected, found):
                self._mismatch(each, expected, found)
        self.variables.pop()
        result = self.visit(node.result)
        self.variables.pop()
        return self.substitutions.resolve(result)

    def _elements(self, node: expressions.Comprehension, ranged: Type) -> tuple[Type, Type]:
        """Return the types of the loop variables."""
        match ranged.kind:
            case "list":
                return (INT, ranged.params[0]) if node.second_variable else (ranged.params[0], ERROR)
            case "map":
                return ranged.params[0], ranged.params[1]
            case "dyn" | "error" | "param":
                self._assignable(DYN, ranged)
                return DYN, DYN
        message = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
        return self._error(node.range, message), ERROR


def _qualified(node: expressions.Node) -> str | None:
    """Return the name that identifiers and selections spell."""
    if isinstance(node, expressions.Ident):
        return node.name
    if isinstance(node, expressions.Select) and not node.test:
        prefix = _qualified(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None


def _unwrapped(given: Type) -> tuple[Type, bool]:
    """Return the type inside an optional, and whether it is one."""
    return (given.params[0], True) if given.name == "optional_type" and given.params else (given, False)


def _parameters(given: Type) -> list[str]:
    """Return the names of the type parameters in *given*."""
    return [given.name] if given.kind == "param" else [name for each in given.params for name in _parameters(each)]
