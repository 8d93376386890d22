"""Variables of one evaluation; ``costs`` counts its cost."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.cel.costs import CostTracker
from scheduler_core.cel.values import Err, Growing, GrowingMap, Map, Value


class Scope(CostTracker):
    """The variable ``device``, and the cost so far."""

    __slots__ = ("device",)

    def __init__(self, device: Map) -> None:
        super().__init__()
        self.device = device

    def variable(self, name: str) -> Value:
        """Return the value of a variable, or an Err."""
        return self.device if name == "device" else Err(f"no such attribute(s): {name}")


class LoopScope(Scope):
    """Variables of a comprehension; the accumulator is initialized when it is first read, as in cel-go."""

    __slots__ = ("accumulator", "initial", "names", "outer", "result", "root", "started", "values")

    def __init__(self, outer: Scope, accumulator: str, initial: Callable[[Scope], Value], names: tuple[str, str]) -> None:
        self.outer = outer
        self.root: Scope = outer.root if isinstance(outer, LoopScope) else outer
        self.accumulator = accumulator
        self.initial = initial
        self.names = names
        self.values: tuple[Value, Value] = (None, None)
        self.result: Value = None
        self.started = False

    def charge(self, cost: int) -> None:
        """Add to the cost of the evaluation."""
        self.root.charge(cost)

    def variable(self, name: str) -> Value:
        """Return the value of a variable, or an Err."""
        if name == self.accumulator:
            if not self.started:
                self.update(_growing(self.initial(self.outer)))
            return self.result
        if name in self.names:
            return self.values[self.names.index(name)]
        return self.outer.variable(name)

    def update(self, result: Value) -> None:
        """Set the accumulator."""
        self.result = result
        self.started = True

    def finish(self) -> None:
        """Remove the loop variables: the result of the comprehension cannot read them."""
        self.names = ("", "")


def _growing(value: Value) -> Value:
    """Return an empty list or map as one that a macro can add to in place."""
    if isinstance(value, list) and not value:
        return Growing()
    if isinstance(value, Map) and not value.entries and value.default is None:
        return GrowingMap()
    return value


def frozen(value: Value) -> Value:
    """Return a list or map that a macro has built as one that does not change."""
    if type(value) is Growing:
        return list(value)
    if type(value) is GrowingMap:
        result = Map()
        result.entries = value.entries
        return result
    return value
