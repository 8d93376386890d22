"""Names of Workloads and groups."""

from __future__ import annotations

import pytest

from kubeapi import content
from workloadbuilder.names import digest, group_name, longest_group_name, workload_name
from workloadbuilder.workload_item import Owner


@pytest.mark.parametrize(
    ("name", "uid", "want"),
    [
        # As k8s.io/component-helpers v0.38.0-alpha.2 answers.
        pytest.param("job", "uid-1", "job-647cf7d9", id="its own test's"),
        pytest.param("", "uid-1", "647cf7d9", id="no name"),
        pytest.param("train", "3f2d6c0e-8a51-4a0f-9d0f-6b8a2f6b1c11", "train-fdbcc5b86", id="a uid as there are"),
        pytest.param("training-run.v2", "00000000-0000-0000-0000-000000000000", "training-run.v2-587798f5c5", id="a name with a dot"),
        pytest.param("job" * 100, "uid-2", f"{'job' * 80}jo-86b9457d68", id="a name that is cut"),
        pytest.param("name", "ü", "name-5b9df45676", id="bytes, not characters"),
        pytest.param("train", "", "train", id="no uid"),
    ],
)
def test_workload_is_called_after_its_owner(name, uid, want):
    assert want == workload_name(Owner("batch/v1", "Job", name, uid))


@pytest.mark.parametrize(
    ("workload", "template", "want"),
    [
        # As the Job controller of Kubernetes 1.37.1 answers.
        pytest.param("train-647cf7d9", "workers", "train-647cf7d9-workers-6b6bc57779", id="both whole"),
        pytest.param("w", "t", "w-t-56b6fd67c8", id="short"),
        pytest.param("w" * 253, "workers", f"{'w' * 234}-workers-55cc74c569", id="the workload cut"),
        pytest.param("w" * 200, "t" * 63, f"{'w' * 178}-{'t' * 63}-5d4f5ccf75", id="the longer one cut"),
        pytest.param("w" * 100, "t" * 160, f"{'w' * 100}-{'t' * 141}-6c5bb44d45", id="the template cut"),
        pytest.param("w" * 250, "t" * 250, f"{'w' * 121}-{'t' * 120}-6447cd8695", id="both cut"),
    ],
)
def test_group_of_an_owner_with_a_uid_is_called_as_in_1_37(workload, template, want):
    assert want == group_name(workload, template, owner_uid="uid-1")
    assert want == group_name(workload, template, owner_uid="uid-2")


@pytest.mark.parametrize(
    ("workload", "template", "uid", "want"),
    [
        # As k8s.io/component-helpers v0.38.0-beta.0 answers.
        pytest.param("job-647cf7d9", "workers", "uid-1", "job-647cf7d9-workers-cc9d89588", id="both whole"),
        pytest.param("w", "t", "ü", "w-t-74d6bb4cf7", id="bytes, not characters"),
        pytest.param("train", "workers", "uid-1", "train-workers-5489dff854", id="one limit between the names"),
        pytest.param("trainw", "orkers", "uid-1", "trainw-orkers-6ffdc5bd5b", id="another limit between the names"),
        pytest.param("w" * 250, "t" * 250, "uid-2", f"{'w' * 121}-{'t' * 120}-79dfd58456", id="both cut"),
    ],
)
def test_group_of_an_owner_with_a_uid_is_called_as_in_1_38(workload, template, uid, want):
    assert want == group_name(workload, template, owner_uid=uid, kubernetes=38)


@pytest.mark.parametrize(
    ("text", "want"), [("", "65bb57b6b5"), ("template", "5cbb944dc9"), ("workload", "c5546b9dd"), ("(types.UID)uid-1", "647cf7d9")]
)
def test_digest_is_that_of_kubernetes(text, want):
    assert want == digest(text)


@pytest.mark.parametrize(
    ("index", "want"),
    [
        pytest.param((), "train-workers", id="one group of it"),
        pytest.param((0,), "train-workers-0", id="one of several"),
        pytest.param((2, 11), "train-workers-2-11", id="one of several below one of several"),
    ],
)
def test_group_of_an_owner_without_a_uid_has_no_hash(index, want):
    assert want == group_name("train", "workers", index, owner_uid="")


def test_index_is_part_of_the_hash():
    names = {group_name("train", "workers", (place,), owner_uid="uid-1") for place in range(100)}

    assert 100 == len({name.rpartition("-")[2] for name in names})


@pytest.mark.parametrize(("length", "hashed"), [(253 - len("-workers"), False), (253 - len("-workers") + 1, True)])
def test_plain_name_that_is_too_long_gets_a_hash(length, hashed):
    name = group_name("w" * length, "workers", owner_uid="")

    assert len(name) <= 253
    assert hashed is (name != f"{'w' * length}-workers")
    assert not content.subdomain(name)


@pytest.mark.parametrize("length", range(230, 254))
def test_name_is_legal_wherever_the_cut_falls(length):
    workload = "a." * (length // 2) + "a"
    owner = Owner("batch/v1", "Job", workload[:length].removesuffix("."), "uid-1")

    assert content.subdomain(workload_name(owner)) == []
    assert content.subdomain(group_name(workload, "b" * 63, (1,), owner_uid="uid-1")) == []


def test_a_pod_group_of_the_custom_api_group_has_a_name_that_a_label_can_have():
    longest = longest_group_name("scheduling.muster.dev/v1beta1", composite=False)

    assert longest == 63
    assert group_name("w" * 31, "t" * 31, owner_uid="", longest=longest) == f"{'w' * 31}-{'t' * 31}"
    names = [group_name("w" * 253, "t" * 63, (each,), owner_uid=uid, longest=longest) for uid in ("", "uid-1") for each in (1, 11)]
    assert len({*names}) == 2  # the uid is no part of the hash in 1.37
    assert all(len(each) <= 63 and not content.label_value(each) and not content.subdomain(each) for each in names)


@pytest.mark.parametrize(("api_version", "composite"), [("scheduling.muster.dev/v1beta1", True), ("scheduling.k8s.io/v1beta1", False)])
def test_other_groups_have_names_of_any_length(api_version, composite):
    assert longest_group_name(api_version, composite=composite) == 253
