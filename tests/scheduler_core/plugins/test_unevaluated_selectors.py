"""Selectors of devices that cannot be compiled, or not be evaluated for some device."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.causes.claims import SelectorNotEvaluated, SelectorsNotEvaluated
from scheduler_core.causes.filter_reasons import DeviceAdvice
from scheduler_core.causes.plugin_failures import AttemptEnded, PluginFailed
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import NamedClaim
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, decided, leaf, message_of, node, placed, reasons_of
from tests.scheduler_core.plugins.device_objects import (
    CLASS,
    DRIVER,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    template,
    wanting,
)

SELECTING = [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'x'"}}]
BROKEN = [{"cel": {"expression": "device.drivr == 'x'"}}]
WITH, WITHOUT = device("a", {"model": "x"}), "b"
NODES = [node("n1"), node("n2"), device_class(), leaf("g", 1), wanting(group="g")]
ADVICE = "test in the selector whether the device has the attribute, with has(), or read it with .? and orValue()"


def every(**more: Any) -> Json:
    return template("one", request(allocationMode="All", selectors=SELECTING, **more))


def alternatives(*of_request: Json) -> Json:
    written = [{"name": f"a{number}", "deviceClassName": CLASS, **each} for number, each in enumerate(of_request)]
    return template("one", {"name": "gpu", "firstAvailable": written})


def complete(*objects: Json) -> Decision:
    return decided([*NODES, *objects], strategy="complete")


def greedy(*objects: Json) -> Decision:
    return decided([*NODES, *objects], strategy="greedy")


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(every(), id="all"),
        pytest.param(alternatives({"allocationMode": "All", "selectors": SELECTING}, {}), id="all, and an alternative"),
    ],
)
def test_a_request_for_all_devices_fails_where_a_device_cannot_be_judged(claim):
    decision = complete(device_slice("n1", WITH, WITHOUT), claim)
    assert {} == decision.assignments
    assert f"selector #0 on device {DRIVER}/n1/b: CEL runtime error: no such key: model ({ADVICE})" in message_of(decision)
    assert {"p": "n2"} == placed(complete(device_slice("n1", WITH, WITHOUT), device_slice("n2", WITH), claim))


def test_a_device_that_does_not_reach_the_node_matters_only_for_kube_scheduler():
    near, far = device("a", {"model": "x"}, nodeName="n1"), device("b", nodeSelector=only_on("n2"))
    objects = [device_slice(None, near, far, pool="x", perDeviceNodeSelection=True), every()]
    assert {"p": "n1"} == placed(complete(*objects))
    assert greedy(*objects).status is Status.ERROR


def test_a_claim_with_an_alternative_that_does_not_compile_is_not_satisfied():
    decision = complete(device_slice("n1", WITH), alternatives({"selectors": BROKEN}, {}))
    assert {} == decision.assignments
    assert "CEL compile error" in message_of(decision)
    assert "(correct the expression)" in message_of(decision)
    assert "\n" not in message_of(decision)


def test_a_device_that_cannot_be_judged_is_left_out_and_named():
    decision = complete(device_slice("n1", WITHOUT, WITH), template("one", request(selectors=SELECTING)))
    assert {"p": "n1"} == placed(decision)
    assert message_of(decision) == (
        f"claim pod/p/g: selector #0 on device {DRIVER}/n1/b: CEL runtime error: no such key: model (the device is left out; {ADVICE})"
    )


def test_a_selector_of_a_class_that_cannot_be_evaluated_is_named():
    objects = [node("n1"), device_class(selectors=SELECTING), device_slice("n1", WITHOUT, WITH), template(), leaf("g", 1)]
    decision = decided([*objects, wanting(group="g")], strategy="complete")
    assert message_of(decision).startswith(f"class {CLASS}: selector #0 on device {DRIVER}/n1/b: CEL runtime error")


@pytest.mark.parametrize(
    ("claims", "owner"),
    [
        pytest.param([device_class(), template("one", request(selectors=SELECTING))], (NamedClaim("pod/p/g", None), ""), id="claim"),
        pytest.param([device_class(selectors=SELECTING), template()], (None, CLASS), id="class"),
    ],
)
def test_the_cause_names_owner_selector_and_device(claims, owner):
    decision = decided([node("n1"), device_slice("n1", WITHOUT, WITH), leaf("g", 1), wanting(group="g"), *claims], strategy="complete")
    selector = SelectorNotEvaluated(*owner, 0, f"{DRIVER}/n1/b", "no such key: model", DeviceAdvice.TEST_ATTRIBUTE)
    assert (SelectorsNotEvaluated((selector,)),) == decision.causes


@pytest.mark.parametrize(
    ("objects", "advice"),
    [
        pytest.param([device_slice("n1", WITHOUT, WITH), template("one", request(selectors=SELECTING))], ADVICE, id="attribute"),
        pytest.param(
            [device_slice("n1", WITH, count=2), device_slice("n2", WITH), template("one", request(allocationMode="All"))],
            "let the driver publish all slices of the pool, each device once, or request a number of devices instead of all",
            id="incomplete pool",
        ),
    ],
)
def test_the_error_of_kube_scheduler_is_explained(objects, advice):
    decision = greedy(*objects)
    assert decision.status is Status.ERROR
    explained = (
        "kube-scheduler ends the attempt for all pods with this error, also if other nodes or devices can be used; "
        f"strategy complete uses these; to avoid the error, {advice}"
    )
    assert message_of(decision).endswith(explained)
    assert "kube-scheduler" not in reasons_of(decision)["default/p"]
    assert complete(*objects).status is Status.SUCCESS


def test_an_expression_that_does_not_compile_cannot_be_avoided_by_other_devices():
    decision = greedy(device_slice("n1", WITH), template("one", request(selectors=BROKEN)))
    (ended,) = [each.ended for each in decision.causes if isinstance(each, PluginFailed)]
    assert ended == AttemptEnded(others_usable=False, advice=DeviceAdvice.CORRECT_EXPRESSION)
    assert message_of(decision).endswith("ends the attempt for all pods with this error; to avoid the error, correct the expression")
