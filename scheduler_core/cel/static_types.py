"""Types of expressions, and whether one can be assigned to another (cel-go 0.29, ``checker/types.go``)."""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """A type; *kind* is ``primitive``, ``dyn``, ``any``, ``null``, ``list``, ``map``, ``type``, ``opaque``, ``struct``, ``param`` or ``error``."""

    kind: str
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if not self.params:
            return {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration"}.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL, BYTES, DOUBLE, INT, STRING, UINT, TIMESTAMP, DURATION = (
    Type("primitive", name)
    for name in ("bool", "bytes", "double", "int", "string", "uint", "google.protobuf.Timestamp", "google.protobuf.Duration")
)
DYN, NULL, ERROR = Type("dyn", "dyn"), Type("null", "null"), Type("error", "!error!")
ANY = Type("any", "any")
"""Like dyn, but a comprehension cannot range over it."""
WILDCARDS = frozenset({"dyn", "any"})
"""Kinds of types that agree with every type."""
_SHORT = {"timestamp": TIMESTAMP, "duration": DURATION, "dyn": DYN, "null": NULL}
_PRIMITIVE = {each.name: each for each in (BOOL, BYTES, DOUBLE, INT, STRING, UINT)}
_OPAQUE = frozenset({"net.IP", "net.CIDR"})


def list_of(element: Type) -> Type:
    """Return the type of a list."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of a map."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """Return the type of an optional value."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Return the type of a type."""
    return Type("type", "type", (value,))


def param(name: str) -> Type:
    """Return a type parameter."""
    return Type("param", name)


def read_type(text: str) -> Type:
    """Return the type that a declaration names: ``list(A)``, ``map(K,V)``, ``optional(A)``, ``int``, ``kubernetes.Quantity``."""
    name, _, rest = text.partition("(")
    if rest:
        parts = tuple(read_type(each) for each in split_arguments(rest[:-1]))
        kind = {"list": "list", "map": "map", "type": "type"}.get(name, "opaque")
        return Type(kind, "optional_type" if name == "optional" else name, parts)
    if len(text) == 1:
        return param(text)
    known = _SHORT.get(text) or _PRIMITIVE.get(text)
    return known or Type("opaque" if text in _OPAQUE else "struct", text)


def split_arguments(text: str) -> list[str]:
    """Split at the commas that are not in parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text else []


class Substitutions(dict[str, Type]):
    """Types of type parameters."""

    def resolve(self, given: Type, *, to_dyn: bool = False) -> Type:
        """Return *given* with its parameters replaced; those without a type become dyn if *to_dyn*."""
        if given.kind == "param":
            known = self.get(given.name)
            if known is not None:
                return self.resolve(known, to_dyn=to_dyn)
            return DYN if to_dyn else given
        if not given.params:
            return given
        return Type(given.kind, given.name, tuple(self.resolve(each, to_dyn=to_dyn) for each in given.params))

    def assign(self, left: list[Type], right: list[Type]) -> bool:
        """Record the types of parameters by which *left* and *right* agree, and return whether they do; else nothing is changed."""
        before = dict(self)
        if len(left) == len(right) and all(map(self._unify, left, right)):
            return True
        self.clear()
        self.update(before)
        return False

    def _unify(self, left: Type, right: Type) -> bool:  # noqa: PLR0911 - one rule each
        if right.kind == "param":
            valid, known = self._substitute(left, right)
            if valid or known:
                return valid
        if left.kind == "param":
            return self._substitute(right, left)[0]
        if {left.kind, right.kind} & {*WILDCARDS, "error"}:
            return True
        if left.kind == "null" or right.kind == "null":
            other = right if left.kind == "null" else left
            return other.kind in {"null", "opaque", "struct"} or other in (TIMESTAMP, DURATION)
        if left.kind == "type":
            return right.kind == "type"
        if (left.kind, left.name, len(left.params)) != (right.kind, right.name, len(right.params)):
            return False
        return all(map(self._unify, left.params, right.params))

    def _substitute(self, given: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether *parameter* can be *given*, and whether its type was known."""
        if given == parameter:
            return True, True
        known = self.get(parameter.name)
        if known is not None:
            if given == known:
                return True, True
            if not self._unify(given, known):
                return False, True
            general = most_general(given, known)
            if self._free_of(parameter, general):
                self[parameter.name] = general
            return True, True
        if self._free_of(parameter, given):
            self[parameter.name] = given
            return True, False
        return False, False

    def _free_of(self, parameter: Type, within: Type) -> bool:
        if within == parameter:
            return False
        if within.kind == "param":
            known = self.get(within.name)
            return known is None or self._free_of(parameter, known)
        return all(self._free_of(parameter, each) for each in within.params)


def most_general(left: Type, right: Type) -> Type:
    """Return the less specific of two types that agree."""
    return left if _less_specific(left, right) else right


def _less_specific(left: Type, right: Type) -> bool:
    if left.kind in {*WILDCARDS, "param"}:
        return True
    if right.kind in {*WILDCARDS, "param"} or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind in {"list", "map", "opaque"}:
        return left.name == right.name and len(left.params) == len(right.params) and all(map(_less_specific, left.params, right.params))
    return left == right
