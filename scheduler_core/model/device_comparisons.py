"""Selectors of devices as values: comparisons with literals, for reasons and their words."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record


class ComparedPart(enum.StrEnum):
    """Part of a device that a selector compares."""

    ATTRIBUTE = "attribute"
    CAPACITY = "capacity"
    FIELD = "field"
    """``driver`` or ``allowMultipleAllocations``."""


class Comparison(enum.StrEnum):
    """Condition of a comparison; ``PRESENT`` and ``TRUE`` have no literal, and ``IN`` has any number of them."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    IN = "in"
    MATCHES = "matches"
    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    CONTAINS = "contains"
    PRESENT = "has"
    TRUE = "true"


class LiteralKind(enum.StrEnum):
    """Type of a literal in a selector."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    VERSION = "version"
    QUANTITY = "quantity"


class SelectorLiteral(Record, frozen=True):
    """Literal of a selector; *text* is its value without quotes and escapes, a version or quantity as the expression spells it."""

    type: LiteralKind
    text: str


class DeviceComparison(Record, frozen=True):
    """Condition on one attribute, capacity or field of a device.

    Attributes:
        domain_name: domain of the attribute or capacity; empty for a field.
        negated: True if devices match for which the comparison is false.  Signs such as ``==`` are never negated: the opposite one is used.

    """

    part: ComparedPart
    domain_name: str
    name: str
    comparison: Comparison
    literals: tuple[SelectorLiteral, ...] = ()
    negated: bool = False


class OtherSelector(Record, frozen=True):
    """Expression that is not one comparison or several of them that must all be true."""

    expression: str


SelectorPart = DeviceComparison | OtherSelector
"""Part of the selectors of a request; a device matches them if it matches all parts."""
