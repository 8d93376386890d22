"""New objects as the API server admits them: recorded answers of a real one."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from expansion.admission import quotas
from expansion.admission.admit import Rules
from expansion.admission.limit_ranges import LimitRanges
from expansion.admission.quotas import Charge, Charges
from kubeapi.gather import gather
from kubeapi.names import Name

CASES = json.loads((Path(__file__).parent.parent / "cases" / "pod-admission.json").read_text(encoding="utf-8"))
SHOWN = ("overhead", "nodeSelector", "priorityClassName", "tolerations")


def shown(admitted):
    spec = admitted["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    resources = [{key: each.get("resources", {}).get(key) or {} for key in ("requests", "limits")} for each in containers]
    return {"resources": resources, **{key: spec[key] for key in SHOWN if spec.get(key)}}


@pytest.mark.parametrize("case", CASES, ids=[each["name"].replace(" ", "-") for each in CASES])
def test_new_objects_are_admitted_as_by_the_api_server(case):
    """Most of them are pods; with another kind, they are only refused or not."""
    rules = Rules.from_objects([gather(case["objects"])[0]], strict=True)
    admitted = []
    for given, answer in zip(case["pods"], case["answers"], strict=True):
        new = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(given)}
        is_pod = new["kind"] == "Pod"
        ranges = rules.limits.get("default") or LimitRanges()
        of_claim = ranges.claim_violations(new) if new["kind"] == "PersistentVolumeClaim" else ()
        reasons = rules.admit(new) if is_pod else [*of_claim]
        charges = Charges([Charge(each, Name("Job", "default", "train")) for each in (*admitted, new)])
        refused = reasons or [each for namespace in rules.quotas for each in quotas.shortages(rules.quotas[namespace], charges)]
        name = given["metadata"]["name"]

        assert (name, bool(refused)) == (name, "refused" in answer)
        said = [each.partition("; did you mean")[0].partition(" (LimitRange")[0] for each in reasons]
        assert [each for each in said if each not in answer["refused"]] == []
        if not refused:
            assert (name, answer) == (name, shown(new) if is_pod else {})
            admitted.append(new)
