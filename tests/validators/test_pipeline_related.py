"""Validation with other objects known: parents, Workloads, members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.validators.judging import composite, manifest, pod_group, reported_errors
from validators import pipeline
from validators.gates import Gates
from validators.hierarchy import group_pods
from validators.hierarchy.group_pods import GroupPods
from validators.model.objects import Object
from validators.object_lookup import NOTHING, KnownObjects, Lookup
from validators.rules import base, gang_enough_pods, gang_waits_for_later
from validators.rules.base import Operation, Profile, Settings


def known(*manifests: dict[str, Any]) -> KnownObjects:
    return KnownObjects([result for each in manifests if (result := pipeline.decode_for_lookup(each))], complete=True)


class TestOtherObjects:
    """At admission another object may arrive a moment later: only existing objects can conflict."""

    def test_a_missing_parent_is_a_warning(self) -> None:
        assert reported_errors(pod_group("a", "gone"), lookup=known(composite("other")))[:1] == [
            ("warning", "parent-exists", "spec.parentCompositePodGroupName")
        ]

    def test_a_missing_parent_is_no_error_about_the_template_too(self) -> None:
        """Whether the parent is a group of another template is not known before it exists."""
        templates = [{"name": "t", "schedulingPolicy": {"gang": {"minCount": 1}}}]
        lookup = known(manifest("Workload", "w", {"podGroupTemplates": templates}), composite("other"))
        rules = {rule for _, rule, _ in reported_errors(pod_group("a", "gone"), lookup=lookup)}

        assert "parent-exists" in rules
        assert "tree-matches-templates" not in rules

    def test_with_nothing_known_nothing_is_reported(self) -> None:
        assert reported_errors(pod_group("a", "gone", priorityClassName="high")) == []

    def test_a_cycle_is_refused(self) -> None:
        lookup = known(composite("b", "a"))

        assert ("error", "parent-acyclic", "spec.parentCompositePodGroupName") in reported_errors(composite("a", "b"), lookup=lookup)

    def test_a_fifth_level_is_refused(self) -> None:
        chain = [composite("l1"), composite("l2", "l1"), composite("l3", "l2"), composite("l4", "l3")]

        assert ("error", "tree-depth", "spec.parentCompositePodGroupName") in reported_errors(pod_group("leaf", "l4"), lookup=known(*chain))
        assert not [each for each in reported_errors(pod_group("leaf", "l3"), lookup=known(*chain)) if each[1] == "tree-depth"]

    def test_a_parent_that_comes_late_must_not_make_a_fifth_level(self) -> None:
        below = [composite("l2", "l1"), composite("l3", "l2"), composite("l4", "l3"), pod_group("leaf", "l4")]

        assert ("error", "tree-depth", "metadata.name") in reported_errors(composite("l1"), lookup=known(*below))

    def test_a_second_workload_is_refused(self) -> None:
        other = composite("child", "root", workloadRef={"workloadName": "other", "templateName": "t"})

        assert ("error", "tree-one-workload", "spec.workloadRef.workloadName") in reported_errors(other, lookup=known(composite("root")))

    def test_nesting_against_an_existing_parent_is_refused(self) -> None:
        lookup = known(composite("root", disruptionMode={"all": {}}))

        assert ("error", "tree-disruption-nesting", "spec.disruptionMode") in reported_errors(pod_group("a", "root"), lookup=lookup)

    def test_priority_against_an_existing_parent_is_refused(self) -> None:
        lookup = known(composite("root", priorityClassName="high"))

        assert ("error", "tree-priority-uniform", "spec.priorityClassName") in reported_errors(
            pod_group("a", "root", priorityClassName="low"), lookup=lookup
        )

    def test_a_parent_that_is_being_deleted_is_refused(self) -> None:
        parent = composite("root")
        parent["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

        assert ("error", "parent-not-deleting", "spec.parentCompositePodGroupName") in reported_errors(
            pod_group("a", "root"), lookup=known(parent)
        )

    def test_a_difference_from_the_template_is_a_warning(self) -> None:
        workload = manifest("Workload", "w", {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"gang": {"minCount": 9}}}]})
        new = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"})

        assert reported_errors(new, lookup=known(workload)) == [("warning", "tree-matches-templates", "spec.schedulingPolicy")]

    def test_upstream_looks_at_none_of_them(self) -> None:
        assert reported_errors(composite("a", "b"), lookup=known(composite("b", "a")), profile=Profile.UPSTREAM) == []


class TestNeighbours:
    """An error of one document is not reported again, wrongly, at documents that refer to it."""

    def reported_errors(self, *contents: dict[str, Any], **settings: Any) -> list[tuple[str, str, str]]:
        chosen = Settings(linting=True, **settings)
        examined = [pipeline.examine(each, chosen) for each in contents]
        objects = [each.object for each in examined if each.object is not None]
        lookup = KnownObjects(objects, complete=False)
        results = []
        for content, each in zip(contents, examined, strict=True):
            judged = (
                each.violations or pipeline.validate_document(each.object, chosen, lookup=lookup, form=each.form)
                if each.object
                else each.violations
            )
            results += [(content["metadata"]["name"], one.error.origin, str(one.error.path)) for one in judged]
        return results

    def test_a_template_of_a_wrong_type_is_not_compared_with(self) -> None:
        template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": "1"}}}
        group = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"})

        assert [("w", "schema-type", "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount")] == self.reported_errors(
            manifest("Workload", "w", {"podGroupTemplates": [template]}), group
        )

    def test_a_retired_group_is_there_all_the_same(self) -> None:
        old = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "old"}, "spec": {}}
        pod = manifest("Pod", "p", {"schedulingGroup": {"podGroupName": "old"}})

        assert [("old", "retired-version", "apiVersion")] == self.reported_errors(old, pod_group("new"), pod)

    def test_a_composite_in_the_wrong_version_is_a_parent_that_exists(self) -> None:
        parent = composite("root") | {"apiVersion": "scheduling.k8s.io/v1beta1"}

        assert [("root", "schema-enum", "apiVersion")] == self.reported_errors(parent, composite("other"), pod_group("a", "root"))

    def test_a_name_that_was_meant_as_one_counts(self) -> None:
        pod = manifest("Pod", "p", {"schedulingGroup": {"podGroupName": "5"}})

        assert [(5, "schema-type", "metadata.name")] == self.reported_errors(pod_group(5), pod)  # type: ignore[arg-type]

    def test_one_class_in_two_files_is_one_default(self) -> None:
        default = manifest("PriorityClass", "a", {}) | {"value": 1, "globalDefault": True}
        del default["spec"], default["metadata"]["namespace"]

        assert [] == self.reported_errors(default, default)

    def test_the_order_of_claims_means_nothing(self) -> None:
        claims = [{"name": name, "resourceClaimName": name} for name in ("x", "y")]
        template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 1}}, "resourceClaims": claims}
        group = pod_group("a", workloadRef={"workloadName": "w", "templateName": "t"}, resourceClaims=claims[::-1])

        assert [] == self.reported_errors(manifest("Workload", "w", {"podGroupTemplates": [template]}), group)

    def test_keys_of_labels_and_annotations_are_label_keys(self) -> None:
        group = pod_group("a")
        group["metadata"] |= {"labels": {"-bad": "x"}, "annotations": {"a/b/c": "x"}}

        assert [
            ("a", "schema-format", "metadata.annotations[a/b/c]"),
            ("a", "schema-format", "metadata.labels[-bad]"),
        ] == self.reported_errors(group)

    def test_the_gate_of_1_35(self) -> None:
        group = {"name": "a", "policy": {"basic": {"desiredCount": 0}}}
        content = {
            "apiVersion": "scheduling.k8s.io/v1alpha1",
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"podGroups": [group]},
        }
        path = "spec.podGroups[0].policy.basic.desiredCount"

        assert [("w", "desired-count", path)] == self.reported_errors(content, minor=35)
        assert [("w", "gate-off", path)] == self.reported_errors(
            content, minor=35, gates=Gates(frozenset({"WorkloadBasicPolicyDesiredCount"}))
        )


def test_a_root_that_comes_late_must_not_join_two_workloads() -> None:
    below = [composite("one", "root"), composite("two", "root", workloadRef={"workloadName": "other", "templateName": "t"})]

    assert ("error", "tree-one-workload", "spec.workloadRef.workloadName") in reported_errors(composite("root"), lookup=known(*below))


class Counted(KnownObjects):
    """Lookup that counts the objects that are read from its lists."""

    read = 0

    def list_kind(self, kind: str) -> Any:
        return self._each(kind)

    def _each(self, kind: str) -> Iterator[Object]:
        for each in super().list_kind(kind) or ():
            self.read += 1
            yield each


@pytest.mark.parametrize(("count", "similar", "read"), [(500, "g7", 1500), (501, None, 501)])
def test_a_similar_name_is_searched_among_500_and_no_more_are_read(count: int, similar: str | None, read: int) -> None:
    """Otherwise thousands of wrong references in a file with thousands of objects take minutes."""
    namespaces = ["default"] * count + ["other"] * 1000
    groups = [pod_group(f"g{number}") for number, _ in enumerate(namespaces)]
    for each, namespace in zip(groups, namespaces, strict=True):
        each["metadata"]["namespace"] = namespace
    lookup = Counted([item for each in groups if (item := pipeline.decode_for_lookup(each))], complete=True)
    pod = manifest("Pod", "p", {"schedulingGroup": {"podGroupName": "gg7"}})

    (violation,) = pipeline.validate("Pod", pod, None, Operation.CREATE, settings=Settings(fixes=True), lookup=lookup)

    assert violation.error.origin == "scheduling-group-exists"
    assert (violation.error.fix and violation.error.fix.value) == similar
    assert lookup.read == read


def test_the_pods_of_a_gang_are_counted_once_for_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    function = group_pods.group_pods

    def count(lookup: Lookup, namespace: str, group: str) -> GroupPods | None:
        counted.append(group)
        return function(lookup, namespace, group)

    for module in (base, gang_enough_pods, gang_waits_for_later):
        monkeypatch.setattr(module, "group_pods", count, raising=False)
    group = pipeline.examine(pod_group("g"), Settings(linting=True)).object
    assert group is not None
    pipeline.validate_document(group, Settings(linting=True), lookup=NOTHING)
    assert counted == ["g"]
