"""The pipeline: what ends the judging, what only warns, what an old object excuses, and how errors are ordered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from validators import pipeline
from validators.field import FieldPath
from validators.gates import Gates
from validators.lookup import NOTHING, KnownObjects
from validators.model.templates import Templates
from validators.rules.base import Operation, Profile, Settings, Severity


def manifest(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    version = "v1alpha3" if kind in {"Workload", "PodGroup", "CompositePodGroup"} else "v1"
    group = "scheduling.k8s.io/" if version == "v1alpha3" or kind == "PriorityClass" else ""
    return {"apiVersion": group + version, "kind": kind, "metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec}


def composite(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    parents = {} if parent is None else {"parentCompositePodGroupName": parent}
    given = {"workloadRef": {"workloadName": "w", "templateName": "t"}, "schedulingPolicy": {"basic": {}}, **parents, **spec}
    return manifest("CompositePodGroup", name, given)


def pod_group(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    parents = {} if parent is None else {"parentCompositePodGroupName": parent, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    return manifest("PodGroup", name, {"schedulingPolicy": {"gang": {"minCount": 1}}, **parents, **spec})


def known(*manifests: dict[str, Any]) -> KnownObjects:
    return KnownObjects([found for each in manifests if (found := pipeline.decode_for_lookup(each))], complete=True)


def told(new: dict[str, Any], *, old: dict[str, Any] | None = None, lookup: Any = NOTHING, **settings: Any) -> list[tuple[str, str, str]]:
    operation = Operation.CREATE if old is None else Operation.UPDATE
    judged = pipeline.validate(new["kind"], json.dumps(new).encode(), old, operation, settings=Settings(**settings), lookup=lookup)
    return [(each.severity.value, each.error.origin, str(each.error.path)) for each in judged]


def test_a_wrong_type_ends_the_judging() -> None:
    """Only the types are told: what the name or the policy is cannot be said of such an object."""
    new = pod_group("Bad_name", schedulingPolicy={"gang": {"minCount": "4"}})

    assert told(new) == [("error", "schema-type", "spec.schedulingPolicy.gang.minCount")]


def test_a_number_that_does_not_fit_ends_it_too() -> None:
    assert told(pod_group("a", priority=2**31)) == [("error", "schema-limit", "spec.priority")]


def test_all_else_is_told_together() -> None:
    new = pod_group("Bad_name", schedulingPolicy={"gang": {"minCount": 0}}, preemptionPolicy="never", priority=1_000_000_001)

    assert told(new) == [
        ("error", "schema-format", "metadata.name"),
        ("error", "schema-enum", "spec.preemptionPolicy"),
        ("error", "priority-range", "spec.priority"),
        ("error", "gang-minimum", "spec.schedulingPolicy.gang.minCount"),
    ]


def test_null_is_absent() -> None:
    assert told(pod_group("a", priorityClassName=None, schedulingConstraints=None, resourceClaims=None)) == []


def test_unknown_fields_are_the_linters_business() -> None:
    assert told(pod_group("a", minMember=3)) == []


def test_errors_are_in_order_of_place() -> None:
    """Numbers are ordered as numbers: item 10 comes after item 2."""
    templates = [{"name": f"t{number}", "schedulingPolicy": {"basic": {}}, "compositePodGroupTemplates": []} for number in range(4)]
    new = manifest("Workload", "w", {"compositePodGroupTemplates": list(reversed(templates))})

    assert [f"spec.compositePodGroupTemplates[{place}]" for place in range(4)] == [path for _, _, path in told(new)]


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
    """An object from before the rules were there can be updated, and its finalizer removed."""
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

    assert {"all-needs-gang", "disruption-nesting", "gang-reachable"} == {rule for _, rule, _ in told(stored)}
    assert told(released, old=stored) == []


class TestOtherObjects:
    """At admission another object may arrive a moment later: only what is there already can contradict."""

    def test_a_missing_parent_is_a_warning(self) -> None:
        assert told(pod_group("a", "gone"), lookup=known(composite("other")))[:1] == [
            ("warning", "parent-exists", "spec.parentCompositePodGroupName")
        ]

    def test_with_nothing_known_nothing_is_said(self) -> None:
        assert told(pod_group("a", "gone", priorityClassName="high")) == []

    def test_a_cycle_is_refused(self) -> None:
        lookup = known(composite("b", "a"))

        assert ("error", "parent-acyclic", "spec.parentCompositePodGroupName") in told(composite("a", "b"), lookup=lookup)

    def test_a_fifth_level_is_refused(self) -> None:
        chain = [composite("l1"), composite("l2", "l1"), composite("l3", "l2"), composite("l4", "l3")]

        assert ("error", "tree-depth", "spec.parentCompositePodGroupName") in told(pod_group("leaf", "l4"), lookup=known(*chain))
        assert not [each for each in told(pod_group("leaf", "l3"), lookup=known(*chain)) if each[1] == "tree-depth"]

    def test_a_parent_that_comes_late_must_not_make_a_fifth_level(self) -> None:
        below = [composite("l2", "l1"), composite("l3", "l2"), composite("l4", "l3"), pod_group("leaf", "l4")]

        assert ("error", "tree-depth", "metadata.name") in told(composite("l1"), lookup=known(*below))

    def test_a_second_workload_is_refused(self) -> None:
        other = composite("child", "root", workloadRef={"workloadName": "other", "templateName": "t"})

        assert ("error", "tree-one-workload", "spec.workloadRef.workloadName") in told(other, lookup=known(composite("root")))

    def test_nesting_against_an_existing_parent_is_refused(self) -> None:
        lookup = known(composite("root", disruptionMode={"all": {}}))

        assert ("error", "tree-disruption-nesting", "spec.disruptionMode") in told(pod_group("a", "root"), lookup=lookup)

    def test_priority_against_an_existing_parent_is_refused(self) -> None:
        lookup = known(composite("root", priorityClassName="high"))

        assert ("error", "tree-priority-uniform", "spec.priorityClassName") in told(
            pod_group("a", "root", priorityClassName="low"), lookup=lookup
        )

    def test_a_parent_that_is_being_deleted_is_refused(self) -> None:
        parent = composite("root")
        parent["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

        assert ("error", "parent-not-deleting", "spec.parentCompositePodGroupName") in told(pod_group("a", "root"), lookup=known(parent))

    def test_a_difference_from_the_template_is_a_warning(self) -> None:
        workload = manifest("Workload", "w", {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"gang": {"minCount": 9}}}]})
        new = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"})

        assert told(new, lookup=known(workload)) == [("warning", "tree-matches-templates", "spec.schedulingPolicy")]

    def test_upstream_looks_at_none_of_them(self) -> None:
        assert told(composite("a", "b"), lookup=known(composite("b", "a")), profile=Profile.UPSTREAM) == []


class TestSettings:
    def test_a_rule_can_be_made_a_warning(self) -> None:
        severities = (("gang-minimum", Severity.WARNING),)

        assert [each[0] for each in told(pod_group("a", schedulingPolicy={"gang": {"minCount": 0}}), severities=severities)] == ["warning"]

    def test_a_rule_can_be_switched_off(self) -> None:
        severities = (("gang-minimum", Severity.OFF),)

        assert told(pod_group("a", schedulingPolicy={"gang": {"minCount": 0}}), severities=severities) == []

    @pytest.mark.parametrize(("minor", "want"), [(37, [("error", "spec-immutable", "spec.schedulingPolicy")]), (38, [])])
    def test_a_composites_minimum_may_change_from_1_38_on(self, minor: int, want: list[tuple[str, str, str]]) -> None:
        old, new = (composite("a", schedulingPolicy={"gang": {"minGroupCount": count}}) for count in (2, 1))

        assert want == told(new, old=old, minor=minor)

    def test_a_field_whose_gate_is_off_counts_as_absent_and_is_warned_of(self) -> None:
        new = pod_group("a", preemptionPolicy="never")

        assert told(new, gates=Gates(frozenset({"PodGroupPreemptionPolicy"}))) == [("warning", "gate-off", "spec.preemptionPolicy")]


class TestDocuments:
    """``examine``: is the kind ours, the version served, the shape right?"""

    def examine(self, content: dict[str, Any], **settings: Any) -> list[tuple[str, str]]:
        examined = pipeline.examine(content, Settings(linting=True, **settings))
        return [(each.error.origin, str(each.error.path)) for each in examined.violations]

    def test_a_kind_of_another_group_is_foreign(self) -> None:
        assert pipeline.examine({"apiVersion": "example.com/v1", "kind": "PodGroup"}, Settings(linting=True)).foreign

    @pytest.mark.parametrize(
        ("head", "minor", "want"),
        [
            pytest.param({"kind": "Workload"}, 37, [("schema-required", "apiVersion")], id="no version"),
            pytest.param({"apiVersion": "v1"}, 37, [("schema-required", "kind")], id="no kind"),
            pytest.param({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Gang"}, 37, [("schema-enum", "kind")], id="an unknown kind"),
            pytest.param({"apiVersion": "/v9", "kind": "Pod"}, 37, [("schema-enum", "apiVersion")], id="an unknown version of the core"),
            pytest.param(
                {"apiVersion": "/v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}},
                37,
                [],
                id="the core, its empty group written",
            ),
            pytest.param(
                {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "CompositePodGroup"},
                37,
                [("schema-enum", "apiVersion")],
                id="not in that version",
            ),
            pytest.param(
                {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}, 37, [("retired-version", "apiVersion")], id="retired"
            ),
            pytest.param(
                {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}, 36, [("schema-enum", "apiVersion")], id="not yet there"
            ),
            pytest.param(
                {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "PriorityClass"},
                37,
                [("retired-version", "apiVersion")],
                id="a retired class",
            ),
        ],
    )
    def test_head(self, head: dict[str, Any], minor: int, want: list[tuple[str, str]]) -> None:
        assert want == self.examine(head | {"metadata": {"name": "a"}, "spec": {}}, minor=minor)

    def test_a_wrong_type_does_not_hide_the_other_shape_findings(self) -> None:
        content = pod_group("Bad_name", schedulingPolicy={"gang": {"minCount": "4"}}, preemptionPolicy="never", minMember=3)

        assert self.examine(content) == [
            ("schema-format", "metadata.name"),
            ("schema-unknown-field", "spec.minMember"),
            ("schema-enum", "spec.preemptionPolicy"),
            ("schema-type", "spec.schedulingPolicy.gang.minCount"),
        ]

    def test_a_value_of_a_wrong_type_is_not_missing_besides(self) -> None:
        content = manifest("Workload", "w", {"podGroupTemplates": [{"name": 4, "schedulingPolicy": {"basic": {}}}, "x"]})

        assert self.examine(content) == [("schema-type", "spec.podGroupTemplates[0].name"), ("schema-type", "spec.podGroupTemplates[1]")]

    def test_a_whole_number_may_be_written_with_a_point(self) -> None:
        assert self.examine(pod_group("a", schedulingPolicy={"gang": {"minCount": 4.0}})) == []

    def test_a_typo_is_told_with_the_field_that_was_meant(self) -> None:
        examined = pipeline.examine(pod_group("a", schedulingConstraint={}), Settings(linting=True))

        assert "did you mean 'schedulingConstraints'?" in str(examined.violations[0].error)

    @pytest.mark.parametrize(
        ("version", "minor", "spec", "want"),
        [
            pytest.param(
                "v1alpha1",
                35,
                {"podGroups": [{"name": "a", "policy": {"gang": {"minCount": 0}}}]},
                "spec.podGroups[0].policy.gang.minCount",
                id="v1alpha1",
            ),
            pytest.param(
                "v1alpha2",
                36,
                {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {}}]},
                "spec.podGroupTemplates[0].schedulingPolicy",
                id="v1alpha2",
            ),
        ],
    )
    def test_a_version_that_was_served_is_judged_in_its_own_words(self, version: str, minor: int, spec: dict[str, Any], want: str) -> None:
        settings = Settings(linting=True, minor=minor)
        content = {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "Workload", "metadata": {"name": "w"}, "spec": spec}
        examined = pipeline.examine(content, settings)
        assert examined.object is not None
        judged = pipeline.validate_document(examined.object, settings, lookup=NOTHING, form=examined.form)

        assert list(examined.violations) == []
        assert [want] == [str(each.error.path) for each in judged]


class TestNeighbours:
    """What is wrong with one document is not told again, wrongly, at those that refer to it."""

    def told(self, *contents: dict[str, Any], **settings: Any) -> list[tuple[str, str, str]]:
        chosen = Settings(linting=True, **settings)
        examined = [pipeline.examine(each, chosen) for each in contents]
        objects = [each.object for each in examined if each.object is not None]
        lookup = KnownObjects(objects, complete=False)
        found = []
        for content, each in zip(contents, examined, strict=True):
            judged = (
                each.violations or pipeline.validate_document(each.object, chosen, lookup=lookup, form=each.form)
                if each.object
                else each.violations
            )
            found += [(content["metadata"]["name"], one.error.origin, str(one.error.path)) for one in judged]
        return found

    def test_a_template_of_a_wrong_type_is_not_compared_with(self) -> None:
        template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": "1"}}}
        group = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"})

        assert [("w", "schema-type", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount")] == self.told(
            manifest("Workload", "w", {"podGroupTemplates": [template]}), group
        )

    def test_a_retired_group_is_there_all_the_same(self) -> None:
        old = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "old"}, "spec": {}}
        pod = manifest("Pod", "p", {"schedulingGroup": {"podGroupName": "old"}})

        assert [("old", "retired-version", "apiVersion")] == self.told(old, pod_group("new"), pod)

    def test_a_composite_in_the_wrong_version_is_a_parent_that_exists(self) -> None:
        parent = composite("root") | {"apiVersion": "scheduling.k8s.io/v1beta1"}

        assert [("root", "schema-enum", "apiVersion")] == self.told(parent, composite("other"), pod_group("a", "root"))

    def test_a_name_that_was_meant_as_one_counts(self) -> None:
        pod = manifest("Pod", "p", {"schedulingGroup": {"podGroupName": "5"}})

        assert [(5, "schema-type", "metadata.name")] == self.told(pod_group(5), pod)  # type: ignore[arg-type]

    def test_one_class_in_two_files_is_one_default(self) -> None:
        default = manifest("PriorityClass", "a", {}) | {"value": 1, "globalDefault": True}
        del default["spec"], default["metadata"]["namespace"]

        assert [] == self.told(default, default)

    def test_the_order_of_claims_means_nothing(self) -> None:
        claims = [{"name": name, "resourceClaimName": name} for name in ("x", "y")]
        template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 1}}, "resourceClaims": claims}
        group = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"}, resourceClaims=claims[::-1])

        assert [] == self.told(manifest("Workload", "w", {"podGroupTemplates": [template]}), group)

    def test_keys_of_labels_and_annotations_are_label_keys(self) -> None:
        group = pod_group("a")
        group["metadata"] |= {"labels": {"-bad": "x"}, "annotations": {"a/b/c": "x"}}

        assert [("a", "schema-format", "metadata.annotations[a/b/c]"), ("a", "schema-format", "metadata.labels[-bad]")] == self.told(group)

    def test_the_gate_of_1_35(self) -> None:
        group = {"name": "a", "policy": {"basic": {"desiredCount": 0}}}
        content = {
            "apiVersion": "scheduling.k8s.io/v1alpha1",
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"podGroups": [group]},
        }
        path = "spec.podGroups[0].policy.basic.desiredCount"

        assert [("w", "desired-count", path)] == self.told(content, minor=35)
        assert [("w", "gate-off", path)] == self.told(content, minor=35, gates=Gates(frozenset({"WorkloadBasicPolicyDesiredCount"})))


def test_a_root_that_comes_late_must_not_join_two_workloads() -> None:
    below = [composite("one", "root"), composite("two", "root", workloadRef={"workloadName": "other", "templateName": "t"})]

    assert ("error", "tree-one-workload", "spec.workloadRef.workloadName") in told(composite("root"), lookup=known(*below))


def full(depth: int, **fields: Any) -> dict[str, Any]:
    """A Workload with eight templates in each list."""

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
    found = told(full(2, priorityClassName="No_Class", schedulingConstraints={"topology": [{"key": "no key"}]}))

    assert len(found) == 64 * 2 + 1
    assert len(steps) <= 72


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(full(2, schedulingPolicy={"gang": {"minCount": 7}}), full(2), id="other sizes"),
        pytest.param(full(2), full(2, schedulingPolicy={"gang": {"minCount": 7}}), id="other sizes before"),
    ],
)
def test_a_right_update_of_all_templates_costs_no_path(new: dict[str, Any], old: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, path = [], Templates.path
    monkeypatch.setattr(Templates, "path", lambda templates, shape: asked.append(shape) or path(templates, shape))

    assert (told(new, old=old), asked) == ([], [])


def compared(templates: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often two paths are compared while a file's faulty Workload is examined."""
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
