"""Validation pipeline: fatal errors, warnings, errors of stored objects, and the order of errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kubeapi.field_path import FieldPath
from tests.validators.judging import composite, manifest, pod_group, reported_errors
from validators import pipeline
from validators.gates import Gates
from validators.model.templates import Templates
from validators.rules.base import Operation, Profile, Settings, Severity


def test_a_wrong_type_ends_the_judging() -> None:
    """Only type errors are reported: name and policy of such an object are unknown."""
    new = pod_group("Bad_name", schedulingPolicy={"gang": {"minCount": "4"}})

    assert reported_errors(new) == [("error", "schema-type", "spec.schedulingPolicy.gang.minCount")]


def test_a_number_that_does_not_fit_ends_it_too() -> None:
    assert reported_errors(pod_group("a", priority=2**31)) == [("error", "schema-limit", "spec.priority")]


def test_all_else_is_reported_together() -> None:
    new = pod_group("Bad_name", schedulingPolicy={"gang": {"minCount": 0}}, preemptionPolicy="never", priority=1_000_000_001)

    assert reported_errors(new) == [
        ("error", "schema-format", "metadata.name"),
        ("error", "schema-enum", "spec.preemptionPolicy"),
        ("error", "priority-range", "spec.priority"),
        ("error", "gang-minimum", "spec.schedulingPolicy.gang.minCount"),
    ]


def test_an_unchanged_minimum_of_a_job_is_not_validated_again() -> None:
    """As declarative validation, which passes over fields that an update does not change."""

    def job(minimum: int, **more: Any) -> dict[str, Any]:
        policy = {"gang": {"minCount": minimum}, **more}
        pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}
        spec = {"parallelism": 4, "completions": 4, "scheduling": {"schedulingPolicy": policy}, "template": pods}
        return manifest("Job", "train", spec) | {"apiVersion": "batch/v1"}

    path = "spec.scheduling.schedulingPolicy.gang.minCount"
    assert {each for _, _, each in reported_errors(job(-1, basic={}), old=job(-1))} == {"spec.scheduling.schedulingPolicy"}
    assert path in [each for _, _, each in reported_errors(job(-1), old=job(4))]
    assert path in [each for _, _, each in reported_errors(job(-1))]


@pytest.mark.parametrize(("minimum", "want"), [(2, []), (3, ["spec.podGroupTemplates"])], ids=["unchanged", "changed"])
def test_templates_of_v1alpha2_are_immutable(minimum: int, want: list[str]) -> None:
    """Kubernetes 1.36, pkg/apis/scheduling/validation, ValidateWorkloadUpdate."""

    def workload(minimum: int) -> bytes:
        template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": minimum}}}
        return json.dumps(manifest("Workload", "w", {"podGroupTemplates": [template]})).encode()

    judged = pipeline.validate(
        *("Workload", workload(minimum), workload(2), Operation.UPDATE),
        api_version="scheduling.k8s.io/v1alpha2",
        settings=Settings(minor=36),
    )
    assert want == [str(each.error.path) for each in judged]


@pytest.mark.parametrize("field", ["resourceClaimName", "resourceClaimTemplateName"])
def test_the_name_of_a_claim_of_a_pod_is_that_of_an_object(field: str) -> None:
    """Kubernetes 1.37.1, pkg/apis/core/validation, validatePodResourceClaimSource."""
    spec = {"containers": [{"name": "main", "image": "train"}], "resourceClaims": [{"name": "gpu", field: "Not_a_name"}]}

    assert f"spec.resourceClaims[0].{field}" in [path for _, _, path in reported_errors(manifest("Pod", "p", spec))]


@pytest.mark.parametrize(("uid", "want"), [("1", []), ("2", [("error", "spec-immutable", "metadata.uid")])], ids=["unchanged", "changed"])
def test_a_uid_does_not_change(uid: str, want: list[tuple[str, str, str]]) -> None:
    """apimachinery, pkg/api/validation, ValidateObjectMetaAccessorUpdate."""
    old, new = pod_group("a"), pod_group("a")
    old["metadata"]["uid"], new["metadata"]["uid"] = "1", uid

    assert reported_errors(new, old=json.loads(json.dumps(old))) == want


def test_a_template_without_a_mode_hides_no_later_contradiction() -> None:
    def template(name: str, **mode: Any) -> dict[str, Any]:
        leaf = {"name": f"{name}-leaf", "schedulingPolicy": {"gang": {"minCount": 2}}}
        return {"name": name, "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [leaf], **mode}

    new = manifest("Workload", "w", {"compositePodGroupTemplates": [template("first"), template("second", disruptionMode={"all": {}})]})
    path = "spec.compositePodGroupTemplates[1].podGroupTemplates[0].disruptionMode"

    assert ("error", "disruption-nesting", path) in reported_errors(new)


def test_null_is_absent() -> None:
    assert reported_errors(pod_group("a", priorityClassName=None, schedulingConstraints=None, resourceClaims=None)) == []


def test_unknown_fields_are_the_linters_business() -> None:
    assert reported_errors(pod_group("a", minMember=3)) == []


def test_errors_are_in_order_of_place() -> None:
    """Indexes are ordered as numbers: item 10 comes after item 2."""
    templates = [{"name": f"t{number}", "schedulingPolicy": {"basic": {}}, "compositePodGroupTemplates": []} for number in range(4)]
    new = manifest("Workload", "w", {"compositePodGroupTemplates": list(reversed(templates))})

    assert [f"spec.compositePodGroupTemplates[{place}]" for place in range(4)] == [path for _, _, path in reported_errors(new)]


@pytest.mark.parametrize("operation", [Operation.DELETE])
def test_deletions_are_let_through(operation: Operation) -> None:
    broken = pod_group("Bad_name", schedulingPolicy={})

    assert pipeline.validate("PodGroup", broken, broken, operation, settings=Settings()) == ()


def test_other_subresources_are_let_through() -> None:
    broken = pod_group("Bad_name", schedulingPolicy={})

    assert pipeline.validate("PodGroup", broken, None, Operation.CREATE, subresource="scale", settings=Settings()) == ()


def test_a_status_update_is_judged_by_its_status_alone() -> None:
    new = pod_group("Bad_name", schedulingPolicy={}) | {"status": {"conditions": [{"type": "A", "status": "True", "reason": "B"}]}}
    judged = pipeline.validate("PodGroup", new, new, Operation.UPDATE, subresource="status", settings=Settings())

    assert [str(each.error.path) for each in judged] == ["status.conditions[0].lastTransitionTime"]


def test_what_is_stored_may_stay() -> None:
    """An object that is older than the rules can be updated, and its finalizer removed."""
    stored = manifest(
        "Workload",
        "w",
        {
            "compositePodGroupTemplates": [
                {
                    "name": "r",
                    "schedulingPolicy": {"gang": {"minGroupCount": 5}},
                    "disruptionMode": {"all": {}},
                    "podGroupTemplates": [
                        {"name": "p", "schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
                        {"name": "q", "schedulingPolicy": {"basic": {}}},
                    ],
                }
            ]
        },
        finalizers=["example.com/keep"],
    )
    released = json.loads(json.dumps(stored))
    released["metadata"]["finalizers"] = []

    assert {"all-needs-gang", "disruption-nesting", "gang-reachable"} == {rule for _, rule, _ in reported_errors(stored)}
    assert reported_errors(released, old=stored) == []


class TestSettings:
    def test_a_rule_can_be_made_a_warning(self) -> None:
        severities = (("gang-minimum", Severity.WARNING),)

        assert [each[0] for each in reported_errors(pod_group("a", schedulingPolicy={"gang": {"minCount": 0}}), severities=severities)] == [
            "warning"
        ]

    def test_a_rule_can_be_switched_off(self) -> None:
        severities = (("gang-minimum", Severity.OFF),)

        assert reported_errors(pod_group("a", schedulingPolicy={"gang": {"minCount": 0}}), severities=severities) == []

    @pytest.mark.parametrize(("minor", "want"), [(37, [("error", "spec-immutable", "spec.schedulingPolicy")]), (38, [])])
    def test_a_composites_minimum_may_change_from_1_38_on(self, minor: int, want: list[tuple[str, str, str]]) -> None:
        old, new = (composite("a", schedulingPolicy={"gang": {"minGroupCount": count}}) for count in (2, 1))

        assert want == reported_errors(new, old=old, minor=minor)

    @pytest.mark.parametrize(
        ("rule", "spec", "want"),
        [
            # In profile kep and in profile upstream, each with 1.37 and with 1.38.
            ("priority-range", {"priority": 2_000_000_000}, ("error", "warning", "error", "")),
            ("priority-range", {"priorityClassName": "system-node-critical"}, ("error", "warning", "", "")),
            ("all-needs-gang", {"disruptionMode": {"all": {}}, "schedulingPolicy": {"basic": {}}}, ("error", "error", "", "error")),
        ],
    )
    def test_rules_have_the_versions_that_have_them(self, rule: str, spec: dict[str, Any], want: tuple[str, ...]) -> None:
        new = pod_group("a", **spec)
        results = [
            next((severity for severity, name, _ in reported_errors(new, minor=minor, profile=profile) if name == rule), "")
            for profile in (Profile.KEP, Profile.UPSTREAM)
            for minor in (37, 38)
        ]

        assert list(want) == results

    def test_what_was_stored_before_is_refused_only_where_the_api_server_refuses_it(self) -> None:
        """Of what 1.37 accepts, 1.38 tolerates mode All without a gang and several policies, and not a gang above another policy."""

        def stored(**root: Any) -> dict[str, Any]:
            leaf = {"name": "leaf", "schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}, "preemptionPolicy": "Never"}
            return manifest("Workload", "w", {"compositePodGroupTemplates": [{"name": "root", "podGroupTemplates": [leaf], **root}]})

        for policy, on_creation, on_update in (
            ({"basic": {}}, {"all-needs-gang", "priority-uniform"}, set()),
            ({"gang": {"minGroupCount": 1}}, {"all-needs-gang", "priority-uniform", "gang-nesting"}, {"gang-nesting"}),
        ):
            old = stored(schedulingPolicy=policy)
            new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
            judged = {"minor": 38, "profile": Profile.UPSTREAM}
            assert on_creation == {rule for _, rule, _ in reported_errors(new, **judged)}
            assert on_update == {rule for _, rule, _ in reported_errors(new, old=old, **judged)}
            assert reported_errors(new, minor=37, profile=Profile.UPSTREAM) == []

    @pytest.mark.parametrize(
        ("changed", "want"), [({}, []), ({"suspend": True}, [("error", "job-scheduling", "spec.scheduling.disruptionMode")])]
    )
    def test_a_stored_job_is_judged_again_if_its_spec_changes(self, changed: dict[str, Any], want: list[tuple[str, str, str]]) -> None:
        old = manifest("Job", "j", {"scheduling": {"disruptionMode": {"all": {}}}, "template": {"spec": {}}})
        new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}, "spec": {**old["spec"], **changed}}

        assert want == reported_errors(new, old=old, minor=38)

    def test_a_field_whose_gate_is_off_counts_as_absent_and_is_warned_of(self) -> None:
        new = pod_group("a", preemptionPolicy="never")

        assert reported_errors(new, gates=Gates(frozenset({"PodGroupPreemptionPolicy"}))) == [
            ("warning", "gate-off", "spec.preemptionPolicy")
        ]


def full(depth: int, **fields: Any) -> dict[str, Any]:
    """Return a Workload with eight templates in each list."""

    def below(prefix: str, levels: int) -> dict[str, Any]:
        listed = [{"name": f"{prefix}{number}", "schedulingPolicy": {"gang": {"minCount": 1}}} for number in range(8)]
        if levels == 1:
            return {"podGroupTemplates": [each | fields for each in listed]}
        inner = [each | {"schedulingPolicy": {"basic": {}}} | below(f"{each['name']}-", levels - 1) for each in listed]
        return {"compositePodGroupTemplates": inner}

    return manifest("Workload", "w", below("t", depth))


def test_the_errors_of_all_templates_cost_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, walk = [], Templates.walk
    monkeypatch.setattr(Templates, "walk", lambda templates: (steps.append(each) or each for each in walk(templates)))
    result = reported_errors(full(2, priorityClassName="No_Class", schedulingConstraints={"topology": [{"key": "no key"}]}))

    assert len(result) == 64 * 2 + 1
    assert len(steps) <= 72


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(full(2, schedulingPolicy={"gang": {"minCount": 7}}), full(2), id="other sizes"),
        pytest.param(full(2), full(2, schedulingPolicy={"gang": {"minCount": 7}}), id="other sizes before"),
    ],
)
def test_a_right_update_of_all_templates_costs_no_path(new: dict[str, Any], old: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    requested, path = [], Templates.path
    monkeypatch.setattr(Templates, "path", lambda templates, shape: requested.append(shape) or path(templates, shape))

    assert (reported_errors(new, old=old), requested) == ([], [])


def compared(templates: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often two paths are compared while a file's faulty Workload is examined."""
    wrong = {"name": "No_Name", "priority": "1", "schedulingPolicy": {"basic": {}}}
    new = manifest("Workload", "w", {"podGroupTemplates": [wrong] * 8})
    new["spec"]["compositePodGroupTemplates"] = [{"name": f"c{each}", "schedulingPolicy": {}, **new["spec"]} for each in range(templates)]
    count, equal, starts = 0, FieldPath.__eq__, FieldPath.starts_with

    def counted(compare: Callable[[FieldPath, Any], bool]) -> Callable[[FieldPath, Any], bool]:
        def compares(path: FieldPath, other: Any) -> bool:
            nonlocal count
            count += 1
            return compare(path, other)

        return compares

    with monkeypatch.context() as patch:
        patch.setattr(FieldPath, "__eq__", counted(equal))
        patch.setattr(FieldPath, "starts_with", counted(starts))
        judged = pipeline.examine(new, Settings(linting=True)).violations
    assert sum(each.error.origin == "schema-type" for each in judged) == 8 * (templates + 1)
    return count


def test_the_faults_of_a_shape_are_not_compared_each_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = compared(4, monkeypatch), compared(8, monkeypatch)

    assert many <= 2 * few + 10
