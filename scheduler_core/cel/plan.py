"""Checked expressions as closures (cel-go 0.29, ``interpreter/planner.go``, ``interpretable.go`` and ``decorators.go``).

A closure returns its value or an Err, and adds its cost to that of the scope as cel-go does (``interpreter/runtimecost.go``).  Constant lists
and conversions are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.cel import expressions
from scheduler_core.cel.attributes import Attribute, Chain, Conditional, Qualifier, Run
from scheduler_core.cel.calls import bind
from scheduler_core.cel.checker import Checked
from scheduler_core.cel.costs import call_cost
from scheduler_core.cel.folds import Fold
from scheduler_core.cel.regexes import compiled
from scheduler_core.cel.scope import Scope
from scheduler_core.cel.short_circuits import constant_member, junction, or_else
from scheduler_core.cel.values import Err, Fault, Map, OptionalValue, TypeValue, UInt, Value, type_name

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_EAGER = frozenset({"format"})
"""Functions that do not evaluate their other arguments after an error, although they have only two."""


_PATTERNS = frozenset({"matches", "find", "findAll"})
"""Functions whose second argument is a regular expression: a constant one is compiled before the first evaluation."""


class PlanFault(Exception):
    """A constant part of the expression has no value."""


@dataclass(slots=True)
class PlannedNode:
    """A planned node."""

    run: Run
    constant: bool = False
    value: Value = None
    attribute: Attribute | None = None


def plan(root: expressions.Node, checked: Checked) -> Run:
    """Return a closure that evaluates the expression.

    Raises:
        PlanFault: a constant part has no value.
    """
    return _Planner(checked).step(root).run


def _constant(value: Value) -> PlannedNode:
    return PlannedNode(lambda _: value, constant=True, value=value)


class _Planner:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def step(self, node: expressions.Node) -> PlannedNode:  # noqa: PLR0911 - one kind of node each
        if node.id in self.checked.type_names:
            return _constant(TypeValue(self.checked.type_names[node.id]))
        match node:
            case expressions.Literal():
                return _constant(node.value)
            case expressions.Ident():
                name = node.name.removeprefix(".")
                return _attribute(Chain(lambda scope: scope.variable(name)))
            case expressions.Select():
                return self._select(node)
            case expressions.Call():
                return self._call(node)
            case expressions.ListLiteral():
                return self._list(node)
            case expressions.MapLiteral():
                return self._map(node)
            case expressions.Comprehension():
                return self._comprehension(node)
        raise PlanFault("unsupported expression")

    def _chain(self, step: PlannedNode) -> Attribute:
        """Return the attribute of a step, to which selections can be added."""
        return step.attribute if step.attribute is not None else Chain(step.run)

    def _select(self, node: expressions.Select) -> PlannedNode:
        attribute = self._chain(self.step(node.operand))
        attribute.add(Qualifier(lambda _: node.field, optional=False, test=node.test))
        return _attribute(attribute, test=node.test)

    def _index(self, operand: PlannedNode, index: PlannedNode, *, optional: bool) -> PlannedNode:
        if index.constant and type(index.value) not in {bool, int, UInt, float, str}:
            raise PlanFault(f"invalid qualifier type: {type_name(index.value)}")
        attribute = self._chain(operand)
        key = index.run if index.attribute is None else index.attribute.resolve
        attribute.add(Qualifier(key, optional=optional))
        return _attribute(attribute)

    def _call(self, node: expressions.Call) -> PlannedNode:
        name = self.checked.functions.get(node.id, node.function.removeprefix("."))
        operands = node.args if node.target is None or node.id in self.checked.functions else (node.target, *node.args)
        steps = [self.step(each) for each in operands]
        special = self._special(name, steps)
        if special is not None:
            return special
        overloads = self.checked.overloads[node.id]
        overload = overloads[0] if len(overloads) == 1 else ""
        if overload == "in_list" and steps[1].constant:
            member = constant_member(steps[0].run, steps[1].value)
            if member is not None:
                return PlannedNode(member) if steps[1].value else _constant(value=False)
        if name in _PATTERNS and steps[1].constant:
            _require_pattern(steps[1].value)
        run = _charged(name, overload, [each.run for each in steps])
        if name in _CONVERSIONS and len(steps) == 1 and steps[0].constant:
            return self._converted(run)
        return PlannedNode(run)

    def _special(self, name: str, steps: list[PlannedNode]) -> PlannedNode | None:
        """Return the step of an operator that does not evaluate all operands, or that selects; None for other functions."""
        match name:
            case "_&&_" | "_||_":
                return PlannedNode(junction(steps[0].run, steps[1].run, decides=name == "_||_"))
            case "_?_:_":
                branches = [each.attribute or Chain(each.run) for each in steps[1:]]
                return _attribute(Conditional(steps[0].run, branches[0], branches[1]))
            case "_[_]" | "_?._" | "_[?_]":
                return self._index(steps[0], steps[1], optional=name != "_[_]")
            case "or" | "orValue":
                return PlannedNode(or_else(steps[0].run, steps[1].run, unwrap=name == "orValue"))
        return None

    def _converted(self, run: Run) -> PlannedNode:
        value = run(Scope(Map()))
        if type(value) is Err:
            raise PlanFault(value.message)
        return _constant(value)

    def _list(self, node: expressions.ListLiteral) -> PlannedNode:
        steps = [self.step(each) for each in node.elements]
        runs = [(each.run, index in node.optional) for index, each in enumerate(steps)]

        def build(scope: Scope) -> Value:
            result = []
            for run, optional in runs:
                value = run(scope)
                if type(value) is Err:
                    return value
                if optional:
                    if type(value) is not OptionalValue:
                        return Err("cannot initialize optional list element from non-optional value")
                    if not value.present:
                        continue
                    value = value.value
                result.append(value)
            return result

        if all(each.constant for each in steps):
            return _constant(build(Scope(Map())))
        return PlannedNode(_with_cost(build, 10))

    def _map(self, node: expressions.MapLiteral) -> PlannedNode:
        steps = [(self.step(each.key), self.step(each.value), each.optional) for each in node.entries]

        def build(scope: Scope) -> Value:
            result = Map()
            for key_step, value_step, optional in steps:
                key = key_step.run(scope)
                if type(key) is Err:
                    return key
                value = value_step.run(scope)
                if type(value) is Err:
                    return value
                if optional:
                    if type(value) is not OptionalValue:
                        return Err("cannot initialize optional entry from non-optional value")
                    if not value.present:
                        continue
                    value = value.value
                try:
                    result.set_entry(key, value)
                except Fault as error:
                    return Err(str(error))
            return result

        if all(key.constant and value.constant for key, value, _ in steps):
            return _constant(build(Scope(Map())))
        return PlannedNode(_with_cost(build, 30))

    def _comprehension(self, node: expressions.Comprehension) -> PlannedNode:
        initial, ranged, condition, step, result = (
            self.step(each).run for each in (node.initial, node.range, node.condition, node.step, node.result)
        )
        return PlannedNode(Fold(node.accumulator, (node.variable, node.second_variable), initial, ranged, condition, step, result).run)


def _require_pattern(pattern: Value) -> None:
    """Raise PlanFault if a constant is no regular expression."""
    try:
        if isinstance(pattern, str):
            compiled(pattern)
    except Fault as error:
        raise PlanFault(str(error)) from None


def _attribute(attribute: Attribute, *, test: bool = False) -> PlannedNode:
    """Return a step that reads *attribute*; ``has()`` and conditions cost nothing themselves."""
    if test:
        return PlannedNode(_tested(attribute), attribute=attribute)

    def run(scope: Scope) -> Value:
        value = attribute.resolve(scope)
        if not isinstance(attribute, Conditional):
            scope.charge(1)
        return value

    return PlannedNode(run, attribute=attribute)


def _tested(attribute: Attribute) -> Run:
    def run(scope: Scope) -> Value:
        value = attribute.resolve(scope)
        return value.present if type(value) is OptionalValue else value

    return run


def _with_cost(build: Run, cost: int) -> Run:
    def run(scope: Scope) -> Value:
        value = build(scope)
        scope.charge(cost)
        return value

    return run


def _charged(name: str, overload: str, runs: list[Run]) -> Run:
    """Return the call of a function; its cost depends on the arguments and on the result."""
    call = bind(name, overload)
    strict = name != "@not_strictly_false"
    eager = len(runs) > 2 or name in _EAGER

    def run(scope: Scope) -> Value:
        arguments = []
        failed: Value = None
        for each in runs:
            value = each(scope)
            if type(value) is Err and strict:
                if eager:
                    return value
                failed = failed or value
            arguments.append(value)
        result = failed or call(arguments)
        scope.charge(call_cost(name, overload, arguments, result))
        return result

    return run
