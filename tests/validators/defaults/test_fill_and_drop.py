"""Defaults of the API server on JSON and on typed objects, and fields that it drops while a gate is off."""

from __future__ import annotations

from typing import Any

import pytest

from validators.defaults import drop, fill
from validators.gates import CLAIMS, COMPOSITE, GENERIC_WORKLOAD, PREEMPTION_POLICY, TOPOLOGY, WITH_JOB, Gates
from validators.model import objects


def group(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"schedulingPolicy": {"basic": {}}, **spec}}


@pytest.mark.parametrize("kind", ["PodGroup", "CompositePodGroup"])
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing given"),
        pytest.param({"disruptionMode": {"all": {}}}, id="a mode given"),
        pytest.param({"disruptionMode": {}}, id="an empty mode is kept"),
        pytest.param({"preemptionPolicy": "Never"}, id="a policy given"),
        pytest.param({"disruptionMode": None, "preemptionPolicy": None}, id="null is absent"),
    ],
)
@pytest.mark.parametrize("minor", [37, 38])
@pytest.mark.parametrize("gates", [Gates(), Gates(frozenset({PREEMPTION_POLICY}))], ids=["gates on", "gate off"])
def test_json_and_typed_objects_are_filled_alike(kind: str, spec: dict[str, Any], gates: Gates, minor: int) -> None:
    content = group(**spec)
    typed = objects.decode_kind(kind, content)

    assert fill.fill(typed, gates, minor) == objects.decode_kind(kind, fill.apply(kind, content, gates, minor))


def test_filling_in_leaves_what_it_is_given_as_it_was() -> None:
    content = group(unknown=1)
    filled = fill.apply("PodGroup", content, Gates(), 37)

    assert group(unknown=1) == content
    assert filled["spec"]["disruptionMode"] == {"single": {}}
    assert filled["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert "preemptionPolicy" not in fill.apply("PodGroup", content, Gates(), 38)["spec"]
    assert filled["spec"]["unknown"] == 1


def test_a_class_is_filled_in() -> None:
    assert fill.apply("PriorityClass", {"value": 1}, Gates(), 37)["preemptionPolicy"] == "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("kind", "new", "gate", "want"),
    [
        ("PodGroup", group(preemptionPolicy="Never"), PREEMPTION_POLICY, "spec.preemptionPolicy"),
        ("PodGroup", group(schedulingConstraints={}), TOPOLOGY, "spec.schedulingConstraints"),
        ("PodGroup", group(resourceClaims=[{"name": "c"}]), CLAIMS, "spec.resourceClaims"),
        ("PodGroup", group(parentCompositePodGroupName="p"), COMPOSITE, "spec.parentCompositePodGroupName"),
        ("CompositePodGroup", group(preemptionPolicy="Never"), PREEMPTION_POLICY, "spec.preemptionPolicy"),
        ("Job", {"spec": {"scheduling": {}}}, WITH_JOB, "spec.scheduling"),
        ("Pod", {"spec": {"schedulingGroup": {"podGroupName": "g"}}}, GENERIC_WORKLOAD, "spec.schedulingGroup"),
        ("Workload", {"spec": {"compositePodGroupTemplates": [{"name": "c"}]}}, COMPOSITE, "spec.compositePodGroupTemplates"),
    ],
)
def test_a_field_whose_gate_is_off_is_dropped_unless_it_is_in_use(kind: str, new: dict[str, Any], gate: str, want: str) -> None:
    typed, gates = objects.decode_kind(kind, new), Gates(frozenset({gate}))
    remaining, nothing = drop.drop_disabled_fields(typed, typed, gates)
    changed, dropped = drop.drop_disabled_fields(typed, None, gates)

    assert [(want, gate)] == [(str(path), name) for path, name in dropped]
    assert nothing == []
    assert changed != remaining


def test_with_all_gates_on_the_object_is_left_as_it_is() -> None:
    typed = objects.decode_kind("PodGroup", group(preemptionPolicy="Never"))

    assert typed is drop.drop_disabled_fields(typed, None, Gates())[0]


def test_a_composites_constraints_have_no_gate_of_their_own() -> None:
    typed = objects.decode_kind("CompositePodGroup", group(schedulingConstraints={}))

    assert drop.drop_disabled_fields(typed, None, Gates(frozenset({TOPOLOGY, COMPOSITE})))[1] == []
