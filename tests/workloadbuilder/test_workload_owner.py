"""Owner and name of a Workload."""

from __future__ import annotations

import dataclasses

import pytest

from tests.workloadbuilder.trees import ANY, JOB, WITH_UID, error_lines
from workloadbuilder import workload_owner
from workloadbuilder.workload_item import Owner


def test_options_of_a_sound_owner_hold():
    assert list(workload_owner.check(ANY)) == []
    assert list(workload_owner.check(dataclasses.replace(ANY, namespace="", name=""))) == []
    assert list(workload_owner.check(dataclasses.replace(ANY, owner=Owner("v1", "ReplicationController", "web")))) == []


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(
            {"owner": Owner("batch/v1", "Job", "")},
            "metadata.name: Required value: a Workload must be owned by its controller",
            id="no name",
        ),
        pytest.param(
            {"owner": Owner("batch/v1", "", "train")}, "kind: Required value: a Workload must be owned by its controller", id="no kind"
        ),
        pytest.param({"owner": Owner("", "Job", "train")}, "apiVersion: Invalid value: \"\": invalid owner apiVersion ''", id="no version"),
        pytest.param(
            {"owner": Owner("a/b/c", "Job", "train")},
            "apiVersion: Invalid value: \"a/b/c\": invalid owner apiVersion 'a/b/c'",
            id="two slashes",
        ),
        pytest.param({"owner": Owner("Batch/v1", "Job", "train")}, "apiVersion: Invalid value: ", id="a group that is no subdomain"),
        pytest.param(
            {"owner": Owner("batch/v1", "a/b", "train")}, "kind: Invalid value: \"a/b\": may not contain '/'", id="a kind with a slash"
        ),
        pytest.param(
            {"owner": Owner("batch/v1", "Job", "Train"), "name": ""},
            'metadata.name: Invalid value: "Train": a lowercase',
            id="a name that is none",
        ),
        pytest.param({"name": "Train"}, 'metadata.name: Invalid value: "Train": a lowercase', id="another name that is none"),
        pytest.param({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": must not contain dots', id="a namespace with a dot"),
        pytest.param(
            {"version": "v1"},
            ': Unsupported value: "scheduling.k8s.io/v1": supported values: "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", '
            '"scheduling.muster.dev/v1beta1"',
            id="a version that is not served",
        ),
        pytest.param(
            {"version": "v1alpha3", "api_group": "scheduling.muster.dev"},
            ': Unsupported value: "scheduling.muster.dev/v1alpha3": supported values: ',
            id="a version that the API group does not have",
        ),
    ],
)
def test_what_does_not_hold_is_reported_at_the_owner(changed, want):
    (error,) = error_lines(tuple(workload_owner.check(dataclasses.replace(ANY, **changed))))

    assert error.startswith(want)


def test_workload_is_called_as_said_or_after_its_owner():
    assert "mine" == dataclasses.replace(ANY, name="mine").workload_name
    assert "train-647cf7d9" == dataclasses.replace(ANY, name="", owner=WITH_UID).workload_name


def test_owner_with_a_uid_is_referred_to_as_the_controller():
    want = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-1", "controller": True, "blockOwnerDeletion": True}

    assert [want] == workload_owner.owner_references(WITH_UID)
    assert list(workload_owner.warnings(WITH_UID)) == []


def test_owner_without_a_uid_is_not_referred_to_and_that_is_reported():
    assert workload_owner.owner_references(JOB) == []
    assert error_lines(tuple(workload_owner.warnings(JOB))) == [
        "metadata.uid: Required value: without the owner's uid there are no ownerReferences, and the objects are not deleted with the owner"
    ]


@pytest.mark.parametrize(
    ("api_version", "want"), [("batch/v1", {"apiGroup": "batch", "kind": "Job", "name": "train"}), ("v1", {"kind": "Job", "name": "train"})]
)
def test_controller_reference_has_the_group_without_the_version(api_version, want):
    assert want == workload_owner.controller_ref(Owner(api_version, "Job", "train"))
