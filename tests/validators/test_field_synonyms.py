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


CLAIMS = {
    "a Pod": ("v1", "Pod", "spec: {resourceClaims: [ENTRY]}", "spec.resourceClaims[0].source"),
    "a Job": ("batch/v1", "Job", "spec: {template: {spec: {resourceClaims: [ENTRY]}}}", "spec.template.spec.resourceClaims[0].source"),
    "a CronJob": (
        "batch/v1",
        "CronJob",
        "spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {resourceClaims: [ENTRY]}}}}}",
        "spec.jobTemplate.spec.template.spec.resourceClaims[0].source",
    ),
    "a Deployment": (
        "apps/v1",
        "Deployment",
        "spec: {template: {spec: {resourceClaims: [ENTRY]}}}",
        "spec.template.spec.resourceClaims[0].source",
    ),
    "a PodGroup": (
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "spec: {schedulingPolicy: {basic: {}}, resourceClaims: [ENTRY]}",
        "spec.resourceClaims[0].source",
    ),
}


@pytest.mark.parametrize("member", ["resourceClaimName", "resourceClaimTemplateName"])
@pytest.mark.parametrize(("version", "kind", "text", "path"), CLAIMS.values(), ids=CLAIMS)
def test_the_field_in_the_source_of_an_old_claim_is_named(version: str, kind: str, text: str, path: str, member: str) -> None:
    content = yaml.safe_load(text.replace("ENTRY", f"{{name: gpu, source: {{{member}: one}}}}"))
    examined = pipeline.examine({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **content}, Settings(linting=True))
    (error,) = [each.error for each in examined.violations]
    assert (str(error.path), error.origin, error.suggestion) == (path, "schema-unknown-field", member)
    assert f"write its {member!r} in place of it" in error.detail
