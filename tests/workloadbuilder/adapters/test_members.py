"""The labels by which the members of groups are told apart, as the controllers set them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloadbuilder.adapters.compiling import sound
from tests.workloadbuilder.adapters.jobs import GANG
from tests.workloadbuilder.adapters.test_group_annotations import LWS, RAY_JOB
from workloadbuilder.adapters.members import MemberIndex, NotToldApart, member_labels

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


def group_of(labels, members):
    """The group of a pod by an index of *members*."""
    index = MemberIndex()
    for group, wanted in members.items():
        index.add(group, wanted)
    return index.group_of(labels)


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
    (members,) = member_labels(planned(GANG.replace("template: {", "template: {metadata: {labels: {app: train}}, "))).values()

    assert ({"batch.kubernetes.io/job-name": "train"},) == members


def test_labels_of_the_user_count_where_the_controller_sets_none():
    assert {"g": ({"app": "a"},)} == member_labels([pod({"app": "a", "x": "1"}, "g"), pod({"app": "a", "x": "2"}, "g"), pod({"app": "b"})])


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


def test_the_leader_of_workers_is_told_by_the_label_that_it_has_alone():
    leader, workers = pod({"a": "1", "index": "0"}, "leader"), [pod({"a": "1", "index": index}, "workers") for index in "12"]

    members = member_labels([leader, *workers])

    assert {"leader": ({"a": "1", "index": "0"},), "workers": ({"a": "1"},)} == members
    assert ["leader", "workers", "workers"] == [group_of({"a": "1", "index": index}, members) for index in "012"]


def test_pods_of_no_or_several_groups_are_members_of_none():
    members = {"g": ({"a": "1"},), "h": ({"b": "1"},), "broken": ({},)}

    assert ["g", "", ""] == [group_of(each, members) for each in ({"a": "1"}, {"a": "1", "b": "1"}, {"c": "1"})]


def test_restarted_and_scaled_pods_stay_members():
    members = member_labels(planned(JOBSET))
    again = {"jobset.sigs.k8s.io/restart-attempt": "1", "jobset.sigs.k8s.io/global-replicas": "9"}

    for each in planned(JOBSET):
        assert each["spec"]["schedulingGroup"]["podGroupName"] == group_of({**each["metadata"]["labels"], **again}, members)


def test_pods_of_different_controllers_can_have_one_group():
    pods = [pod({"ray.io/cluster": "c", "ray.io/group": group}, "g") for group in "xy"] + [pod({"batch.kubernetes.io/job-name": "j"}, "g")]

    members = member_labels([*pods, pod({"other": "1"})])

    assert {"g": ({"ray.io/cluster": "c"}, {"batch.kubernetes.io/job-name": "j"})} == members
    assert ["g", "g", "g"] == [group_of(each["metadata"]["labels"], members) for each in pods]


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
MEMBERS = st.lists(LABELS, min_size=1, max_size=2).map(tuple)


@given(st.lists(st.tuples(st.sampled_from("ghijk"), MEMBERS), max_size=8), st.lists(LABELS, max_size=5))
def test_the_index_finds_the_group_that_a_search_finds_after_any_changes(changes, pods):
    """Each change adds a group, or removes it if it is there."""
    index, there = MemberIndex(), {}
    for group, members in changes:
        if group in there:
            index.remove(group, there.pop(group))
        else:
            there[group] = members
            index.add(group, members)

        assert [searched(each, there) for each in pods] == [index.group_of(each) for each in pods]


def searched(labels, members):
    """The only group with the labels of all groups that have labels of the pod; empty if there is none."""
    found = [(group, each) for group, wanted in members.items() for each in wanted if each and each.items() <= labels.items()]
    widest = {group for group, wanted in found if all(each.items() <= wanted.items() for _, each in found)}
    groups = {group for group, _ in found}
    return next(iter(groups)) if len(groups) == 1 else widest.pop() if len(widest) == 1 else ""
