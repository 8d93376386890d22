"""Operators that do not evaluate all their operands, and membership in a list of constants."""

from __future__ import annotations

from scheduler_core.cel.attributes import Run
from scheduler_core.cel.scope import Scope
from scheduler_core.cel.values import Err, Extension, OptionalValue, PanicError, UInt, Value, equal, no_overload


def junction(left: Run, right: Run, *, decides: bool) -> Run:
    """Return ``||`` if true *decides*, else ``&&``: an operand that decides discards an error of the other."""

    def run(scope: Scope) -> Value:
        first = left(scope)
        if first is decides:
            return decides
        second = right(scope)
        if second is decides:
            return decides
        for value in (first, second):
            if type(value) is not bool:
                return value if type(value) is Err else Err(str(no_overload(value)))
        return not decides

    return run


def or_else(left: Run, right: Run, *, unwrap: bool) -> Run:
    """Return ``or``, or ``orValue`` if *unwrap*: the second operand is evaluated only if the first has no value."""

    def run(scope: Scope) -> Value:
        value = left(scope)
        if type(value) is Err:
            return value
        if type(value) is not OptionalValue:
            return Err("no such overload")
        if not value.present:
            return right(scope)
        return value.value if unwrap else value

    return run


def constant_member(run: Run, members: list[Value]) -> Run | None:
    """Return the test for membership in a list of constants, which costs nothing; None if they are not all simple values."""
    if not members:
        return lambda _: False
    if any(type(each) not in {bool, int, UInt, float, str} for each in members):
        return None

    def member(scope: Scope) -> Value:
        value = run(scope)
        if type(value) is Err:
            return value
        if name := value.UNHASHABLE if isinstance(value, Extension) else "types.Bytes" if type(value) is bytes else "":
            raise PanicError(f"internal error: runtime error: hash of unhashable type {name}")
        return not isinstance(value, Extension) and any(equal(value, each) for each in members)

    return member
