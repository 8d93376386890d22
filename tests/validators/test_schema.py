"""Schema errors; no value in a document can prevent their report."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.field_path import FieldPath
from kubeapi.versions import kubernetes_releases, served_versions
from tests.sampling import sampled
from validators import pipeline, schema
from validators.lint import configuration
from validators.model.objects import KINDS
from validators.object_lookup import NOTHING
from validators.rules.base import Settings

SCHEMAS = Path(schema.__file__).parent / "schemas"
LINTING = Settings(linting=True)


def workload() -> dict[str, Any]:
    leaf = {
        "name": "p",
        "schedulingPolicy": {"gang": {"minCount": 1}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        "disruptionMode": {"all": {}},
        "priority": 1,
    }
    tree = {"name": "r", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [leaf]}
    spec = {"controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "j"}, "compositePodGroupTemplates": [tree]}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w", "labels": {"a": "b"}}, "spec": spec}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield every place in a JSON value below its apiVersion, kind and metadata."""
    result = [path] if path and path[0] in {"metadata", "spec"} else []
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        result += places(each, (*path, name))
    return result


def schema_errors(content: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.error.origin, str(each.error.path)) for each in pipeline.examine(content, LINTING).violations]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "gang", "basic", "all", "key", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=sampled(400))
@given(st.sampled_from(places(workload())), JSON)
def test_any_value_at_any_place_is_reported_or_judged(place: tuple[Any, ...], value: Any) -> None:
    """Any value at any place gets an answer, and the rest of the document is validated."""
    content = copy.deepcopy(workload())
    holder: Any = content
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = value

    examined = pipeline.examine(content, LINTING)
    if examined.object is not None and not examined.violations:
        pipeline.validate_document(examined.object, LINTING, lookup=NOTHING)
    for judged in examined.violations:
        assert judged.error.origin.startswith("schema-")
        assert str(judged.error)


def test_a_struct_without_fields_knows_none() -> None:
    content = workload()
    content["spec"]["compositePodGroupTemplates"][0]["schedulingPolicy"]["basic"] = {"desiredCount": 3}

    assert schema_errors(content) == [("schema-unknown-field", "spec.compositePodGroupTemplates[0].schedulingPolicy.basic.desiredCount")]


def test_keys_of_free_maps_are_in_brackets() -> None:
    content = workload()
    content["metadata"]["labels"]["a.b/c"] = 7

    assert schema_errors(content) == [("schema-type", "metadata.labels[a.b/c]")]


def test_what_is_taken_out_leaves_the_rest_in_its_place() -> None:
    content = {"a": [1, {"b": 2, "c": 3}], "d": 4}
    paths = [FieldPath("a", 0), FieldPath("a", 1, "b"), FieldPath("d"), FieldPath("d", "e")]

    assert schema.without_paths(content, paths) == {"a": [{}, {"c": 3}]}
    assert content == {"a": [1, {"b": 2, "c": 3}], "d": 4}


@pytest.mark.parametrize("kind", KINDS)
def test_every_version_that_can_be_judged_has_a_schema(kind: str) -> None:
    for minor in range(kubernetes_releases.OLDEST, kubernetes_releases.NEWEST + 1):
        for api_version in served_versions.versions_served(kind, minor):
            assert (SCHEMAS / f"{served_versions.schema_of(api_version, kind)}.json").exists()


def test_every_schema_is_that_of_a_version() -> None:
    named = {served_versions.schema_of(row.name, kind) for kind in KINDS for row in served_versions.versions_of(kind)}

    assert named | {configuration.SCHEMA} == {each.stem for each in SCHEMAS.glob("*.json")}


def test_a_jobset_needs_no_spec() -> None:
    content = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}}

    assert pipeline.examine(content, LINTING).violations == ()
