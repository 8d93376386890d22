"""Documents of a file: values, kinds, unreadable texts, and limits."""

from __future__ import annotations

import json

import pytest

from kubeapi.field_path import FieldPath
from tests.validators.lint.parsing import HEAD, OBJECT, kinds, only, parse, unreadable
from validators.lint.documents import Document


def content(text: str) -> dict[str, object]:
    return {key: value for key, value in only(HEAD + text).content.items() if key not in {"apiVersion", "kind"}}


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
    result = only(f'{{"apiVersion": "v1", "kind": "Pod", "a": {written}}}', file).content["a"]
    assert (int, written) == (type(result), str(result))


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
def test_unreadable_yaml_is_reported_with_its_place(text: str | bytes, place: tuple[int, int], message: str) -> None:
    result = unreadable(text)

    assert place == (result.line, result.column)
    assert message in result.message


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
def test_unreadable_json_is_reported_with_its_place(text: str, place: tuple[int, int], message: str) -> None:
    result = unreadable(text, "a.json")

    assert place == (result.line, result.column)
    assert message in result.message


def test_half_a_character_in_json_becomes_the_replacement_character() -> None:
    assert only('{"kind": "\\ud83d", "\\udc00": {"a": ["\\ud800"]}}', "a.json").content == {"kind": "\ufffd", "\ufffd": {"a": ["\ufffd"]}}


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


@pytest.mark.parametrize("length", range(0, len(OBJECT), 7))
def test_a_file_cut_off_anywhere_is_read_or_unreadable(length: int) -> None:
    cut = parse(OBJECT[:length])

    assert cut.parts
    assert all(not isinstance(part, Document) or part.span(FieldPath("spec", "list", 1)).line <= length for part in cut.parts)
