"""The reference implementation of JSON Schema agrees with the one in use, on every schema of Muster."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from muster import cli
from tests.sampling import every, sampled
from validators import schema
from validators.lint import configuration, files
from validators.lint.documents import Document

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
SHAPES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (Path(schema.__file__).parent / "schemas").glob("*.json")}


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


def building_blocks() -> Iterator[tuple[str, dict[str, Any]]]:
    whole = json.loads(CliRunner().invoke(cli.main, ["schema", "--building-blocks"]).stdout)
    for name in whole["$defs"]:
        yield name, {**whole, "$ref": f"#/$defs/{name}"}


SCHEMAS = SHAPES | dict(building_blocks())


@functools.cache
def validators(name: str) -> tuple[Any, jsonschema.Draft202012Validator]:
    return jsonschema_rs.validator_for(SCHEMAS[name]), jsonschema.Draft202012Validator(SCHEMAS[name])


def by_the_one_in_use(name: str, value: Any) -> list[str]:
    """Return each failure of the implementation in use: its place and keyword."""
    return sorted(f"{[*each.instance_path]} {each.schema_path[-1]}" for each in validators(name)[0].iter_errors(value))


def by_the_reference(name: str, value: Any) -> list[str]:
    return sorted(f"{[*each.absolute_path]} {each.absolute_schema_path[-1]}" for each in validators(name)[1].iter_errors(value))


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


@functools.cache
def blocks() -> tuple[Any, ...]:
    """Return every part of a spec of the objects."""
    return tuple({json.dumps(part): part for each in objects() for part in parts(each.get("spec"))}.values())


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
    assert len(SCHEMAS) >= 11 + 16
    assert [] == [name for name in SHAPES if all(by_the_reference(name, each) for each in objects_of_kind(name))]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_it_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_objects_of_all_cases_have_the_same_failures(name: str) -> None:
    assert [each for each in objects() if by_the_one_in_use(name, each) != by_the_reference(name, each)] == []


@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - SHAPES.keys()))
def test_blocks_of_all_cases_have_the_same_failures(name: str) -> None:
    assert len(blocks()) > 1000
    tried = every(3, blocks())
    assert [each for each in tried if by_the_one_in_use(name, each) != by_the_reference(name, each)] == []


@settings(max_examples=sampled(2000))
@given(st.data())
def test_generated_objects_have_the_same_failures(data: st.DataObject) -> None:
    """Objects of the cases with up to three values replaced, at places that their schema knows and at others."""
    name = data.draw(st.sampled_from(sorted(SCHEMAS)))
    value = data.draw(st.sampled_from(objects_of_kind(name))) if name in SHAPES else {}
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, 3))):
        there = [(), *places(value)]
        value = replaced(value, data.draw(st.sampled_from(there)), data.draw(json_values(name)))
    assert by_the_one_in_use(name, value) == by_the_reference(name, value)


@functools.cache
def objects_of_kind(name: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of the cases of the kind of a schema."""
    if name == configuration.SCHEMA:
        return (CONFIGURATION,)
    kind = SHAPES[name]["title"]
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
