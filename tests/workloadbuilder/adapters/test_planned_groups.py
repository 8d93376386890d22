"""The group of a pod that exists, by its labels.  tests/cluster/test_controllers.py asks it of the pods of real controllers."""

from __future__ import annotations

import copy

import pytest

from tests.workloadbuilder.adapters.compiling import pods, sound
from tests.workloadbuilder.adapters.jobsets import jobset
from tests.workloadbuilder.adapters.planned import planned_group

GANG = jobset(nested="schedulingPolicy: {gang: {}}")
PREFIX = "jobset.sigs.k8s.io"


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        pytest.param({f"{PREFIX}/restart-attempt": "3"}, True, id="created again"),
        pytest.param({f"{PREFIX}/replicatedjob-replicas": "9", "batch.kubernetes.io/job-completion-index": "7"}, True, id="other sizes"),
        pytest.param({f"{PREFIX}/jobset-name": "other"}, False, id="of another object"),
        pytest.param({f"{PREFIX}/job-index": "3"}, False, id="a Job more than are planned"),
    ],
)
def test_pods_with_the_labels_of_planned_ones_have_their_group(changed, is_found):
    compiled = sound(GANG, groups=True, pods=True)
    groups = pods(compiled)
    for each in compiled.objects:
        if each["kind"] == "Pod":
            real = copy.deepcopy(each)
            real["metadata"]["labels"] |= changed
            del real["spec"]["schedulingGroup"]
            assert (groups[each["metadata"]["name"]] if is_found else None) == planned_group(real, compiled)


def test_pods_without_labels_have_none():
    compiled = sound(GANG, groups=True, pods=True)
    assert planned_group({"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}, compiled) is None
