"""Match conditions of admission webhooks, for a request of which only some fields are known (``apiserver/pkg/admission/plugin/cel``).

A field that is not known is an error; ``&&`` and ``||`` discard it, as CEL does, if the other operand decides.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from scheduler_core.cel.attributes import Run
from scheduler_core.cel.checker import check
from scheduler_core.cel.costs import CostExceeded
from scheduler_core.cel.plan import PlanFault, plan
from scheduler_core.cel.scope import Scope
from scheduler_core.cel.static_types import DYN
from scheduler_core.cel.syntax import SyntaxFault, parse
from scheduler_core.cel.values import Err, Map, PanicError, Value

UNKNOWN = Err("not known")
"""Value of a field that is not known."""
_VARIABLES = ("object", "oldObject", "request", "authorizer", "params", "namespaceObject")


class _RequestScope(Scope):
    """Variables of one evaluation; those without a value are not known."""

    __slots__ = ("known",)

    def __init__(self, known: Mapping[str, Value]) -> None:
        super().__init__(Map())
        self.known = known

    def variable(self, name: str) -> Value:
        """Return the value of a variable, or an Err."""
        return self.known.get(name, UNKNOWN)


def holds(expression: str, **variables: Mapping[str, Any] | None) -> bool | None:
    """Return whether a condition is true of *variables*, such as ``request``, whose values can be ``UNKNOWN`` at any depth.

    None if that depends on what is not known, or if the expression cannot be evaluated here, as calls of ``authorizer``, or all if the
    parser is not installed.
    """
    run = _compiled(expression)
    if run is None:
        return None
    try:
        value = run(_RequestScope({name: _value(each) for name, each in variables.items()}))
    except (CostExceeded, PanicError, ImportError):
        return None
    return value if isinstance(value, bool) else None


@functools.lru_cache(maxsize=1024)
def _compiled(expression: str) -> Run | None:
    try:
        # The parser reads UTF-8.
        expression.encode()
        parsed = parse(expression)
        checked = check(parsed, variables=dict.fromkeys(_VARIABLES, DYN))
        return None if checked.errors else plan(parsed.root, checked)
    except (SyntaxFault, PlanFault, UnicodeEncodeError, ImportError):
        # The parser is not part of every installation.
        return None


def _value(given: object) -> Value:
    if isinstance(given, Mapping):
        return Map({key: _value(each) for key, each in given.items()})
    return list(map(_value, given)) if isinstance(given, list | tuple) else given
