"""RFC 6902: patches of ``diff`` turn the old value into the new one, also by an independent library."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch as independent
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.admission import jsonpatch

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(alphabet="ab/~é", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="ab/~", max_size=2), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(alphabet="abc/~", max_size=2), VALUES, max_size=4)


def text(value: Any) -> str:
    """Return JSON, in which 1 differs from true."""
    return json.dumps(value, sort_keys=True)


@given(OBJECTS, OBJECTS)
def test_the_patch_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    operations = list(jsonpatch.diff(old, new))

    assert text(new) == text(independent.apply_patch(old, operations))
    assert text(new) == text(jsonpatch.apply(old, operations))


@given(OBJECTS)
def test_nothing_to_do_is_an_empty_patch(value: dict[str, Any]) -> None:
    assert list(jsonpatch.diff(value, value)) == []


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}], id="a field is added"),
        pytest.param({"a": 1}, {}, [{"op": "remove", "path": "/a"}], id="a field goes"),
        pytest.param(
            {"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [{"op": "replace", "path": "/a/c", "value": 3}], id="only what differs"
        ),
        pytest.param({"a": ["x"]}, {"a": ["x", "y"]}, [{"op": "add", "path": "/a/-", "value": "y"}], id="an item is appended"),
        pytest.param({"a": ["x"]}, {"a": ["y", "x"]}, [{"op": "replace", "path": "/a", "value": ["y", "x"]}], id="another order"),
        pytest.param(
            {"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, [{"op": "replace", "path": "/a~1b/c~0d", "value": 2}], id="names are escaped"
        ),
        pytest.param({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}], id="1 is not true"),
        pytest.param({"a": None}, {"a": {}}, [{"op": "replace", "path": "/a", "value": {}}], id="null is a value"),
    ],
)
def test_operations(old: Any, new: Any, want: list[dict[str, Any]]) -> None:
    assert want == list(jsonpatch.diff(old, new))


class Uncomparable(dict[str, Any]):
    """Part of an object that must not be looked into."""

    def keys(self) -> Any:
        raise AssertionError("compared")


def test_a_part_that_both_objects_share_is_not_compared() -> None:
    shared = Uncomparable(x=1)
    old = {"status": shared, "list": [shared], "spec": {"a": 1}}
    new = {**old, "list": [shared, 2], "spec": {"a": 2}}

    assert [
        {"op": "add", "path": "/list/-", "value": 2},
        {"op": "replace", "path": "/spec/a", "value": 2},
    ] == list(jsonpatch.diff(old, new))
