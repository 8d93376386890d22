"""Annotations by which a parent's controller names the group that a child's controller creates."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.trees import error_lines
from workloadbuilder import template_annotations
from workloadbuilder.template_annotations import PARENT, PARENT_IN_KEP, TEMPLATE, WORKLOAD, Linkage


@pytest.mark.parametrize(
    ("parent", "want"),
    [
        ("replica-0", {"scheduling.k8s.io/group-template-name": "workers", "scheduling.k8s.io/parent-compositepodgroup": "replica-0"}),
        ("", {"scheduling.k8s.io/group-template-name": "workers"}),
    ],
    ids=["below a parent", "at the top"],
)
def test_writes_as_kubernetes_1_37_spells_them(parent, want):
    assert want == template_annotations.write("train", "workers", parent)
    assert {**want, WORKLOAD: "train"} == template_annotations.write("train", "workers", parent, kubernetes=38)


@pytest.mark.parametrize("parent", ["", "replica-0"])
def test_reads_what_was_written(parent):
    for minor, workload in ((37, ""), (38, "train")):
        written = template_annotations.write("train", "workers", parent, kubernetes=minor)
        assert Linkage("workers", workload, parent) == template_annotations.read({"annotations": written})


def test_reads_the_keps_spelling_with_a_warning():
    read = template_annotations.read({"annotations": {TEMPLATE: "workers", PARENT_IN_KEP: "replica-0"}})

    assert ("workers", "replica-0", ()) == (read.template, read.parent, read.errors)
    (warning,) = error_lines(read.warnings)
    assert warning.startswith("metadata.annotations[scheduling.k8s.io/parent-composite-podgroup]: Invalid value: ")
    assert warning.endswith(": Kubernetes 1.37 calls this annotation scheduling.k8s.io/parent-compositepodgroup")


def test_two_spellings_of_two_parents_contradict():
    read = template_annotations.read({"annotations": {PARENT: "replica-0", PARENT_IN_KEP: "replica-1"}})

    assert "replica-0" == read.parent
    (error,) = read.errors
    assert "metadata.annotations[scheduling.k8s.io/parent-composite-podgroup]" == str(error.path)
    assert "Invalid value: must be the same as scheduling.k8s.io/parent-compositepodgroup, or absent" == str(error)


def test_two_spellings_of_one_parent_do_not():
    read = template_annotations.read({"annotations": {PARENT: "replica-0", PARENT_IN_KEP: "replica-0"}})

    assert ("replica-0", ()) == (read.parent, read.errors)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        pytest.param({TEMPLATE: "train/workers"}, TEMPLATE, id="no label"),
        pytest.param({TEMPLATE: ["workers"]}, TEMPLATE, id="no text"),
        pytest.param({TEMPLATE: ""}, TEMPLATE, id="empty"),
        pytest.param({PARENT: "Replica"}, PARENT, id="no subdomain"),
        pytest.param({PARENT_IN_KEP: 3}, PARENT_IN_KEP, id="a number"),
    ],
)
def test_what_is_no_name_is_reported_and_not_used(annotations, want):
    read = template_annotations.read({"annotations": annotations})

    assert [f"metadata.annotations[{want}]"] == [str(error.path) for error in read.errors]
    assert ("", "") == (read.template, read.parent)


@pytest.mark.parametrize("metadata", [None, [], "x", {}, {"annotations": None}, {"annotations": [1]}, {"annotations": {TEMPLATE: None}}])
def test_metadata_without_annotations_says_nothing(metadata):
    assert Linkage() == template_annotations.read(metadata)
