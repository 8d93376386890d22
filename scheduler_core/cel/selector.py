"""Selectors of devices: compiled once, evaluated once for each set of devices with equal keys (k8s.io/dynamic-resource-allocation/cel)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

Scalar = bool | int | str
"""Value of an attribute; a version is a ``Version``."""


class SelectorError(Exception):
    """A selector cannot be compiled or evaluated; the message is that of the API server.

    kube-scheduler ends the attempt to allocate a claim with this error: the claim is unsatisfiable, and the device is not skipped.
    """


class CompileError(SelectorError):
    """The expression is not valid."""


class EvaluationError(SelectorError):
    """The expression cannot be evaluated for this device: a missing attribute, a wrong type, or the cost limit."""


class Version(str):
    """Attribute value that is a semantic version 2.0.0."""

    __slots__ = ()


AttributeValue = Scalar | Version | tuple[Scalar, ...] | tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """Parts of a device that a selector can read.

    Names of attributes and capacities are as in the API: ``domain/name``, or ``name`` in the driver's domain.  A capacity is a quantity
    as the API encodes it.
    """

    driver: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[str, str | int | float] = field(default_factory=dict)
    allow_multiple_allocations: bool = False


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector."""

    expression: str
    attributes_read: frozenset[tuple[str, ...]]
    """Paths below ``device`` that the expression reads: ``("driver",)``, ``("attributes", DOMAIN, NAME)``, ``("capacity", DOMAIN, NAME)``,
    ``("allowMultipleAllocations",)``; a shorter path stands for everything below it."""

    def equivalence_key(self, device: Device) -> Hashable:
        """Return a value that is equal for two devices only if this selector has the same result for both."""
        raise NotImplementedError

    def evaluate(self, device: Device) -> bool:
        """Return whether the selector matches *device*.

        Raises:
            EvaluationError: it cannot be evaluated for this device.
        """
        raise NotImplementedError


def compile_selector(expression: str) -> Selector:
    """Return the compiled *expression*; equal expressions share one result.

    Raises:
        CompileError: it is not valid, or it does not return a bool.
    """
    raise NotImplementedError
