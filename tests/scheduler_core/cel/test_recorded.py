"""Selectors have the results, costs and errors of Kubernetes for the recorded cases."""

from __future__ import annotations

import pytest

from scheduler_core.cel.selector import creation_error
from tests.scheduler_core.cel.recorded import CASES, DEVICES, answer

OWN_WORDING = frozenset(
    {
        # The parser is the C++ implementation: a few errors have other words or places.
        'has({"a":1}["a"])',
        "has(x)",
        "",
        "a.b{} == 1",
        "kubernetes.Quantity{}",
        '"\\ud800" == ""',
        '"%z".format([1]) == "1"',
        # The order of two errors.
        "[[1,[2]],[3]].flatten(2) == [1,2,3]",
        # Go names its own types and functions.
        'device.attributes["gpu.nvidia.com"].index',
        'device.attributes["gpu.nvidia.com"].type',
        'device.attributes["l.example.com"].nodes',
        "dyn(1)",
        'device.attributes["gpu.nvidia.com"].index.startsWith("a")',
        'device.attributes["l.example.com"].one.exists(x, true)',
        'ip("x").family() == 4',
        'cidr("10.0.0.0/255.0.0.0").prefixLength() == 8',
        "dyn(device.attributes['gpu.nvidia.com'].?index)",
        "device.attributes[dyn(null)].a == 1",
        "{'a': 1}[dyn(b'a')] == 1",
        "dyn([1])[[0]] == 1",
        "dyn([1])[{}] == 1",
        "dyn({'a': 1})[?null].hasValue()",
        "dyn({'a': 1})[int] == 1",
        "dyn({'a': 1})[duration('1s')] == 1",
        # Go panics.
        "[?dyn(optional.of(1)), 2] == [1, 2]",
        "{?'a': dyn(1)} == {'a': 1}",
        "[?device.attributes['gpu.nvidia.com'].index] == [3]",
    }
)
"""Expressions whose error has another text than upstream."""
TEXTS = ("compileError", "evaluationError")
TOO_COMPLEX = "too complex, exceeds cost limit"
"""Error of the API server for a new expression whose estimated cost is too high; it is not estimated here."""


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['expression'][:40]}" for index, case in enumerate(CASES)])
def test_the_answer_is_that_of_kubernetes(case):
    expected = {key: value for key, value in case.items() if key not in {"device", "expression", "creationError"}}

    given = answer(case["expression"], DEVICES[case["device"]])

    assert given.keys() == expected.keys()
    if case["expression"] not in OWN_WORDING:
        assert given == expected


def test_only_errors_have_another_wording():
    recorded = {case["expression"]: case for case in CASES}

    assert OWN_WORDING <= recorded.keys()
    for expression in OWN_WORDING:
        case = recorded[expression]
        (text,) = (case[key] for key in TEXTS if key in case)
        ours = answer(expression, DEVICES[case["device"]])
        assert text not in ours.values(), f"{expression} has the words of Kubernetes now"


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['expression'][:40]}" for index, case in enumerate(CASES)])
def test_new_objects_are_refused_as_by_the_api_server(case):
    """Attributes have no type in new expressions: they cannot be iterated, and are no result of type dyn."""
    expected, given = case.get("creationError", ""), creation_error(case["expression"])
    if expected == TOO_COMPLEX:
        assert not given
    elif case["expression"] in OWN_WORDING:
        assert bool(expected) == bool(given)
    else:
        assert expected == given
