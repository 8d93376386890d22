"""CustomResourceDefinitions: they have all fields of the kinds, and refuse nothing that the rules accept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from kubeapi.content import LONGEST_LABEL
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.workloads import MAX_DEPTH
from tests.quick_yaml import documents
from validators import pipeline, rules, schema
from validators.reports import custom_resources
from validators.rules.base import Operation, Settings

VERSION = f"{CUSTOM}/v1beta1"
SCHEMAS = {
    each["spec"]["names"]["kind"]: each["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for each in custom_resources.definitions()
}
VALIDATORS = {kind: jsonschema_rs.Draft202012Validator(each) for kind, each in SCHEMAS.items()}
TABLE = json.loads((Path(__file__).parents[2] / "cases" / "admission.json").read_text(encoding="utf-8"))
CURRENT = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
SCHEMA_ANSWERS_FIRST = {
    "gang-minimum": {"spec.schedulingPolicy.gang.minCount", "spec.schedulingPolicy.gang.minGroupCount"},
    "priority-range": {"spec.priority"},
    "schema-enum": {"spec.preemptionPolicy"},
    "schema-limit": {"spec.schedulingPolicy.gang.minCount"},
    "schema-required": {"spec"},
    "schema-type": {"spec.schedulingPolicy.gang.minCount", "metadata.name"},
    "template-lists-capped": {"spec.podGroupTemplates"},
    "topology-single": {"spec.schedulingConstraints.topology"},
}
"""Rules of which the API server refuses a bad example before the webhook is called, with the fields at which the schema has an error."""


def failures(content: dict[str, Any]) -> set[str]:
    """Return the paths at which the schema of the definition refuses an object."""
    return {".".join(map(str, each.instance_path)) for each in VALIDATORS[content["kind"]].iter_errors(content)}


def examples(*, good: bool) -> Iterator[Any]:
    """Yield each manifest of the current form in the examples of all rules."""
    for rule in rules.discover().values():
        for example in rule.good if good else rule.bad:
            for content in documents(example.yaml):
                if content.get("kind") in SCHEMAS and content.get("apiVersion") in CURRENT:
                    yield rule, content


def judged(content: dict[str, Any], old: dict[str, Any] | None = None, subresource: str = "") -> list[str]:
    """Return the rules that report the object as a custom resource."""
    operation = Operation.CREATE if old is None else Operation.UPDATE
    before = None if old is None else json.dumps({**old, "apiVersion": VERSION}).encode()
    violations = pipeline.validate(
        content["kind"],
        json.dumps(content).encode(),
        before,
        operation,
        api_version=VERSION,
        subresource=subresource,
        settings=Settings(),
    )
    return [each.error.origin for each in violations if each.severity.value == "error"]


def properties(part: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for name, below in part.get("properties", {}).items():
        yield (*path, name), below
        yield from properties(below, (*path, name))
    if "items" in part:
        yield from properties(part["items"], path)


def test_examples_that_comply_are_accepted():
    assert {} == {rule.id: found for rule, content in examples(good=True) if (found := failures(content))}


def test_which_bad_examples_the_schema_refuses_before_the_webhook():
    refused: dict[str, set[str]] = {}
    for rule, content in examples(good=False):
        if found := failures(content):
            refused.setdefault(rule.id, set()).update(found)
            assert judged(content) != [], f"{rule.id}: the rules accept it"

    assert SCHEMA_ANSWERS_FIRST == refused


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in TABLE if each["object"] and each["kind"] in SCHEMAS])
def test_the_schema_refuses_nothing_of_the_admission_table_that_the_rules_accept(case):
    content = {**case["object"], "apiVersion": VERSION}

    assert failures(content) == set() or judged(content, case["oldObject"], case.get("subresource") or "")


def test_names_of_pod_groups_are_values_of_a_label():
    def named(kind: str, length: int) -> set[str]:
        of = {"workloadName": "w", "templateName": "t"}
        return failures({"kind": kind, "metadata": {"name": "a" * length}, "spec": {"workloadRef": of, "schedulingPolicy": {"basic": {}}}})

    assert set() == named("PodGroup", LONGEST_LABEL)
    assert {"metadata.name"} == named("PodGroup", LONGEST_LABEL + 1)
    assert set() == named("CompositePodGroup", LONGEST_LABEL + 1)


def nested(levels: int, **lowest: Any) -> dict[str, Any]:
    """Return a template with *levels* levels of composites."""
    result: dict[str, Any] = {"name": f"level-{levels}", "schedulingPolicy": {"basic": {}}, **lowest}
    for level in range(levels - 1, 0, -1):
        result = {"name": f"level-{level}", "schedulingPolicy": {"basic": {}}, "compositePodGroupTemplates": [result]}
    return result


def kept(part: dict[str, Any], value: Any) -> Any:
    """Return a value without the fields that the API server would prune."""
    if part.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, list):
        return [kept(part["items"], each) for each in value]
    if isinstance(value, dict) and part["type"] == "object" and "properties" in part:
        return {name: kept(part["properties"][name], each) for name, each in value.items() if name in part["properties"]}
    return value


@pytest.mark.parametrize("levels", range(1, MAX_DEPTH + 2))
def test_templates_that_are_too_deep_reach_the_rule(levels):
    leaf = {"name": "leaf", "schedulingPolicy": {"gang": {"minCount": 2}}}
    workload = {
        "apiVersion": VERSION,
        "kind": "Workload",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"compositePodGroupTemplates": [nested(levels, podGroupTemplates=[leaf])]},
    }
    seen = kept(SCHEMAS["Workload"]["properties"]["spec"], workload["spec"])

    assert workload["spec"] == seen
    assert set() == failures(workload)
    assert (["template-depth"] if levels >= MAX_DEPTH else []) == judged(workload)


@pytest.mark.parametrize("kind", custom_resources.KINDS)
def test_no_field_of_a_kind_is_missing(kind):
    """The fields of the JSON Schema, whose references are followed to the depth of a tree."""
    document = schema.document(served_versions.schema_of(VERSION, kind))

    def fields(part: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        part = document["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        for name, below in part.get("properties", {}).items():
            yield (*path, name)
            if name != "metadata" and path.count("compositePodGroupTemplates") < MAX_DEPTH:
                yield from fields(below, (*path, name))
        if "items" in part and path.count("compositePodGroupTemplates") < MAX_DEPTH:
            yield from fields(part["items"], path)

    assert {*fields(document, ())} == {path for path, _ in properties(SCHEMAS[kind]) if path != ("metadata", "name")}


@pytest.mark.parametrize("kind", custom_resources.KINDS)
def test_every_field_is_described_and_every_list_has_a_type(kind):
    fields = [each for each in properties(SCHEMAS[kind]) if "metadata" not in each[0]]

    assert [] == [path for path, each in fields if not each.get("description")]
    assert [] == [path for path, each in fields if each["type"] == "array" and "x-kubernetes-list-type" not in each]


def test_the_only_default_is_that_of_groups():
    defaults = {(kind, path): each["default"] for kind, part in SCHEMAS.items() for path, each in properties(part) if "default" in each}

    assert {(kind, ("spec", "disruptionMode")): {"single": {}} for kind in ("PodGroup", "CompositePodGroup")} == defaults


def test_workloads_have_no_status():
    subresources = {
        each["spec"]["names"]["kind"]: each["spec"]["versions"][0].get("subresources") for each in custom_resources.definitions()
    }

    assert {"Workload": None, "PodGroup": {"status": {}}, "CompositePodGroup": {"status": {}}} == subresources
