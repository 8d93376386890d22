"""Changes applied to an object, in any order."""

from __future__ import annotations

import itertools

import pytest

from validators.migrate.change import Add, Change, Reform, Remove, Rename, Replace, Unwrap, applied, below

BEFORE = {"a": {"b": 1, "c": [{"d": 2}, 3]}, "e": {"f": {"g": 4}}}


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param([], BEFORE, id="nothing"),
        pytest.param([Rename(("a",), "x")], {"x": BEFORE["a"], "e": BEFORE["e"]}, id="rename"),
        pytest.param([Replace(("a", "c", 0, "d"), {})], {"a": {"b": 1, "c": [{"d": {}}, 3]}, "e": BEFORE["e"]}, id="replace in a list"),
        pytest.param([Remove(("a", "c", 0, "d"))], {"a": {"b": 1, "c": [{}, 3]}, "e": BEFORE["e"]}, id="remove the only field"),
        pytest.param([Unwrap(("e",), "f")], {"a": BEFORE["a"], "e": {"g": 4}}, id="unwrap"),
        pytest.param([Add(("e",), "h", 5, after="f")], {"a": BEFORE["a"], "e": {"f": {"g": 4}, "h": 5}}, id="add"),
        pytest.param([Reform(("e", "f"), "g", "h", "x")], {"a": BEFORE["a"], "e": {"f": {"h": "x"}}}, id="reform"),
        pytest.param(
            [Rename(("e",), "x"), Unwrap(("e",), "f"), Rename(("e", "f", "g"), "y")],
            {"a": BEFORE["a"], "x": {"y": 4}},
            id="paths are those before any change",
        ),
    ],
)
def test_changes_come_to_one_object_in_any_order(changes: list[Change], want: dict[str, object]) -> None:
    for ordered in itertools.permutations(changes):
        assert want == applied(BEFORE, ordered)


def test_what_is_changed_is_not_the_object_itself() -> None:
    applied(BEFORE, [Replace(("a", "b"), 9), Remove(("e", "f"))])

    assert BEFORE == {"a": {"b": 1, "c": [{"d": 2}, 3]}, "e": {"f": {"g": 4}}}


def test_a_change_can_be_moved_below_a_path() -> None:
    assert Rename(("items", 2, "spec"), "x") == below(("items", 2), Rename(("spec",), "x"))
