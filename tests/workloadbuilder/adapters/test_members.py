"""The labels by which the members of groups are told apart, as the controllers set them."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import sound
from tests.workloadbuilder.adapters.jobs import GANG
from tests.workloadbuilder.adapters.test_group_annotations import LWS, RAY_JOB
from workloadbuilder.adapters.members import NotToldApart, group_of, member_labels

JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: research, uid: 2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d13}
spec:
  scheduling: {replicatedJobPolicies: [{targetReplicatedJob: workers, schedulingPolicy: {gang: {}}}]}
  replicatedJobs:
  - {name: driver, template: {spec: {template: {spec: {containers: [{name: main, image: train}]}}}}}
  - {name: workers, replicas: 2, template: {spec: {parallelism: 3, template: {spec: {containers: [{name: main, image: train}]}}}}}
"""


def planned(manifest):
    """The pods of a manifest that are members of groups."""
    result = sound(manifest, groups=True, pods=True, grouped=True)
    return [each for each in result.objects if each["kind"] == "Pod"]


def pod(labels, group=""):
    spec = {"schedulingGroup": {"podGroupName": group}} if group else {}
    return {"kind": "Pod", "metadata": {"labels": labels}, "spec": spec}


@pytest.mark.parametrize("manifest", [GANG, JOBSET, LWS, RAY_JOB], ids=["Job", "JobSet", "LeaderWorkerSet", "RayJob"])
def test_each_planned_pod_is_found_by_its_labels(manifest):
    pods = planned(manifest)
    members = member_labels(pods)

    for each in pods:
        group = each["spec"].get("schedulingGroup", {}).get("podGroupName", "")
        assert group == group_of(each["metadata"]["labels"], members)


def test_labels_of_the_controller_are_preferred():
    (labels,) = member_labels(planned(GANG.replace("template: {", "template: {metadata: {labels: {app: train}}, "))).values()

    assert {"batch.kubernetes.io/job-name": "train"} == labels


def test_labels_of_the_user_count_where_the_controller_sets_none():
    assert {"g": {"app": "a"}} == member_labels([pod({"app": "a", "x": "1"}, "g"), pod({"app": "a", "x": "2"}, "g"), pod({"app": "b"})])


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        ([pod({"app": "a"}, "g"), pod({"app": "a"}, "h")], ("h", "g")),
        ([pod({"app": "a"}, "g"), pod({"app": "a", "x": "1"})], ("g", "")),
        ([pod({}, "g")], ("g", "")),
        ([pod({"app": "a"}, "g"), pod({"app": "b"}, "g")], ("g", "")),
    ],
    ids=["two groups", "a pod without a group", "no labels", "no common label"],
)
def test_groups_that_share_labels_are_named(pods, want):
    with pytest.raises(NotToldApart) as error:
        member_labels(pods)

    assert want == error.value.groups


def test_pods_of_no_or_several_groups_are_members_of_none():
    members = {"g": {"a": "1"}, "h": {"b": "1"}, "broken": {}}

    assert ["g", "", ""] == [group_of(each, members) for each in ({"a": "1"}, {"a": "1", "b": "1"}, {"c": "1"})]
