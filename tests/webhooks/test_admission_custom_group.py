"""Answers about custom resources are those about the built-in kinds: each request of the table of admission, with the API groups exchanged."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from tests.custom_group import in_custom_group
from tests.webhooks.test_admission_cases import CASES, LAYERS, answer
from validators.rules.base import Profile

Case = dict[str, Any]
EXPLAINED = {
    ("v1.37", "wl-update-preemption-changed-gate-off"),
    ("v1.37", "pg-update-topology-key-tas-off"),
    ("v1.37", "pg-finalizer-gate-off"),
    ("v1.37", "cpg-default-preemptionpolicy-gate-off"),
    ("v1.38", "pg-update-topology-key-tas-off"),
}
"""Cases with another answer about custom resources: no gate drops a field of them, so that they keep it, and have its default."""
TABLE = [
    each
    for each in CASES
    if each["layer"] in LAYERS
    and each["kind"] in served_versions.kinds_of(CUSTOM)
    and all(served_versions.form_of(content["apiVersion"]).is_current for content in (each.get("object"), each.get("oldObject")) if content)
]


def answered(case: Case, profile: Profile) -> Case:
    """Return the response, with the patch as operations; without finalizers, which custom resources get on request only."""
    response = answer(copy.deepcopy(case), profile)
    operations = json.loads(base64.b64decode(response.pop("patch", "W10=")))
    response.pop("patchType", None)
    if warnings := [each for each in response.pop("warnings", []) if "custom-group-" not in each]:
        response["warnings"] = warnings  # without what is said of custom resources only
    kept = [each for each in operations if not each["path"].startswith("/metadata")]
    return {**response, "patch": kept}


def in_group(case: Case) -> Case:
    return {**case, **{key: in_custom_group(case.get(key)) for key in ("object", "oldObject", "existing")}}


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['track']}-{case['id']}")
def test_a_case_is_answered_alike(case: Case, profile: Profile) -> None:
    built_in, custom = answered(case, profile), answered(in_group(case), profile)

    # The audit annotation has the rules, also those about custom resources only.
    one, other = (json.dumps(each).replace("scheduling.k8s.io", CUSTOM).replace("custom-group-claims,", "") for each in (built_in, custom))
    same = one == other
    assert same == ((case["track"], case["id"]) not in EXPLAINED), (built_in, custom)
