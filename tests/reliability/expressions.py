"""Mutated CEL expressions of devices and webhooks, and mutated label selectors."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from kubeapi.selectors import LabelSelector, NodeSelector
from scheduler_core.cel.match_conditions import UNKNOWN, holds
from scheduler_core.cel.selector import SelectorError, compile_selector, creation_error, selector_parts
from scheduler_core.model import selectors
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import DoesNotHoldError, Memory, attempt
from tests.reliability.mutations import Mutator
from tests.scheduler_core.cel.recorded import CASES, DEVICES

EXAMPLES = 5_000
SECONDS = 10.0
"""Limit of one example; an expression at the limit of CEL's cost takes one second."""
MOST_CHARACTERS = 500
"""Of the recorded expressions; longer ones test limits of size and only take time."""
PIECES = (
    *("&&", "||", "!", "(", ")", "[", "]", "{", "}", ",", "?", ":", ".", "==", "!=", "<", ">=", "in", "+", "-", "*", "/", "%", "null", "true", "1u"),
    *("9223372036854775807", "-9223372036854775808", "1e308", "0x7f", '""', '"\\u0000"', 'b"a"', "[1, 2]", "{1: 2}", "device", "device.driver"),
    *('device.attributes["a"]', 'device.capacity["a"].b', ".exists(x, x == x)", ".all(x, true)", ".map(x, x)", ".filter(x, x > 1)", ".size()"),
    *('quantity("1Gi")', 'semver("1.2.3")', 'matches("(a+)+$")', "cel.bind(a, 1, a)", "optional.none()", "?.a", "type(1)", "dyn(1)", "has(device.a)"),
    *('timestamp("2026-01-01T00:00:00Z")', 'duration("1h")', "lists.range(1000)", "request.name", "object.metadata", '"a".split("")', "string(1)"),
)  # fmt: skip
REQUEST = {"resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": "CREATE", "namespace": "a", "name": UNKNOWN}
OBJECT = {"metadata": {"namespace": "a", "labels": UNKNOWN}, "spec": UNKNOWN}
LABELS = {"a": "b", "rack": "r1", "n": "5", "": ""}
SELECTORS: tuple[Any, ...] = (
    {"matchLabels": {"a": "b", "rack": "r1"}},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}, {"key": "x", "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4"]}, {"key": "n", "operator": "Lt", "values": ["6"]}]},
    {"nodeSelectorTerms": [{"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4"]}, {"key": "a", "operator": "Exists"}]}]},
    {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, {}]},
)


class Expression(NamedTuple):
    """CEL expression and the name of the device of which it is asked."""

    text: str
    device: str


Example = Expression | Any
"""An expression, or the content of a label selector."""


@functools.cache
def recorded() -> tuple[Expression, ...]:
    """Return the expressions of recorded answers."""
    return tuple(Expression(each["expression"], each["device"]) for each in CASES if len(each["expression"]) <= MOST_CHARACTERS)


def check_parsed(text: str) -> None:
    """Compile an expression of a device: only the documented errors may be raised."""
    creation_error(text)
    with contextlib.suppress(SelectorError):
        compile_selector(text)


def examples(seed: int, count: int) -> Iterator[Example]:
    """Yield expressions, and one label selector for each four of them."""
    mutator = Mutator(seed, SELECTORS)
    for number in range(count):
        yield mutator.value(mutator.random.choice(SELECTORS)) if number % 5 == 0 else _expression(mutator)


def _expression(mutator: Mutator) -> Expression:
    """Join parts of two expressions, put in pieces of the language, or change characters."""
    chance = mutator.random
    given, other = chance.choice(recorded()), chance.choice(recorded())
    text = given.text
    for _ in range(chance.randint(1, 3)):
        first, last = sorted(chance.randint(0, len(text)) for _ in range(2))
        match chance.randrange(5):
            case 0:
                text = f"({text}) {chance.choice(('&&', '||', '==', '?'))} ({other.text})"
            case 1:
                text = text[:first] + other.text[chance.randint(0, len(other.text)) :] + text[last:]
            case 2:
                text = mutator.text(text)
            case _:
                text = text[:first] + chance.choice(PIECES) + text[chance.choice((first, last)) :]
    return given._replace(text=text)


def check(example: Example) -> None:
    """Compile and evaluate an example by all ways: only the documented errors may be raised."""
    if isinstance(example, Expression):
        _check_expression(example)
    else:
        _check_selector(example)


def _check_expression(given: Expression) -> None:
    creation_error(given.text)
    selector_parts([given.text])
    if holds(given.text, request=REQUEST, object=OBJECT, oldObject=None) not in (True, False, None):
        raise DoesNotHoldError("a match condition that is neither true nor false")
    device = DEVICES[given.device]
    answers = {_answer(lambda: compile_selector(given.text).matches(device)) for _ in range(2)}
    answers.add(_answer(lambda: compile_selector(given.text).evaluate(device)))
    if len(answers) > 1:
        raise DoesNotHoldError(f"two answers: {answers}")


def _answer(evaluate: Callable[[], bool]) -> str:
    try:
        return str(evaluate())
    except SelectorError as error:
        return str(error)


def _check_selector(content: Any) -> None:
    # A lone surrogate is no text of JSON.
    encoded = json.dumps(content).replace("\\ud800", "\\u0000").encode()
    for kind in (LabelSelector, NodeSelector):
        try:
            given = msgspec.json.decode(encoded, type=kind)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(given, LabelSelector) and selectors.matches(given, LABELS) not in (True, False):
            raise DoesNotHoldError("a selector that neither matches nor does not")
        if isinstance(given, NodeSelector):
            selectors.admits_volume(given, LABELS)


_MEMORY = Memory()


def run(seed: int, count: int = EXAMPLES) -> Round:
    """Check *count* examples."""
    return attempt(examples(seed, count), check, SECONDS, _MEMORY)


CAMPAIGN = Campaign(
    "selectors",
    "mutated CEL expressions and label selectors",
    f"only the documented errors, the same answer each time, an end within {SECONDS:g} s, memory does not grow",
    100_000,
    run,
)
