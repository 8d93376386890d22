"""Selectors are read as comparisons with literals from their syntax tree."""

from __future__ import annotations

import pytest

from scheduler_core.cel import quantities, regexes, versions
from scheduler_core.cel.selector import CompileError, Device, Version, compile_selector, selector_parts
from scheduler_core.model.device_comparisons import (
    ComparedPart,
    Comparison,
    DeviceComparison,
    LiteralKind,
    OtherSelector,
    SelectorLiteral,
)
from tests.sampling import sampled
from tests.scheduler_core.cel.recorded import CASES, DEVICES
from tests.scheduler_core.cel.selector_expressions import SelectorWriter, texts_of

ATTRIBUTE, CAPACITY, FIELD = ComparedPart
MODEL = 'device.attributes["gpu.example.com"].model'


def literal(text: str, kind: LiteralKind = LiteralKind.TEXT) -> SelectorLiteral:
    return SelectorLiteral(kind, text)


def about_model(comparison: Comparison, *literals: SelectorLiteral, negated: bool = False) -> DeviceComparison:
    return DeviceComparison(ATTRIBUTE, "gpu.example.com", "model", comparison, literals, negated)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        (f'{MODEL} == "H100 && PCIe; rev: \\"C\\", [x]"', about_model(Comparison.EQUAL, literal('H100 && PCIe; rev: "C", [x]'))),
        (f"'x' != {MODEL}", about_model(Comparison.UNEQUAL, literal("x"))),
        (f"-3 < {MODEL}", about_model(Comparison.GREATER, literal("-3", LiteralKind.NUMBER))),
        (f"!({MODEL} >= 2.5)", about_model(Comparison.LESS, literal("2.5", LiteralKind.NUMBER))),
        (f"{MODEL} == true", about_model(Comparison.EQUAL, literal("true", LiteralKind.BOOLEAN))),
        (f'{MODEL} in ["a", "b && c"]', about_model(Comparison.IN, literal("a"), literal("b && c"))),
        (f"!({MODEL} in [1])", about_model(Comparison.IN, literal("1", LiteralKind.NUMBER), negated=True)),
        (f"!has({MODEL})", about_model(Comparison.PRESENT, negated=True)),
        ('has(device.attributes[?"gpu.example.com"].model)', about_model(Comparison.PRESENT)),
        (f"!!{MODEL}", about_model(Comparison.TRUE)),
        (f'!{MODEL}.matches("^a.*$")', about_model(Comparison.MATCHES, literal("^a.*$"), negated=True)),
        (f'semver("1.2.0").isLessThan({MODEL})', about_model(Comparison.GREATER, literal("1.2.0", LiteralKind.VERSION))),
        (f'0 >= {MODEL}.compareTo(semver("v1", true))', about_model(Comparison.AT_MOST, literal("v1", LiteralKind.VERSION))),
        (
            'quantity("80Gi").compareTo(device.capacity["d"]["memory"]) == -1',
            DeviceComparison(CAPACITY, "d", "memory", Comparison.GREATER, (literal("80Gi", LiteralKind.QUANTITY),)),
        ),
        ('device.driver == "d"', DeviceComparison(FIELD, "", "driver", Comparison.EQUAL, (literal("d"),))),
        ("device.allowMultipleAllocations", DeviceComparison(FIELD, "", "allowMultipleAllocations", Comparison.TRUE)),
    ],
)
def test_a_comparison_is_a_value(expression: str, part: DeviceComparison) -> None:
    assert selector_parts([expression]) == (part,)


@pytest.mark.parametrize("seed", range(sampled(1500)))
def test_random_selectors_are_read_as_written(seed: int) -> None:
    expressions, parts = SelectorWriter(seed).selectors()

    assert selector_parts(expressions) == (*parts,), expressions


@pytest.mark.parametrize("seed", range(sampled(500)))
def test_another_expression_is_kept_whole(seed: int) -> None:
    writer = SelectorWriter(seed)
    (before, parts), other = writer.expression(), writer.other_expression()
    # An expression that is not valid has its whole text too, but for another reason.
    compile_selector(other)

    assert selector_parts([before, other]) == (*parts, OtherSelector(other))


@pytest.mark.parametrize(
    "expression", ["", f"{MODEL} ==", f'{MODEL} == "a', 'device.capacity["d"].memory > 5', "(" * 40 + MODEL + ")" * 40]
)
def test_an_expression_that_is_not_valid_is_kept_whole(expression: str) -> None:
    with pytest.raises(CompileError):
        compile_selector(expression)

    assert selector_parts([expression, MODEL]) == (OtherSelector(expression), about_model(Comparison.TRUE))


def test_the_random_selectors_are_varied() -> None:
    read = [SelectorWriter(seed).selectors() for seed in range(sampled(1500))]
    parts = [part for _, of_request in read for part in of_request]

    assert {(part.comparison, part.negated) for part in parts} == {
        (each, negated)
        for each in Comparison
        for negated in ((False,) if each.value in {"==", "!=", "<", "<=", ">", ">="} else (False, True))
    }
    assert {literal.type for part in parts for literal in part.literals} == {*LiteralKind}
    for separator in ("&&", "; ", ": ", ". ", ", ", '"', "'", "[", ")", "\\", "\n"):
        assert sum(separator in text for text in texts_of(parts)) > 10, separator


def test_parts_have_the_meaning_that_kubernetes_gives_the_expression() -> None:
    """All recorded answers of Kubernetes to expressions that are read as comparisons follow from these."""
    compared = 0
    for case in CASES:
        parts = selector_parts([case["expression"]])
        if "matches" not in case or any(isinstance(part, OtherSelector) for part in parts):
            continue
        meanings = [_meaning(part, DEVICES[case["device"]]) for part in parts if not isinstance(part, OtherSelector)]
        assert (False not in meanings) == case["matches"], case
        # A missing attribute is an error, which only a false comparison hides.
        assert None not in meanings or not case["matches"], case
        compared += 1
    assert compared > 120


def _meaning(part: DeviceComparison, device: Device) -> bool | None:
    """Return whether *part* is true for *device*; None if it reads an attribute that the device does not have."""
    value, texts = _value(part, device), [each.text for each in part.literals]
    if value is None and part.comparison is not Comparison.PRESENT:
        return None
    orders = [_order(value, each) for each in part.literals]
    by_sign = {"==": (0,), "!=": (-1, 1, None), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
    match part.comparison:
        case Comparison.PRESENT:
            result = value is not None
        case Comparison.TRUE:
            result = value is True
        case Comparison.IN:
            result = 0 in orders
        case Comparison.MATCHES:
            result = bool(regexes.OVERLOADS["matches_string"](value, texts[0]))
        case Comparison.STARTS_WITH:
            result = str(value).startswith(texts[0])
        case Comparison.ENDS_WITH:
            result = str(value).endswith(texts[0])
        case Comparison.CONTAINS:
            result = texts[0] in str(value)
        case _:
            result = orders[0] in by_sign[part.comparison]
    return result != part.negated


def _value(part: DeviceComparison, device: Device) -> object:
    if part.part is FIELD:
        return device.driver if part.name == "driver" else device.allow_multiple_allocations
    values = device.attributes if part.part is ATTRIBUTE else device.capacity
    return values.get(f"{part.domain_name}/{part.name}", values.get(part.name) if part.domain_name == device.driver else None)


def _order(value: object, literal: SelectorLiteral) -> int | None:
    """Return -1, 0 or 1 if *value* is less than, equal to or greater than *literal*; None if their types differ."""
    match literal.type:
        case LiteralKind.QUANTITY:
            order = quantities.OVERLOADS["quantity_compare_to"](quantities.of_capacity(str(value)), quantities.parse(literal.text))
        case LiteralKind.VERSION if isinstance(value, Version):
            order = versions.OVERLOADS["semver_compare_to"](versions.parse(value), versions.parse(literal.text))
        case LiteralKind.TEXT if isinstance(value, str) and not isinstance(value, Version):
            order = (value > literal.text) - (value < literal.text)
        case LiteralKind.BOOLEAN if isinstance(value, bool):
            order = value - (literal.text == "true")
        case LiteralKind.NUMBER if isinstance(value, int) and not isinstance(value, bool):
            # Kubernetes compares an integer with a double as doubles.
            number = float if "." in literal.text else int
            order = (number(value) > number(literal.text)) - (number(value) < number(literal.text))
        case _:
            order = None
    return order
