"""Documentation of fields: its limits and what it says about changes are those of the rules."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from tests.quick_yaml import documents
from validators import pipeline, rules, schema
from validators.reports import field_docs
from validators.rules.base import Operation, Settings, Severity

SETTINGS = Settings()
OBJECTS = [
    content
    for rule in rules.discover().values()
    for example in rule.good
    if example.kubernetes == "1.37"
    for content in documents(example.yaml)
    if content["kind"] in set(field_docs.KINDS) and content["apiVersion"] in [row.name for row in served_versions.current(content["kind"])]
]
EXTRA = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: a, namespace: b}
spec:
  parentCompositePodGroupName: p
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: rack}]}
  disruptionMode: {single: {}}
  priorityClassName: c
  preemptionPolicy: Never
  resourceClaims: [{name: c, resourceClaimName: d}]
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: a, namespace: b}
spec:
  parentCompositePodGroupName: p
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {gang: {minGroupCount: 2}}
  schedulingConstraints: {topology: [{key: rack}]}
  disruptionMode: {single: {}}
  priority: 3
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: a, namespace: b}
spec:
  controllerRef: {apiGroup: batch, kind: Job, name: j}
  compositePodGroupTemplates:
  - name: top
    schedulingPolicy: {gang: {minGroupCount: 1}}
    disruptionMode: {single: {}}
    priority: 3
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 4}}
      schedulingConstraints: {topology: [{key: rack}]}
      resourceClaims: [{name: c, resourceClaimTemplateName: d}]
      priority: 3
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: a}
value: 3
preemptionPolicy: Never
"""
COMPLETE = list(documents(EXTRA))


def fields(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for part, value in items:
        yield (*path, part), value
        yield from fields(value, (*path, part))


def replaced(content: Any, path: tuple[str | int, ...], value: Any) -> Any:
    result = copy.deepcopy(content)
    inner = result
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return result


def errors(new: Any, old: Any = None) -> list[FieldPath]:
    """Return the paths of the errors: as a file, or for an update from *old*."""
    if old is None:
        examined = pipeline.examine(new, SETTINGS)
        found = examined.violations
        if examined.object is not None and not found:
            found = pipeline.validate_document(examined.object, SETTINGS, lookup=pipeline.object_lookup.NOTHING)
    else:
        texts = json.dumps(new).encode(), json.dumps(old).encode()
        found = pipeline.validate(new["kind"], *texts, Operation.UPDATE, api_version=new["apiVersion"], settings=SETTINGS)
    return [each.error.path for each in found if each.severity is Severity.ERROR]


BEYOND: dict[str, Any] = {
    "minimum": lambda limit, _: limit - 1,
    "maximum": lambda limit, _: limit + 1,
    "minLength": lambda limit, _: "a" * (limit - 1),
    "maxLength": lambda limit, _: "a" * (limit + 1),
    "maxItems": lambda limit, value: [{**value[0], "name": f"n{each}"} if "name" in value[0] else value[0] for each in range(limit + 1)],
    "enum": lambda *_: "Other",
}
LIMITED = [
    pytest.param(content, path, name, id=f"{content['kind']} {FieldPath(*path)} {name}")
    for content in COMPLETE
    for path, _ in fields(content)
    if isinstance(path[-1], str) and (doc := field_docs.find(content["kind"], path)) is not None
    for name in doc.limits
]


def test_complete_objects_have_no_errors() -> None:
    assert [errors(each) for each in COMPLETE] == [[]] * len(COMPLETE)


@pytest.mark.parametrize(("content", "path", "limit"), LIMITED)
def test_a_value_beyond_a_limit_is_an_error(content: Any, path: tuple[str | int, ...], limit: str) -> None:
    doc = field_docs.find(content["kind"], path)
    assert doc is not None
    value = dict(fields(content))[path]
    beyond = replaced(content, path, BEYOND[limit](doc.limits[limit], value))

    assert any(each.starts_with(FieldPath(*path)) for each in errors(beyond))
    assert not jsonschema_rs.is_valid(field_docs.json_schema(content["kind"]), beyond)


@pytest.mark.parametrize("content", COMPLETE, ids=lambda content: content["kind"])
def test_what_cannot_change_is_what_the_rules_refuse(content: Any) -> None:
    wrong = []
    for path, value in fields(content):
        doc = field_docs.find(content["kind"], path)
        if doc is None or not doc.change or not isinstance(path[-1], str) or path[0] in {"apiVersion", "kind"}:
            continue
        if isinstance(value, str):
            other: Any = f"{value}x" if path[-1] != "preemptionPolicy" else "PreemptLowerPriority"
        elif isinstance(value, int):
            other = value + 1
        elif "single" in value:
            other = {"all": {}}
        else:
            continue
        is_refused = bool(errors(replaced(content, path, other), content))
        if is_refused is not (doc.change != "can change"):
            wrong.append((str(FieldPath(*path)), doc.change))
    assert wrong == []


@pytest.mark.parametrize("kind", field_docs.KINDS)
def test_the_schema_accepts_good_examples(kind: str) -> None:
    validator = jsonschema_rs.validator_for(field_docs.json_schema(kind))
    objects = [each for each in (*OBJECTS, *COMPLETE) if each["kind"] == kind]

    assert objects
    assert [list(validator.iter_errors(each)) for each in objects] == [[]] * len(objects)


def test_every_entry_documents_a_field() -> None:
    used = set()
    for kind in field_docs.KINDS:
        for path in _paths(schema.document(served_versions.schema_of(served_versions.hub_of(kind).name, kind))):
            names = [".".join(path[start:]) for start in range(len(path))]
            used.add(next((key for end in names for key in (f"{kind}/{end}", end) if key in field_docs.FIELDS), ""))

    # No schema lists the keys of labels.
    assert set(field_docs.FIELDS) - used == {"labels.scheduling.muster.dev/pod-group"}


def _paths(document: Any) -> Iterator[tuple[str, ...]]:
    waiting: list[tuple[Any, tuple[str, ...]]] = [(document, ())]
    while waiting:
        part, path = waiting.pop()
        if "$ref" in part:
            part = document["$defs"][part["$ref"].rpartition("/")[2]]
        if len(path) > 12:
            continue
        if path:
            yield path
        waiting += [(part["items"], path)] if "items" in part else []
        waiting += [(below, (*path, name)) for name, below in part.get("properties", {}).items()]


@pytest.mark.parametrize(
    ("kind", "path", "words"),
    [
        ("PodGroup", ("spec", "disruptionMode"), "Default: `{single: {}}`"),
        ("Workload", ("spec", "podGroupTemplates", 0, "name"), "Limits: at most 63 characters"),
        ("CompositePodGroup", ("spec", "schedulingPolicy", "gang", "minGroupCount"), "After creation: immutable before Kubernetes 1.38"),
        ("PodGroup", ("spec", "schedulingPolicy", "gang", "minCount"), "Rule `gang-minimum`"),
    ],
)
def test_help_in_words(kind: str, path: tuple[str | int, ...], words: str) -> None:
    at = FieldPath(*path)

    assert words in field_docs.markdown(kind, at, field_docs.rules_about(rules.discover().values(), kind, at))


def test_a_field_without_documentation_has_no_help() -> None:
    assert field_docs.markdown("Pod", FieldPath("spec", "containers"), []) == ""


@pytest.mark.parametrize("version", [row.name for row in served_versions.current("PodGroup")])
@pytest.mark.parametrize("length", [63, 64, 253])
def test_the_name_of_a_custom_pod_group_is_shorter(version: str, length: int) -> None:
    (content,) = (each for each in COMPLETE if each["kind"] == "PodGroup")
    named = {**content, "apiVersion": version, "metadata": {**content["metadata"], "name": "a" * length}}

    want = not served_versions.form_of(version).custom or length <= 63
    assert want == jsonschema_rs.is_valid(field_docs.json_schema("PodGroup"), named)
    assert want == (errors(named) == [])
