"""Interface of selectors: what they read, keys of equal devices, limits, and loading on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scheduler_core.cel.selector import CompileError, Device, EvaluationError, Selector, SelectorError, Version, compile_selector
from tests.sampling import WHOLE
from tests.scheduler_core.cel.recorded import CASES, DEVICES, answer

GPU = Device("gpu.example.com", {"model": "a100", "index": 1, "ok": True, "v": Version("1.2.3")}, {"memory": "80Gi"})


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        ('device.driver == "a"', {("driver",)}),
        ("device.allowMultipleAllocations", {("allowMultipleAllocations",)}),
        ('device.attributes["a.com"].model == "x"', {("attributes", "a.com", "model")}),
        ('device.attributes["a.com"]["model"] == "x"', {("attributes", "a.com", "model")}),
        ('has(device.attributes["a.com"].model)', {("attributes", "a.com", "model")}),
        ('device.attributes["a.com"].?model.orValue("x") == "y"', {("attributes", "a.com", "model")}),
        ('device.attributes[?"a.com"].?model.hasValue()', {("attributes", "a.com", "model")}),
        ('device.attributes["a.com"].models[0] == "x"', {("attributes", "a.com", "models")}),
        ('device.capacity["a.com"].memory.isGreaterThan(quantity("1"))', {("capacity", "a.com", "memory")}),
        ('"a.com" in device.attributes', {("attributes",)}),
        ('"model" in device.attributes["a.com"]', {("attributes", "a.com")}),
        ('cel.bind(a, device.attributes["a.com"], a.x == a.y)', {("attributes", "a.com")}),
        ('device.attributes["a.com"].exists(k, k == device.driver)', {("attributes", "a.com"), ("driver",)}),
        ('"x" in device.attributes["a.com"] && device.attributes["a.com"].x == 1', {("attributes", "a.com")}),
        ("device.attributes[device.driver].x == 1", {("attributes",), ("driver",)}),
        ("cel.bind(d, device, d.driver) == ''", {()}),
        ("[1].exists(device, device == 1)", {()}),
        ("true", set()),
    ],
)
def test_a_selector_lists_the_attributes_that_it_reads(expression, read):
    assert read == compile_selector(expression).attributes_read


def test_devices_with_equal_keys_have_equal_answers():
    """No recorded answer depends on more than the key: devices that differ elsewhere have the same key and the same answer."""
    for case in CASES:
        # Long ranges take nine tenths of the time, and read nothing of a device.
        if "compileError" in case or len(case["expression"]) > 500 or ("lists.range" in case["expression"] and not WHOLE):
            continue
        given = answer(case["expression"], DEVICES[case["device"]])
        selector = compile_selector(case["expression"])
        device = DEVICES[case["device"]]
        more = Device(
            device.driver, {**device.attributes, "unrelated.example.com/a": 1}, {**device.capacity, "unrelated.example.com/b": "1"}, True
        )
        if selector.equivalence_key(more) == selector.equivalence_key(device):
            assert given == answer(case["expression"], more), case["expression"]
        else:
            assert selector.attributes_read & {(), ("attributes",), ("capacity",), ("allowMultipleAllocations",)}, case["expression"]


def test_the_driver_is_the_default_domain():
    selector = compile_selector('device.attributes["gpu.example.com"].model == "a100"')

    assert selector.evaluate(GPU)
    assert selector.evaluate(Device("other", {"gpu.example.com/model": "a100"}))
    assert selector.equivalence_key(GPU) == selector.equivalence_key(Device("other", {"gpu.example.com/model": "a100"}))


def test_values_of_different_types_have_different_keys():
    selector = compile_selector('device.attributes["d"].x == 1')
    values = (1, True, "1", Version("1"), (1,), (True,), "absent")

    keys = {selector.equivalence_key(Device("d", {} if value == "absent" else {"x": value})) for value in values}

    assert len(values) == len(keys)


def test_equal_devices_are_evaluated_once_and_the_memory_is_limited(monkeypatch):
    monkeypatch.setattr("scheduler_core.cel.selector.MAX_RESULTS", 2)
    compiled = compile_selector('device.attributes["d"].x == 1')
    runs = []
    selector = Selector(compiled.expression, compiled.attributes_read, lambda scope: runs.append(scope) or compiled.run(scope))
    devices = [Device("d", {"x": 1}), Device("d", {"x": 1, "y": 2}), Device("d", {})]

    assert [True, True] == [selector.matches(each) for each in devices[:2]]
    assert 1 == len(runs)
    for _ in range(2):
        with pytest.raises(EvaluationError, match=r"^no such key: x$"):
            selector.matches(devices[2])
    assert 2 == len(runs)
    assert not selector.matches(Device("d", {"x": 2}))
    assert selector.matches(devices[0])
    assert 4 == len(runs)


def test_an_error_is_not_false():
    selector = compile_selector('device.attributes["unknown"].model == "a100"')

    with pytest.raises(EvaluationError, match=r"^no such key: model$"):
        selector.evaluate(GPU)
    assert issubclass(EvaluationError, SelectorError)
    assert issubclass(CompileError, SelectorError)


def test_a_version_that_cannot_be_parsed_is_an_error_of_every_selector():
    broken = Device("d", {"x": 1, "v": Version("1.2")})
    selector = compile_selector('device.attributes["d"].x == 1')

    with pytest.raises(EvaluationError, match=r"^attribute v: parse semantic version: No Major.Minor.Patch elements found$"):
        selector.evaluate(broken)
    assert selector.equivalence_key(broken) != selector.equivalence_key(Device("d", {"x": 1}))


@pytest.mark.parametrize("quantity", ["x", "", "1Gib"])
def test_a_capacity_that_is_no_quantity_is_an_error(quantity):
    with pytest.raises(EvaluationError, match=r"^capacity memory: "):
        compile_selector("true").evaluate(Device("d", {}, {"memory": quantity}))


def test_capacities_are_compared_in_the_form_that_the_api_server_stores():
    # 1.5Gi is stored as 1536Mi, which is an integer; in an expression, quantity("1.5Gi") is not converted to one.
    device = Device("d", {}, {"a": "1.5Gi", "b": "1000m", "c": 3})

    assert compile_selector('device.capacity["d"].a.isInteger() && device.capacity["d"].b.asInteger() == 1').evaluate(device)
    assert compile_selector('device.capacity["d"].c == quantity("3")').evaluate(device)


def test_equal_expressions_are_compiled_once():
    assert compile_selector("1 == 1") is compile_selector("1 == 1")
    assert isinstance(compile_selector("1 == 1"), Selector)


def test_an_expression_has_the_length_that_the_api_server_allows():
    expression = '"' + "x" * (10 * 1024 - 8) + '" != ""'

    assert compile_selector(expression[:-1] + '"').evaluate(GPU)
    with pytest.raises(CompileError, match=r"^Too long: may not be more than 10240 bytes$"):
        compile_selector(expression + " " * 10)


@pytest.mark.parametrize(
    "expression",
    [
        "cel.bind(l, lists.range(1000), l.all(x, l.all(y, x + y >= 0)))",
        "lists.range(1000000).size() == 1",
        "lists.range(1000000).all(x, x >= 0) || true",
    ],
)
def test_an_expression_that_costs_too_much_is_an_error(expression):
    with pytest.raises(EvaluationError, match=r"^operation cancelled: actual cost limit exceeded$"):
        compile_selector(expression).evaluate(GPU)


@pytest.mark.parametrize(
    "expression",
    [
        # Each doubles what is below it.
        "".join(f"cel.bind(v{n}, v{n - 1} + v{n - 1} + v{n - 1} + v{n - 1}, " for n in range(1, 9)).join(
            ("cel.bind(v0, dyn('" + "x" * 1000 + "'), ", "v8.size() > 0" + ")" * 9)
        ),
        '"%.999999999f".format([1.0]) == ""',
        f'"{"a" * 3000}".replace("", "{"b" * 3000}") == ""',
        "[" + "[1]," * 1000 + "].map(x, " + "+".join(["lists.range(999999)"] * 5) + ").size() == 0",
    ],
)
def test_values_are_limited(expression):
    with pytest.raises(EvaluationError, match=r"larger than|exceeds maximum allowed|cost limit"):
        compile_selector(expression).evaluate(GPU)


@pytest.mark.parametrize(
    "expression", ["(" * 400 + "1" + ")" * 400, "+".join("1" * 500) + " == 1", "\ud800", "\0", "a" * 10000, "[" * 3000, "!" * 5000]
)
def test_expressions_that_cannot_be_parsed_are_errors(expression):
    with pytest.raises(CompileError):
        compile_selector(expression)


@pytest.mark.parametrize("expression", [None, 1, True, 1.5, b"true", ["true"], {}])
def test_only_a_string_is_an_expression(expression):
    with pytest.raises(CompileError, match=rf"^must be a string, not {type(expression).__name__}$"):
        compile_selector(expression)


def test_protobuf_messages_are_not_supported():
    with pytest.raises(CompileError, match=r"undeclared reference to .google\.protobuf\.Int64Value."):
        compile_selector("google.protobuf.Int64Value{value: 1} == 1")


def test_regular_expressions_take_linear_time():
    device = Device("d", {"x": "a" * 64 + "!"})

    assert not compile_selector('device.attributes["d"].x.matches("^(a+)+$")').evaluate(device)
    assert not compile_selector('device.attributes["d"].x.matches("^(a|aa)+$")').evaluate(device)


def test_the_libraries_are_loaded_by_the_first_selector():
    code = """
import sys
import scheduler_core.facade, scheduler_core.cel.selector as selector
assert not {"cel_expr_python", "re2"} & set(sys.modules)
selector.compile_selector("1 == 1").evaluate(selector.Device("d"))
assert "cel_expr_python" in sys.modules and "re2" not in sys.modules
selector.compile_selector("device.driver.matches('d')").evaluate(selector.Device("d"))
assert "re2" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
