"""Validation of documents by the linter."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validators.judging import manifest, pod_group
from validators import pipeline
from validators.object_lookup import NOTHING
from validators.rules.base import Settings


class TestDocuments:
    """``examine``: known kinds, served versions, valid schemas."""

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

    def test_a_typo_is_reported_with_the_field_that_was_meant(self) -> None:
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
