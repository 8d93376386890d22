"""Comprehensions: loops over lists and maps (cel-go 0.29, ``evalFold`` in ``interpreter/interpretable.go``)."""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi.base_structs import Record
from scheduler_core.cel.attributes import Run
from scheduler_core.cel.scope import LoopScope, Scope, frozen
from scheduler_core.cel.values import Err, Map, Value, type_name


class Fold(Record, frozen=True):
    """Parts of a comprehension, planned."""

    accumulator: str
    variables: tuple[str, str]
    initial: Run
    range: Run
    condition: Run
    step: Run
    result: Run

    def run(self, scope: Scope) -> Value:
        """Return the result of the loop, or an Err."""
        ranged = self.range(scope)
        if type(ranged) is Err:
            return ranged
        elements = self._elements(ranged)
        if elements is None:
            return Err(f"got '{type_name(ranged)}', expected iterable type")
        inner = LoopScope(scope, self.accumulator, self.initial, self.variables)
        for each in elements:
            inner.values = each
            # Only false ends the loop: an error is kept in the accumulator.
            if self.condition(inner) is False:
                break
            inner.update(self.step(inner))
        inner.finish()
        return frozen(self.result(inner))

    def _elements(self, ranged: Value) -> Iterable[tuple[Value, Value]] | None:
        """Return the values of the two loop variables."""
        two = bool(self.variables[1])
        if isinstance(ranged, list):
            return list(enumerate(ranged)) if two else [(each, None) for each in ranged]
        if isinstance(ranged, Map):
            return [(key, value if two else None) for key, value in ranged.entries.values()]
        return None
