"""The reference implementation of JSON Schema agrees with the one in use, on every schema of Muster."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi import quantity
from tests.sampling import sampled
from validators import json_schema, schema
from validators.lint import configuration, files
from validators.lint.documents import Document

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
CONTROLLERS = "kinds/controllers"


def named() -> Iterator[str]:
    """Yield the names of all schemas."""
    yield from (path.stem for path in (Path(schema.__file__).parent / "schemas").glob("*.json"))
    yield from (f"{CONTROLLERS}:{kind}" for kind in schema.stored(CONTROLLERS)["kinds"])


RETIRED = {
    "apiVersion": "scheduling.k8s.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "train"},
    "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 2}}}]},
}
"""Workload of a version that no case table has."""

CONFIGURATION = {
    "profile": "upstream",
    "kubernetes": "1.37",
    "gates": {"CompositePodGroup": False},
    "rules": {"gang-minimum": "warning"},
    "ignore": ["schema-enum"],
    "overrides": [{"paths": ["legacy/"], "rules": {"gang-minimum": "off"}}],
    "fail-on": "never",
}
"""Configuration file: the only schema that is not of an object."""


FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("quantity")(lambda value: not isinstance(value, str) or bool(quantity.is_quantity(value)))
ABOUT = {"$defs", "$schema", "default", "description", "title"}
"""Keywords that no value violates."""


SCHEMAS = {name: schema.document(name) for name in sorted(named())}
FILES = [name for name in SCHEMAS if ":" not in name]
"""Schemas of the kinds that the tables of cases have."""


@functools.cache
def reference(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name], format_checker=FORMATS)


@functools.cache
def accepted(name: str) -> Any:
    return json_schema.accepted_type(SCHEMAS[name])


def by_the_one_in_use(name: str, value: Any) -> list[str]:
    """Return each failure of the implementation in use: its place and keyword; none may be accepted by the type of msgspec."""
    found = sorted({f"{[*each.path]} {each.keyword}" for each in json_schema.Validator(SCHEMAS[name]).failures(value)})
    with contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(value, accepted(name))
        assert found == []
    return found


def by_the_reference(name: str, value: Any) -> list[str]:
    return sorted({f"{[*each.absolute_path]} {each.absolute_schema_path[-1]}" for each in reference(name).iter_errors(value)})


@functools.cache
def objects() -> tuple[dict[str, Any], ...]:
    """Return every object of the case tables and of the demonstration once, and a retired one."""
    manifests = files.read_manifests([str(CASES), str(ROOT / "muster" / "commands" / "demo" / "data")], None)
    result = [part.content for manifest in manifests for part in manifest.parts if isinstance(part, Document)]
    admission = json.loads((CASES / "admission.json").read_text(encoding="utf-8"))
    reviews = [json.loads(line)["review"]["request"] for line in (CASES / "reviews.jsonl").read_text(encoding="utf-8").splitlines()]
    result += [each for row in (*admission, *reviews) for each in (row.get("object"), row.get("oldObject")) if each]
    return (*{json.dumps(each): each for each in result}.values(), RETIRED)


def parts(value: Any) -> Iterator[Any]:
    """Yield a value and every value inside it."""
    yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(each)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield every place inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for name, below in inner for each in ((*path, name), *places(below, (*path, name)))]


@functools.cache
def names(name: str) -> tuple[str, ...]:
    """Return the fields that a schema knows, and one that it does not know."""
    return ("unknown", *sorted({key for part in parts(SCHEMAS[name]) if isinstance(part, dict) for key in part.get("properties", ())}))


def test_there_is_something_to_agree_on() -> None:
    assert len(objects()) > 1000
    assert len(SCHEMAS) > 22 + 40
    assert [] == [name for name in FILES if all(by_the_reference(name, each) for each in objects_of_kind(name))]


@pytest.mark.parametrize("name", [*FILES, CONTROLLERS])
def test_it_is_a_schema(name: str) -> None:
    whole = schema.stored(name)
    whole = {"$defs": {**whole["$defs"], **whole["kinds"]}} if name == CONTROLLERS else whole
    jsonschema.Draft202012Validator.check_schema(whole)
    of_values = {key for part in subschemas(whole) for key in part}
    assert of_values - ABOUT <= json_schema.KEYWORDS


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    yield schema
    others = schema.get("additionalProperties")
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items"), others]
    for each in inner:
        if isinstance(each, dict):
            yield from subschemas(each)


@pytest.mark.parametrize("name", FILES)
def test_objects_of_all_cases_have_the_same_failures(name: str) -> None:
    assert [each for each in objects() if by_the_one_in_use(name, each) != by_the_reference(name, each)] == []


@settings(max_examples=sampled(1000))
@given(st.data())
def test_generated_objects_have_the_same_failures(data: st.DataObject) -> None:
    """Valid objects with up to three values replaced, at places that their schema knows and at others."""
    name = data.draw(st.sampled_from(sorted(SCHEMAS)))
    value = copy.deepcopy(data.draw(st.sampled_from(objects_of_kind(name)) if name in FILES else valid(SCHEMAS[name], name, 6)))
    for _ in range(data.draw(st.integers(0, 3))):
        there = [(), *places(value)]
        value = replaced(value, data.draw(st.sampled_from(there)), data.draw(json_values(name)))
    assert by_the_one_in_use(name, value) == by_the_reference(name, value)


def valid(part: dict[str, Any], name: str, depth: int) -> st.SearchStrategy[Any]:
    """Return values that are valid under a part of a schema, with its fields down to a depth."""
    if "$ref" in part:
        return valid(SCHEMAS[name]["$defs"][part["$ref"].rpartition("/")[2]], name, depth)
    if "enum" in part:
        return st.sampled_from(part["enum"])
    kind = json_schema.types(part)[0] if "type" in part else "object"
    if kind == "object" and depth:
        needed = part.get("required", ())
        fields = {key: later(each, name, depth - 1) for key, each in part.get("properties", {}).items()}
        others = {key: each for key, each in fields.items() if key not in needed}
        return st.fixed_dictionaries({key: fields[key] for key in needed}, optional=others)
    if kind == "array":
        return st.lists(later(part["items"], name, depth - 1), max_size=2) if depth else st.just([])
    plain = {"integer": st.integers(0, 100), "number": st.floats(0, 1), "boolean": st.booleans(), "object": st.just({})}
    return plain.get(kind, st.sampled_from(["a", "1", "500m", "1Gi"]))


def later(part: dict[str, Any], name: str, depth: int) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: valid(part, name, depth))


@pytest.mark.parametrize(
    ("part", "refused"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 9}, [-1, 10, 0.5, True, "1"]),
        ({"type": "number", "minimum": 0, "maximum": 9}, [-0.5, 9.5, False]),
        ({"type": "string", "enum": ["a"]}, ["b", 1]),
        ({"type": "integer", "enum": [1]}, [2, True, "1"]),
        ({"type": ["string", "number"], "format": "quantity"}, ["x", "1\n1", True]),
        ({"type": "array", "items": {"type": "boolean"}}, [[1], {}, "a"]),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, [{}, {"a": None}, []]),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, [{"b": 1}]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, [{"a": 1}]),
    ],
    ids=str,
)
def test_each_keyword_is_checked_and_its_type_accepts_no_failure(part: dict[str, Any], refused: list[Any]) -> None:
    validator = json_schema.Validator(part)
    for value in refused:
        assert validator.failures(value)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, json_schema.accepted_type(part))


@functools.cache
def objects_of_kind(name: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of the cases of the kind of a schema."""
    if name == configuration.SCHEMA:
        return (CONFIGURATION,)
    kind = SCHEMAS[name]["title"]
    return tuple(each for each in objects() if each.get("kind") == kind)


def replaced(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    if not place:
        return other
    holder = value
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = other
    return value


@functools.cache
def json_values(name: str) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(names(name))
    plain = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63)
        | st.sampled_from([-1, 0, 1, 1.0, 2**31 - 1, 2**31, -(2**31) - 1])
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=3)
        | keys
    )
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8)
