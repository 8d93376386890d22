"""The group that a pod names, by field or by label."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeapi.decoders import DECODERS
from kubeapi.pods import POD_GROUP_LABEL, Pod, group_in

BY_FIELD = {"schedulingGroup": {"podGroupName": "field"}}
BY_LABEL = {POD_GROUP_LABEL: "label"}


@pytest.mark.parametrize(
    ("spec", "labels", "want"),
    [
        pytest.param(BY_FIELD, None, "field", id="field"),
        pytest.param({}, BY_LABEL, "label", id="label"),
        pytest.param(BY_FIELD, BY_LABEL, "field", id="the field wins"),
        pytest.param({"schedulingGroup": {}}, BY_LABEL, "label", id="a field without a name"),
        pytest.param({"schedulingGroup": None}, {POD_GROUP_LABEL: ""}, "", id="an empty label"),
        pytest.param({}, {"app": "a"}, "", id="none"),
    ],
)
def test_the_group_of_a_pod_is_one_as_struct_and_as_json(spec: Any, labels: Any, want: str) -> None:
    pod = {"metadata": {"name": "p", "labels": labels}, "spec": spec}
    known = json.dumps({key: {name: value for name, value in part.items() if value is not None} for key, part in pod.items()})

    assert want == group_in(pod) == DECODERS[Pod].decode(known).group


@pytest.mark.parametrize(
    "pod", [None, 1, [], {}, {"metadata": []}, {"spec": {"schedulingGroup": 1}}, {"spec": {"schedulingGroup": {"podGroupName": 1}}}]
)
def test_json_of_any_shape_names_no_group(pod: Any) -> None:
    assert group_in(pod) == ""
