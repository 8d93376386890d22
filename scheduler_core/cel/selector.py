"""Selectors of devices: compiled once, evaluated once for each set of devices with equal keys (k8s.io/dynamic-resource-allocation/cel)."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kubeapi.base_structs import Record, record_field
from scheduler_core.cel import quantities, versions
from scheduler_core.cel.attributes import Run
from scheduler_core.cel.checker import Checked, check
from scheduler_core.cel.comparisons import comparisons
from scheduler_core.cel.costs import CostExceeded
from scheduler_core.cel.expressions import Parsed
from scheduler_core.cel.plan import PlanFault, plan
from scheduler_core.cel.reads import Path, paths
from scheduler_core.cel.scope import Scope
from scheduler_core.cel.static_types import ANY, BOOL, DYN, Type
from scheduler_core.cel.syntax import SyntaxFault, parse
from scheduler_core.cel.validation import violations
from scheduler_core.cel.values import Err, Fault, Map, OptionalValue, PanicError, Value, type_name
from scheduler_core.model.device_comparisons import DeviceComparison, OtherSelector, SelectorPart

MOST_BYTES = 10 * 1024
"""``CELSelectorExpressionMaxLength`` of resource.k8s.io."""

Scalar = bool | int | str
"""Value of an attribute; a version is a ``Version``."""


class SelectorError(Exception):
    """A selector cannot be compiled or evaluated; the message is that of the API server.

    kube-scheduler ends the attempt to allocate a claim with this error: the claim is unsatisfiable, and the device is not skipped.
    """


class CompileError(SelectorError):
    """The expression is not valid."""


class UnreadableError(CompileError):
    """The expression is nested deeper than the parser can read, though Kubernetes can."""


class EvaluationError(SelectorError):
    """The expression cannot be evaluated for this device: a missing attribute, a wrong type, or the cost limit."""


class Version(str):
    """Attribute value that is a semantic version 2.0.0."""

    __slots__ = ()


AttributeValue = Scalar | Version | tuple[Scalar, ...] | tuple[Version, ...]


class Device(Record, frozen=True):
    """Parts of a device that a selector can read.

    Names of attributes and capacities are as in the API: ``domain/name``, or ``name`` in the driver's domain.  A capacity is a quantity
    as the API encodes it.
    """

    driver: str
    attributes: Mapping[str, AttributeValue] = record_field(default_factory=dict)
    capacity: Mapping[str, str | int | float] = record_field(default_factory=dict)
    allow_multiple_allocations: bool = False


MAX_RESULTS = 4096
"""Limit of the memory of one selector."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector."""

    expression: str
    attributes_read: frozenset[Path]
    """Paths below ``device`` that the expression reads: ``("driver",)``, ``("attributes", DOMAIN, NAME)``, ``("capacity", DOMAIN, NAME)``,
    ``("allowMultipleAllocations",)``; a shorter path stands for everything below it."""
    run: Run = field(repr=False, compare=False)
    comparisons: tuple[DeviceComparison, ...] = field(default=(), repr=False)
    """Comparisons that must all be true; empty if the expression has another form."""
    _results: dict[Hashable, bool | str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Results, and messages of errors, by ``equivalence_key``; at most MAX_RESULTS."""

    def equivalence_key(self, device: Device) -> Hashable:
        """Return a value that is equal for two devices only if this selector has the same result for both."""
        unreadable = next(_unreadable(device), None)
        return unreadable, *(_read(device, path) for path in sorted(self.attributes_read))

    def matches(self, device: Device) -> bool:
        """Return what ``evaluate`` returns, or raise its error; evaluated once for equal devices, because it can take a second."""
        key = self.equivalence_key(device)
        if (result := self._results.get(key)) is None:
            if len(self._results) >= MAX_RESULTS:
                self._results.clear()
            try:
                result = self.evaluate(device)
            except EvaluationError as error:
                result = str(error)
            self._results[key] = result
        if isinstance(result, str):
            raise EvaluationError(result)
        return result

    def evaluate(self, device: Device) -> bool:
        """Return whether the selector matches *device*.

        Raises:
            EvaluationError: it cannot be evaluated for this device.
        """
        return self.evaluate_with_cost(device)[0]

    def evaluate_with_cost(self, device: Device) -> tuple[bool, int]:
        """Return whether the selector matches *device*, and the cost in CEL's cost units.

        Raises:
            EvaluationError: it cannot be evaluated for this device.
        """
        unreadable = next(_unreadable(device), None)
        if unreadable is not None:
            raise EvaluationError(unreadable)
        scope = Scope(_as_map(device))
        try:
            value = self.run(scope)
        except CostExceeded:
            raise EvaluationError("operation cancelled: actual cost limit exceeded") from None
        except PanicError as error:
            raise EvaluationError(str(error)) from None
        if type(value) is Err:
            raise EvaluationError(value.message)
        while type(value) is OptionalValue and value.present:
            value = value.value
        if type(value) is OptionalValue:
            raise EvaluationError("CEL result of type optional_type could not be converted to bool: optional.none() dereference")
        if type(value) is not bool:
            raise EvaluationError(f"CEL result of type {type_name(value)} could not be converted to bool")
        return value, scope.cost


def compile_selector(expression: str) -> Selector:
    """Return the compiled *expression*; equal expressions share one result.

    Raises:
        CompileError: it is not a string, it is not valid, or it does not return a bool.
    """
    if not isinstance(expression, str):
        raise CompileError(f"must be a string, not {type(expression).__name__}")
    return _compiled(expression)


def selector_parts(selectors: Iterable[str]) -> tuple[SelectorPart, ...]:
    """Return the parts of the *selectors* of a request, in their order; an expression that is not valid is one part."""
    return tuple(part for expression in selectors for part in _parts(expression))


def _parts(expression: str) -> tuple[SelectorPart, ...]:
    try:
        found = compile_selector(expression).comparisons
    except CompileError:
        found = ()
    return found or (OtherSelector(expression),)


def creation_error(expression: str) -> str:
    """Return why the API server refuses a new object with *expression*; empty if it does not, or if only this parser cannot read it.

    kube-scheduler compiles the expressions of stored objects with fewer restrictions.
    """
    try:
        _program(expression, ANY)
    except UnreadableError:
        return ""
    except CompileError as error:
        return str(error)
    return ""


@functools.lru_cache(maxsize=1024)
def _compiled(expression: str) -> Selector:
    parsed, run = _program(expression, DYN)
    return Selector(expression, paths(parsed.root), run, comparisons(parsed.root))


def _program(expression: str, attribute: Type) -> tuple[Parsed, Run]:
    """Return the parsed expression and its evaluation; *attribute* is the type of attributes."""
    parsed, checked = _checked(expression, attribute)
    try:
        return parsed, plan(parsed.root, checked)
    except PlanFault as error:
        raise CompileError(f"program instantiation failed: {error}") from None


def _checked(expression: str, attribute: Type) -> tuple[Parsed, Checked]:
    """Return the parsed expression and its types."""
    try:
        if len(expression.encode()) > MOST_BYTES:
            raise CompileError(f"Too long: may not be more than {MOST_BYTES} bytes")
        parsed = parse(expression)
    except (SyntaxFault, UnicodeEncodeError) as error:
        fault = UnreadableError if "recursion limit exceeded" in str(error) else CompileError
        raise fault(f"compilation failed: {error}") from None
    checked = check(parsed, attribute)
    errors = checked.errors or violations(parsed, checked)
    if errors:
        raise CompileError("compilation failed: " + "\n".join(errors))
    result = checked.types[parsed.root.id]
    if result not in (BOOL, attribute):
        raise CompileError(f"must evaluate to bool or the unknown type, not {'null_type' if result.kind == 'null' else result}")
    return parsed, checked


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Return the domain and the identifier of an attribute or capacity."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _unreadable(device: Device) -> Iterator[str]:
    """Return the errors of versions and quantities that cannot be parsed."""
    for name, value in device.attributes.items():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Version):
                try:
                    versions.parse(each)
                except Fault as error:
                    yield f"attribute {name}: parse semantic version: {error}"
    for name, amount in device.capacity.items():
        try:
            quantities.of_capacity(amount)
        except Fault as error:
            yield f"capacity {name}: {error}"


def _attribute(value: AttributeValue) -> Value:
    if isinstance(value, tuple):
        return [_attribute(each) for each in value]
    return versions.parse(value) if isinstance(value, Version) else value


def _as_map(device: Device) -> Map:
    """Return the variable ``device``."""
    attributes: dict[str, Map] = {}
    for name, value in device.attributes.items():
        domain, identifier = _qualified(name, device.driver)
        attributes.setdefault(domain, Map()).set_entry(identifier, _attribute(value))
    capacity: dict[str, Map] = {}
    for name, amount in device.capacity.items():
        domain, identifier = _qualified(name, device.driver)
        capacity.setdefault(domain, Map()).set_entry(identifier, quantities.of_capacity(amount))
    return Map(
        {
            "driver": device.driver,
            "allowMultipleAllocations": device.allow_multiple_allocations,
            "attributes": Map(dict(attributes), default=Map()),
            "capacity": Map(dict(capacity), default=Map()),
        }
    )


def _read(device: Device, path: Path) -> Hashable:
    """Return the values at *path*; values of different types are never equal."""
    match path:
        case ("driver",):
            return device.driver
        case ("allowMultipleAllocations",):
            return device.allow_multiple_allocations
        case ("attributes" | "capacity" as kind, *rest):
            values = device.attributes if kind == "attributes" else device.capacity
            named = ((_qualified(name, device.driver), value) for name, value in values.items())
            return frozenset((name, _tagged(value)) for name, value in named if list(name[: len(rest)]) == rest)
    return device.driver, device.allow_multiple_allocations, _read(device, ("attributes",)), _read(device, ("capacity",))


def _tagged(value: AttributeValue | float) -> Hashable:
    return tuple(map(_tagged, value)) if isinstance(value, tuple) else (type(value).__name__, value)
