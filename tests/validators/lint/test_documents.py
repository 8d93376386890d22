"""The bytes of a file become objects, each with the place of every field."""

from __future__ import annotations

import itertools
import json

import pytest
import yaml

from validators.field import FieldPath, Key
from validators.lint import documents, limits
from validators.lint.documents import Document, NotKubernetes, Unreadable
from validators.lint.places import Span

HEAD = "apiVersion: v1\nkind: Pod\n"


def parse(text: str | bytes, file: str = "a.yaml") -> documents.Manifest:
    return documents.parse(file, text if isinstance(text, bytes) else text.encode())


def only(text: str, file: str = "a.yaml") -> Document:
    (found,) = parse(text, file).parts
    assert isinstance(found, Document), found
    return found


def content(text: str) -> dict[str, object]:
    return {key: value for key, value in only(HEAD + text).content.items() if key not in {"apiVersion", "kind"}}


def kinds(manifest: documents.Manifest) -> list[str]:
    return [type(part).__name__ for part in manifest.parts]


def unreadable(text: str | bytes, file: str = "a.yaml") -> Unreadable:
    (found,) = parse(text, file).parts
    assert isinstance(found, Unreadable), found
    return found


def place(document: Document, *parts: str | int) -> tuple[int, int, int]:
    span = document.span(FieldPath(*parts))
    assert span.line == span.end_line
    return span.line, span.column, span.end_column


# Values


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: no", {"a": False}, id="no is a boolean"),
        pytest.param("n: 1", {"false": 1}, id="keys become strings"),
        pytest.param("a: 2026-11-02", {"a": "2026-11-02"}, id="a date stays a string"),
        pytest.param("'a': \"4\"", {"a": "4"}, id="quoted is a string"),
        pytest.param("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}, id="alias"),
        pytest.param(
            "a: &x {b: 1, c: 1}\nd: {b: 2, <<: *x}",
            {"a": {"b": 1, "c": 1}, "d": {"c": 1, "b": 2}},
            id="what is written beats what is merged",
        ),
        pytest.param(
            "a: &x {b: 1}\nc: &y {b: 2}\nd: {<<: [*x, *y]}", {"a": {"b": 1}, "c": {"b": 2}, "d": {"b": 1}}, id="the first merged wins"
        ),
        pytest.param('a: {"<<": 1, "": 2}', {"a": {"<<": 1, "": 2}}, id="a quoted << and an empty key are keys"),
        pytest.param("a: &x b\n? *x\n: c", {"a": "b", "b": "c"}, id="an alias as key"),
        pytest.param("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}, id="an anchor may be set again"),
        pytest.param("? a\n: b", {"a": "b"}, id="explicit key"),
        pytest.param("a: !secret b", {"a": "b"}, id="an unknown tag says nothing"),
        pytest.param("a: !!binary aGk=", {"a": "hi"}, id="binary"),
    ],
)
def test_yaml_values(text: str, want: dict[str, object]) -> None:
    assert want == content(text)


def test_json_and_yaml_of_one_object_are_the_same() -> None:
    value = {"apiVersion": "v1", "kind": "Pod", "spec": {"a": [1, 2.5, True, None, "x\u20ac"], "b": {}}}

    assert only(json.dumps(value), "a.json").content == only(json.dumps(value, indent=1), "a.yaml").content == value


@pytest.mark.parametrize("written", ["18446744073709551616", "99999999999999999999", "-99999999999999999999", "-123456789012345678901"])
@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_an_integer_beyond_64_bits_keeps_its_digits(file: str, written: str) -> None:
    found = only(f'{{"apiVersion": "v1", "kind": "Pod", "a": {written}}}', file).content["a"]
    assert (int, written) == (type(found), str(found))


def test_an_integer_that_go_writes_with_an_exponent_is_a_float() -> None:
    assert [1e24, 1e24] == [only(f'{{"apiVersion": "v1", "a": {10**24}}}', file).content["a"] for file in ("a.yaml", "a.json")]


# Documents of a file


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(f"{HEAD}---\n{HEAD}", ["Document", "Document"], id="two"),
        pytest.param(f"# c\n---\n{HEAD}...\n---\n---\n", ["Document"], id="empty ones are nothing"),
        pytest.param(f"{HEAD}---\nnull\n", ["Document"], id="null is nothing"),
        pytest.param(f"\ufeff{HEAD}\ufeff---\n{HEAD}", ["Document", "Document"], id="byte order marks"),
        pytest.param(f"{HEAD}---\n{HEAD}".replace("\n", "\r\n"), ["Document", "Document"], id="Windows ends"),
        pytest.param(f"{HEAD}---\n{HEAD}".replace("\n", "\r"), ["Document", "Document"], id="old Macintosh ends"),
        pytest.param(f"%YAML 1.1\n---\n{HEAD}---\n{HEAD}", ["Document", "Document"], id="a directive belongs to what follows"),
        pytest.param(f"{HEAD}...\n# c\n%YAML 1.1\n---\n{HEAD}", ["Document", "Document"], id="a directive after an end mark"),
        pytest.param(f"{HEAD}...\n{HEAD}", ["Document", "Document"], id="an end mark alone"),
        pytest.param(f"{HEAD}a: [\n---\n{HEAD}", ["Unreadable", "Document"], id="what follows a broken one is read"),
        pytest.param(f"{HEAD}a: '\n---\n{HEAD}", ["Unreadable", "Document"], id="a quote left open ends with the document"),
        pytest.param(f"{HEAD}a: |\n  ---\n  b\n", ["Document"], id="an indented marker is text"),
        pytest.param("", ["NotKubernetes"], id="no document at all"),
        pytest.param("# c\n---\n", ["NotKubernetes"], id="only empty documents"),
        pytest.param(
            f"- a\n---\n{HEAD}---\nb\n---\nc: d\n", ["NotKubernetes", "Document", "NotKubernetes", "NotKubernetes"], id="no objects"
        ),
        pytest.param("kind: Pod\n", ["Document"], id="kind alone is an object"),
        pytest.param("apiVersion: null\nkind: ~\n", ["NotKubernetes"], id="null is absent"),
        pytest.param('{"kind": "A"}\n{"kind": "B"}\n', ["Document", "Document"], id="JSON Lines"),
        pytest.param('{\n\t"kind":\t"A"\n}\n', ["Document"], id="JSON with tabs"),
        pytest.param("{kind: A}\n", ["Document"], id="flow style is no JSON"),
    ],
)
def test_the_documents_of_a_file(text: str, want: list[str]) -> None:
    assert want == kinds(parse(text))


@pytest.mark.parametrize("text", ["{{- if .x }}\nkind: Pod\n---\nkind: Pod\n", "kind: Pod\nname: {{ .x }}\n---\nkind: Pod\n"])
def test_a_template_is_unreadable_as_a_whole(text: str) -> None:
    assert "template" in unreadable(text).message


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        pytest.param("a:\n\tb: 1\n", (2, 1), "tab", id="a tab"),
        pytest.param("a: b\n c: d\n", (2, 3), "mapping values are not allowed", id="indentation"),
        pytest.param("a: {b: 1, b: 2}\n", (1, 11), "'b' must occur only once", id="a key twice, blamed at the second"),
        pytest.param("a:\n  1: x\n  '1': y\n", (3, 3), "'1' must occur only once", id="a key twice after it became a string"),
        pytest.param("x: &x {a: 1}\ny: {<<: *x, b: 1, b: 2}\n", (2, 19), "'b' must occur only once", id="a key twice beside a merge"),
        pytest.param("a: \x01\n", (1, 4), "U+0001", id="a control character"),
        pytest.param("a: *b\n", (1, 4), "anchor", id="an alias of nothing"),
        pytest.param("a: &a [*a]\n", (1, 8), "inside", id="an alias of itself"),
        pytest.param("? [a]\n: b\n", (1, 3), "key", id="a list as key"),
        pytest.param("a: &x [b]\n? *x\n: b\n", (2, 3), "key", id="an alias of a list as key"),
        pytest.param("~: b\n", (1, 1), "key", id="null as key"),
        pytest.param("a: {<<: 1}\n", (1, 5), "<<", id="a merge of a number"),
        pytest.param("a: .inf\n", (1, 4), "finite", id="infinity"),
        pytest.param(b"a: 1\nb: \xe4\n", (2, 4), "UTF-8", id="Latin-1"),
        pytest.param(b"\xef\xbb\xbf# \xff", (1, 3), "UTF-8", id="a byte order mark and then no UTF-8"),
        pytest.param("a: 1\n".encode("utf-16"), (1, 1), "UTF-8", id="UTF-16"),
    ],
)
def test_unreadable_yaml_is_told_where(text: str | bytes, place: tuple[int, int], message: str) -> None:
    found = unreadable(text)

    assert place == (found.line, found.column)
    assert message in found.message


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        pytest.param('{"a": 1,\n "b', (2, 2), "must be JSON", id="cut off"),
        pytest.param('{"a": 1,\n "a": 2}', (2, 2), "'a' must occur only once", id="a key twice"),
        pytest.param('{"a": {"b": [{"c": 1, "\\u0063": 2}]}}', (1, 23), "'c' must occur only once", id="a key twice, once escaped"),
        pytest.param('{"kind": "A"}}', (1, 14), "must be JSON", id="something left over"),
        pytest.param('{"a": NaN}', (1, 1), "finite", id="no number"),
        pytest.param("kind: Pod", (1, 1), "must be JSON", id="YAML in a JSON file"),
    ],
)
def test_unreadable_json_is_told_where(text: str, place: tuple[int, int], message: str) -> None:
    found = unreadable(text, "a.json")

    assert place == (found.line, found.column)
    assert message in found.message


def test_half_a_character_in_json_becomes_the_replacement_character() -> None:
    assert only('{"kind": "\\ud83d", "\\udc00": {"a": ["\\ud800"]}}', "a.json").content == {"kind": "\ufffd", "\ufffd": {"a": ["\ufffd"]}}


# Limits


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_nesting_has_a_limit(file: str) -> None:
    def nested(depth: int) -> str:
        return '{"kind": "A", "a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"

    assert kinds(parse(nested(limits.DEEPEST), file)) == ["Document"]
    assert kinds(parse(nested(limits.DEEPEST + 1), file)) == ["Unreadable"]


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 100_000, "- " * 100_000, "? " * 100_000, "[" * 100_000], ids=["flow", "lists", "keys", "json"]
)
def test_nesting_without_end_is_unreadable_and_no_crash(text: str) -> None:
    assert kinds(parse(text)) == ["Unreadable"]
    assert kinds(parse(text, "a.json")) == ["Unreadable"]


def test_depth_behind_aliases_counts() -> None:
    half = limits.DEEPEST // 2
    text = f"{HEAD}a: &a {'[' * half}{']' * half}\nb: " + "[" * (half - 1) + "{}" + "]" * (half - 1) + "\n"

    assert kinds(parse(text.format("*a"))) == ["Document"]
    assert kinds(parse(text.replace("{}", "[*a]"))) == ["Unreadable"]


def test_aliases_of_aliases_are_refused_and_not_followed() -> None:
    names = [chr(ord("a") + number) for number in range(12)]
    text = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, name in itertools.pairwise(names):
        text += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"

    assert "2,000,000" in unreadable(HEAD + text).message


def test_merged_mappings_count_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging copies keys; a copy is counted as every alias is."""
    monkeypatch.setattr("validators.lint.yaml_events.MOST_NODES", 100)
    text = HEAD + "a: &a {b: 1, c: 1}\nl:\n"

    assert kinds(parse(text + "- {<<: *a}\n" * 8)) == ["Document"]
    assert "100" in unreadable(text + "- {<<: *a}\n" * 16).message


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_the_number_of_values_has_a_limit(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setattr("validators.lint.yaml_events.MOST_NODES", 50)
    monkeypatch.setattr("validators.lint.json_text.MOST_NODES", 50)
    short, long = (f'{{"kind": "A", "a": [{", ".join("1" * length)}]}}' for length in (40, 60))

    assert kinds(parse(short, file)) == ["Document"]
    assert kinds(parse(f"{short}\n{short}", file)) == ["Document", "Document"]
    assert "at most 50 values" in unreadable(long, file).message


def test_a_file_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validators.lint.documents.LARGEST_FILE", len(HEAD))

    assert kinds(parse(HEAD)) == ["Document"]
    assert "at most" in unreadable(HEAD + " ").message


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


def test_items_of_a_list_of_one_kind_may_leave_out_what_they_are() -> None:
    text = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroupList\nitems:\n- metadata: {name: a}\n"

    assert only(text).content == {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("apiVersion: v1\nkind: List\nitems: []\n", ["NotKubernetes"], id="an empty list has no document"),
        pytest.param("apiVersion: v1\nkind: List\nitems:\n- 5\n- {}\n-\n", ["NotKubernetes"] * 3, id="items that are no objects"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{kind: A}, {kind: B}]}\n",
            ["Document"] * 2,
            id="a list in a list",
        ),
        pytest.param("apiVersion: example.com/v1\nkind: AllowList\nspec: {}\n", ["Document"], id="a kind that only sounds like one"),
        pytest.param("kind: List\nitems: [{kind: A}]\n", ["Document"], id="a list without apiVersion is an object that lacks it"),
    ],
)
def test_what_is_a_list(text: str, want: list[str]) -> None:
    assert want == kinds(parse(text))


# Places

OBJECT = """\
# comment
---
apiVersion: v1  # first
kind: "Pod"
metadata: {name: x, labels: {a.b/c: d}}
spec:
  list:
  - name: a
    deep: {flow: [1, {k: v}]}
  # comment
  - &anchored
    name: b
  - *anchored
  - <<: *anchored
    more: |
      text
  text: >-
    folded
  empty:
  alias: *anchored
"""


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


def test_no_object_is_told_at_its_first_line() -> None:
    (found,) = parse("\n# c\n\nvalues:\n  a: 1\n").parts

    assert isinstance(found, NotKubernetes)
    assert (found.line, found.column) == (4, 1)


@pytest.mark.parametrize("length", range(0, len(OBJECT), 7))
def test_a_file_cut_off_anywhere_is_read_or_unreadable(length: int) -> None:
    cut = parse(OBJECT[:length])

    assert cut.parts
    assert all(not isinstance(part, Document) or part.span(FieldPath("spec", "list", 1)).line <= length for part in cut.parts)


def test_libyaml_and_the_parser_in_python_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the words of an error are the same."""

    def everything() -> list[object]:
        document = only(OBJECT)
        lost = [unreadable("a: b\n c: d\n"), unreadable("a: \x01\n"), unreadable("a: {b: 1, b: 1}")]
        return [document.content, place(document, "spec", "list", 3, "more"), [(each.line, each.column) for each in lost]]

    fast = everything()
    monkeypatch.setattr("validators.lint.yaml_events._PARSER", yaml.SafeLoader)

    assert fast == everything()
