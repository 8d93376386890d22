"""Conversion of retired versions, their field paths, and the versions that each Kubernetes release serves."""

from __future__ import annotations

import types

import pytest

from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions, v1alpha1, v1alpha2
from kubeapi.versions.api_versions import SCHEDULING, TABLE
from kubeapi.versions.conversion import HUB
from kubeapi.versions.served_versions import Resource


def test_v1alpha1_has_groups_with_a_policy() -> None:
    today = v1alpha1.to_hub({"spec": {"podGroups": [{"name": "a", "policy": {"gang": {"minCount": 2}}}], "controllerRef": {"kind": "Job"}}})

    assert today == {
        "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 2}}}], "controllerRef": {"kind": "Job"}}
    }


@pytest.mark.parametrize(("status_text", "want"), [("Pod", {"single": {}}), ("PodGroup", {"all": {}}), ("Group", {})])
def test_v1alpha2_has_modes_that_are_words(status_text: str, want: dict[str, object]) -> None:
    spec = {"podGroupTemplates": [{"name": "a", "disruptionMode": status_text}], "disruptionMode": status_text}
    today = v1alpha2.to_hub({"spec": spec})["spec"]

    assert (want, want) == (today["disruptionMode"], today["podGroupTemplates"][0]["disruptionMode"])


def test_v1alpha2_refers_to_a_template_by_way_of_a_workload() -> None:
    spec = {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}}

    assert v1alpha2.to_hub({"spec": spec})["spec"] == {"workloadRef": {"workloadName": "w", "templateName": "t"}}


def test_v1alpha2_has_another_name_for_a_condition() -> None:
    conditions = [{"type": "PodGroupScheduled", "status": "True"}, {"type": "DisruptionTarget"}, 4]
    today = v1alpha2.to_hub({"status": {"conditions": conditions}})

    assert today == {"status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}, {"type": "DisruptionTarget"}, 4]}}


@pytest.mark.parametrize(
    ("version", "content"),
    [
        pytest.param(
            v1alpha1,
            {
                "metadata": {"name": "w"},
                "spec": {"podGroups": [{"name": "a", "policy": {"basic": {"desiredCount": 2}}}], "controllerRef": {}},
            },
            id="v1alpha1",
        ),
        pytest.param(
            v1alpha2,
            {
                "spec": {
                    "podGroupTemplates": [
                        {"name": "a", "disruptionMode": "Pod"},
                        {"name": "b", "disruptionMode": "PodGroup"},
                        {"name": "c"},
                    ]
                }
            },
            id="v1alpha2, a Workload",
        ),
        pytest.param(
            v1alpha2,
            {
                "spec": {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}, "disruptionMode": "Pod"},
                "status": {"conditions": [{"type": "PodGroupScheduled"}]},
            },
            id="v1alpha2, a PodGroup",
        ),
    ],
)
def test_todays_form_leads_back(version: types.ModuleType, content: dict[str, object]) -> None:
    assert version.from_hub(version.to_hub(content)) == content


@pytest.mark.parametrize("mode", [{}, {"single": {}, "all": {}}, {"single": None}, None])
def test_a_mode_that_is_no_word_stays_as_it_is(mode: object) -> None:
    assert v1alpha2.from_hub({"spec": {"disruptionMode": mode}}) == {"spec": {"disruptionMode": mode}}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"status": 4},
        {"status": {"conditions": [{"type": []}, None]}},
        {"spec": None},
        {"spec": 4},
        {"spec": {"podGroups": 4, "podGroupTemplates": 4}},
        {"spec": {"podGroups": [4], "podGroupTemplates": [4]}},
    ],
)
def test_what_has_the_wrong_type_passes_through(content: dict[str, object]) -> None:
    assert isinstance(v1alpha1.to_hub(content), dict)
    assert isinstance(v1alpha2.to_hub(content), dict)
    assert isinstance(v1alpha1.from_hub(content), dict)
    assert isinstance(v1alpha2.from_hub(content), dict)


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        (
            FieldPath("spec", "podGroupTemplates", 0, "schedulingPolicy", "gang", "minCount"),
            "spec.podGroups[0].policy.gang.minCount",
            "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount",
        ),
        (
            FieldPath("spec", "workloadRef", "templateName"),
            "spec.workloadRef.templateName",
            "spec.podGroupTemplateRef.workload.podGroupTemplateName",
        ),
        (FieldPath("metadata", "name"), "metadata.name", "metadata.name"),
    ],
)
def test_paths_are_reported_in_the_words_of_the_version(path: FieldPath, first: str, second: str) -> None:
    assert (first, second) == (str(v1alpha1.written_path(path)), str(v1alpha2.written_path(path)))


@pytest.mark.parametrize(
    ("kind", "minor", "want"),
    [
        ("Workload", 35, ["scheduling.k8s.io/v1alpha1"]),
        ("Workload", 36, ["scheduling.k8s.io/v1alpha2"]),
        ("Workload", 37, ["scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1"]),
        ("CompositePodGroup", 36, []),
        ("CompositePodGroup", 37, ["scheduling.k8s.io/v1alpha3"]),
        ("PriorityClass", 37, ["scheduling.k8s.io/v1"]),
        ("Pod", 37, ["v1"]),
    ],
)
def test_served(kind: str, minor: int, want: list[str]) -> None:
    assert want == served_versions.versions_served(kind, minor)


def test_every_kind_has_one_hub_and_it_is_in_the_form_of_today() -> None:
    hubs = [(each.kind, row) for row in TABLE for each in row.kinds if each.hub]

    assert sorted(kind for kind, _ in hubs) == sorted({each.kind for row in TABLE for each in row.kinds})
    assert {row.form for _, row in hubs} == {HUB}


def test_every_api_version_is_one_row() -> None:
    names = [row.name for row in TABLE]

    assert len(names) == len({*names})


@pytest.mark.parametrize(
    ("kind", "version", "want"),
    [
        ("Workload", "v1beta1", "scheduling.k8s.io/v1beta1"),
        ("Workload", "v1alpha3", "scheduling.k8s.io/v1alpha3"),
        ("CompositePodGroup", "v1beta1", "scheduling.k8s.io/v1alpha3"),
        ("PriorityClass", "v1alpha3", "scheduling.k8s.io/v1"),
        ("Workload", "v9", "scheduling.k8s.io/v1beta1"),
    ],
)
def test_closest(kind: str, version: str, want: str) -> None:
    assert want == served_versions.closest(kind, "scheduling.k8s.io", version)


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (
            "PodGroup",
            Resource("PodGroup", SCHEDULING, "podgroups", tuple(f"{SCHEDULING}/{each}" for each in ("v1", "v1beta1", "v1alpha3"))),
        ),
        ("PodDisruptionBudget", Resource("PodDisruptionBudget", "policy", "poddisruptionbudgets", ("policy/v1",))),
        ("Pod", Resource("Pod", "", "pods", ("v1",))),
    ],
)
def test_resource(kind: str, want: Resource) -> None:
    assert want == served_versions.resources(kind)[0] == served_versions.resource(kind, want.group)
    assert served_versions.resource("PriorityClass").resource == "priorityclasses"
