"""Faults of kube-scheduler with claims: recorded results of its own, and those of ``complete``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scheduler_core.test_agreement import answered, short

Json = dict[str, Any]
CASES: list[Json] = json.loads((Path(__file__).parents[1] / "cases" / "device-faults.json").read_text(encoding="utf-8"))
RACE = "dra-crossed-allocation-stored"
"""The result depends on which pod is bound first: pod p1 stays pending if p2 is."""
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def last(case: Json, strategy: str) -> Json:
    answer = answered(case, strategy)
    decision: Json = answer["decisions"][-1]
    return {**decision, "pending": {each["pod"].rpartition("/")[2]: each["reason"] for each in answer["pending"]}}


@ALL
def test_greedy_has_the_result_of_kube_scheduler(case):
    want, decision = case["expect"], last(case, "greedy")
    assert (want["status"], sorted(want.get("victims") or [])) == (decision["status"], decision["victims"])
    if case["id"] == RACE:
        assert "claims of pod p2 get the devices of each other" in decision["message"]
        return
    bound = short(decision["assignments"])
    assert bound.keys() == want["bound"].keys()
    assert all(bound[pod] in nodes for pod, nodes in want["bound"].items())
    assert decision["pending"].keys() == {*want.get("pending", ())}
    conditions = {("PodGroup", each["name"]): each["conditions"][0] for each in decision["groups"]}
    for each in want.get("conditions", ()):
        if each["kind"] == "Pod":
            assert each["messageContains"] in decision["pending"][each["name"]]
        else:
            found = conditions["PodGroup", each["name"]]
            assert (each["status"], each["reason"]) == (found["status"], found["reason"])
            assert each.get("messageContains", "") in found["message"]


@ALL
def test_complete_places_what_can_be_placed(case):
    want, decision = case["complete"], last(case, "complete")
    assert (want["status"], want["devices"]) == (decision["status"], decision.get("devices", {}))
    assert want["bound"] == short(decision["assignments"])


@pytest.mark.parametrize("case", [case for case in CASES if "missing-attribute" in case["id"]], ids=lambda case: case["id"])
def test_the_error_is_explained(case):
    text = last(case, "greedy")["message"]
    assert "kube-scheduler ends the attempt for all pods with this error" in text
    assert "strategy complete uses these; to avoid the error, test in the selector whether the device has the attribute" in text
