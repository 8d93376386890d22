"""Chains of selections, such as ``device.attributes["dra.example.com"].model`` (cel-go 0.29, ``interpreter/attributes.go``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_core.cel.scope import Scope
from scheduler_core.cel.values import NONE, Err, Map, OptionalValue, UInt, Value, is_integral, no_overload, type_name

Run = Callable[[Scope], Value]


@dataclass(slots=True)
class Qualifier:
    """One selection of a chain: ``.field``, ``["key"]``, ``.?field`` or ``[?key]``."""

    key: Run
    optional: bool
    test: bool = False
    """Part of ``has()``."""


@dataclass(slots=True)
class Chain:
    """A variable, or the value of a step, and selections from it."""

    operand: Run
    qualifiers: list[Qualifier] = field(default_factory=list)

    def add(self, qualifier: Qualifier) -> None:
        """Append a selection."""
        self.qualifiers.append(qualifier)

    def resolve(self, scope: Scope) -> Value:
        """Return the selected value, or an Err."""
        value = self.operand(scope)
        if type(value) is Err:
            return value
        wrapped = type(value) is OptionalValue
        if wrapped:
            if not value.present or not self.qualifiers:
                return value
            value = value.value
        for qualifier in self.qualifiers:
            wrapped = wrapped or qualifier.optional
            value = _qualify(scope, value, qualifier, present_only=wrapped)
            if type(value) is Err:
                return value
            if value is NONE:
                return NONE
        return OptionalValue(present=True, value=value) if wrapped else value


@dataclass(slots=True)
class Conditional:
    """``condition ? truthy : falsy``; selections from it apply to both branches."""

    condition: Run
    truthy: Attribute
    falsy: Attribute

    def add(self, qualifier: Qualifier) -> None:
        """Append a selection."""
        self.truthy.add(qualifier)
        self.falsy.add(qualifier)

    def resolve(self, scope: Scope) -> Value:
        """Return the selected value, or an Err."""
        condition = self.condition(scope)
        if condition is True:
            return self.truthy.resolve(scope)
        if condition is False:
            return self.falsy.resolve(scope)
        return condition if type(condition) is Err else Err(str(no_overload(condition)))


Attribute = Chain | Conditional


def _qualify(scope: Scope, value: Value, qualifier: Qualifier, *, present_only: bool) -> Value:
    """Return the value of one selection; NONE if *present_only* and there is no such value."""
    key = qualifier.key(scope)
    found, present = (key, False) if type(key) is Err else _select(value, key)
    if present or not present_only:
        scope.charge(1)
    if type(found) is Err:
        return found
    if present_only and not present:
        return NONE
    if qualifier.test:
        return None if present_only else present
    if present:
        return found
    return Err(f"index out of bounds: {key}" if isinstance(value, list) else f"no such key: {key}")


def _select(value: Value, key: Value) -> tuple[Value, bool]:
    """Return the value of *key*, and whether there is one; an Err if it is no key or index."""
    if isinstance(value, Map):
        found, present = value.find(key)
        if not present and value.default is not None:
            return value.default, True
        return found, present
    if not isinstance(value, list):
        return None, False
    if type(key) not in {int, UInt, float}:
        return Err(f"unsupported index type '{type_name(key)}' in list"), False
    if type(key) is float and not is_integral(key):
        return Err(f"unsupported index value {key} in list"), False
    index = int(key)
    return (value[index], True) if 0 <= index < len(value) else (None, False)
