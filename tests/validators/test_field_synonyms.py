"""Names of other projects lead to the field of the API, if it is there."""

from __future__ import annotations

import pytest
import yaml

from validators import field_synonyms, pipeline
from validators.rules.base import Settings

VERSIONS = {"PodGroup": "v1beta1", "CompositePodGroup": "v1alpha3", "Workload": "v1beta1"}


@pytest.mark.parametrize(
    ("kind", "spec", "want"),
    [
        ("PodGroup", "policy: {}", "schedulingPolicy"),
        ("PodGroup", "minMember: 4", "schedulingPolicy.gang.minCount"),
        ("CompositePodGroup", "minMember: 4", "schedulingPolicy.gang.minGroupCount"),
        ("PodGroup", "schedulingPolicy: {gang: {minMember: 4, minCount: 4}}", "minCount"),
        ("CompositePodGroup", "schedulingPolicy: {gang: {minCount: 4, minGroupCount: 4}}", "minGroupCount"),
        ("PodGroup", "schedulingConstraints: {topology: [{key: rack, level: rack}]}", "key"),
        ("PodGroup", "networkTopology: {}", "schedulingConstraints.topology"),
        ("PodGroup", "disruptionPolicy: {}", "disruptionMode"),
        ("PodGroup", "parent: root", "parentCompositePodGroupName"),
        ("PodGroup", "workloadRef: {workload: w, workloadName: w, templateName: t}", "workloadName"),
        ("PodGroup", "priorityClass: high", "priorityClassName"),
        ("Workload", "podSets: []", "podGroupTemplates"),
        ("Workload", "podGroupTemplates: [{name: a, minAvailable: 2, schedulingPolicy: {basic: {}}}]", "schedulingPolicy.gang.minCount"),
        ("Workload", "minSubGroup: 2", ""),
    ],
)
def test_the_field_of_a_synonym_is_named(kind: str, spec: str, want: str) -> None:
    content = {"apiVersion": f"scheduling.k8s.io/{VERSIONS[kind]}", "kind": kind, "metadata": {"name": "x"}, "spec": yaml.safe_load(spec)}
    examined = pipeline.examine(content, Settings(linting=True))
    (error,) = [each.error for each in examined.violations if each.error.origin == "schema-unknown-field"]
    assert str(error).endswith(f"did you mean {want!r}?" if want else "the API server would drop it")
    assert want == error.suggestion


def test_a_reference_in_a_schema_is_followed() -> None:
    schema = {"$defs": {"Policy": {"properties": {"gang": {"properties": {"minCount": {}}}}}}}
    parent = {"properties": {"schedulingPolicy": {"$ref": "#/$defs/Policy"}}}
    assert "schedulingPolicy.gang.minCount" == field_synonyms.other_names("minAvailable", parent, schema)
    assert not field_synonyms.other_names("minAvailable", {"properties": {}}, schema)
