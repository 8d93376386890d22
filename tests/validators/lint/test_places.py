"""Line and column of each field of a document."""

from __future__ import annotations

import pytest
import yaml

from kubeapi.field_path import FieldPath, Key
from tests.validators.lint.parsing import OBJECT, only, parse, place, unreadable
from validators.lint.documents import Document, NotKubernetes
from validators.lint.places import Span

# Lists


def test_items_of_a_list_are_objects_and_their_fields_start_at_the_item() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n-\n  # c\n  spec: {a: 1}\n  kind: Pod\n"
    first, second = parse(text).parts

    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.index, second.index) == (0, 1)
    assert second.content == {"spec": {"a": 1}, "kind": "Pod"}
    assert place(second) == (8, 3, 7)
    assert place(second, "spec", "a") == (8, 10, 14)
    assert place(second, "metadata", "name") == (8, 3, 7)


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param((), (3, 1, 11), id="the object is its first key"),
        pytest.param(("kind",), (4, 1, 12), id="a field is its key, and a short value"),
        pytest.param(("spec",), (6, 1, 5), id="a struct is its key"),
        pytest.param(("metadata", "labels", Key("a.b/c")), (5, 30, 38), id="a free key"),
        pytest.param(("metadata", "labels", Key("other")), (5, 21, 27), id="a free key that is missing"),
        pytest.param(("metadata", "annotations", Key("a")), (5, 1, 9), id="a map that is missing"),
        pytest.param(("status", "x"), (3, 1, 11), id="missing in the object itself"),
        pytest.param(("spec", "list", 0), (8, 5, 12), id="an item begins where the item does"),
        pytest.param(("spec", "list", 0, "missing"), (8, 5, 12), id="missing in an item"),
        pytest.param(("spec", "list", 0, "deep", "flow", 1, "k"), (9, 23, 27), id="flow style"),
        pytest.param(("spec", "list", 0, "deep", "flow", 1), (9, 22, 28), id="an item in flow style"),
        pytest.param(("spec", "list", 1), (11, 5, 14), id="an item with an anchor"),
        pytest.param(("spec", "list", 2), (13, 5, 14), id="an item that is an alias"),
        pytest.param(("spec", "list", 2, "name"), (12, 5, 12), id="below an alias it is the anchored text"),
        pytest.param(("spec", "list", 3, "name"), (12, 5, 12), id="a merged key is where it is written"),
        pytest.param(("spec", "list", 3, "more"), (15, 5, 9), id="a value of several lines is left out"),
        pytest.param(("spec", "list", 9), (7, 3, 7), id="an item that is missing"),
        pytest.param(("spec", "text"), (17, 3, 7), id="a folded value is left out"),
        pytest.param(("spec", "empty"), (19, 3, 9), id="a key without a value"),
        pytest.param(("spec", "alias"), (20, 3, 19), id="the key that holds an alias has its own line"),
        pytest.param(("spec", "alias", "name"), (12, 5, 12), id="and what is below it has not"),
        pytest.param(("spec", "text", "below"), (17, 3, 7), id="below a scalar there is nothing"),
    ],
)
def test_the_place_of_a_field(path: tuple[str | int, ...], want: tuple[int, int, int]) -> None:
    assert want == place(only(OBJECT), *path)


@pytest.mark.parametrize("end", ["\r\n", "\r"], ids=["Windows", "old Macintosh"])
def test_line_ends_do_not_move_places(end: str) -> None:
    document = only("\ufeff" + OBJECT.replace("\n", end))

    assert place(document, "spec", "list", 0, "deep", "flow", 1, "k") == (9, 23, 27)
    assert document.source(9) == "    deep: {flow: [1, {k: v}]}"


def test_columns_count_characters() -> None:
    assert place(only("kind: A\nx: {\u20ac\U0001f600: 1, b: 2}\n"), "x", "b") == (2, 12, 16)


JSON = """\
{
\t"apiVersion": "v1", "kind": "A",
\t"spec": {"list": [
\t\t{"a": 1, "b\\"]": [true, null, "x,]"]},
\t\t{}
\t]}
}
"""


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param((), (2, 2, 14), id="the object is its first key"),
        pytest.param(("kind",), (2, 22, 33), id="a field"),
        pytest.param(("spec", "list", 0), (4, 3, 40), id="an item"),
        pytest.param(("spec", "list", 0, 'b"]', 2), (4, 33, 38), id="below a key with quotes"),
        pytest.param(("spec", "list", 1), (5, 3, 5), id="an empty item"),
        pytest.param(("spec", "list", 1, "x"), (5, 3, 5), id="missing in an item"),
        pytest.param(("spec", "other"), (3, 2, 8), id="missing in a struct"),
    ],
)
@pytest.mark.parametrize("file", ["a.json", "a.yaml"])
def test_the_place_of_a_field_in_json(file: str, path: tuple[str | int, ...], want: tuple[int, int, int]) -> None:
    assert want == place(only(JSON, file), *path)


def test_the_second_of_several_json_values_has_its_own_places() -> None:
    _, second = parse('{"kind": "A"}\n{"kind": "B",\n "x": 1}').parts

    assert isinstance(second, Document)
    assert second.span(FieldPath("x")) == Span(3, 2, 3, 8)


def test_no_object_is_reported_at_its_first_line() -> None:
    (result,) = parse("\n# c\n\nvalues:\n  a: 1\n").parts

    assert isinstance(result, NotKubernetes)
    assert (result.line, result.column) == (4, 1)


def test_libyaml_and_the_parser_in_python_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything except the text of errors is the same."""

    def everything() -> list[object]:
        document = only(OBJECT)
        lost_fields = [unreadable("a: b\n c: d\n"), unreadable("a: \x01\n"), unreadable("a: {b: 1, b: 1}")]
        return [document.content, place(document, "spec", "list", 3, "more"), [(each.line, each.column) for each in lost_fields]]

    fast = everything()
    monkeypatch.setattr("validators.lint.yaml_events._PARSER", yaml.SafeLoader)

    assert fast == everything()
