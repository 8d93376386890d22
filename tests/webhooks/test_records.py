"""Records in a text: how it is split, and on which line each record is."""

from __future__ import annotations

import json

import pytest

from webhooks.admission.records import records


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(b'{"a":1}\n{"b":2}\n', 2, id="JSON Lines"),
        pytest.param(b'\n{"a":1}\n\n\n{"b":2}', 2, id="empty lines are nothing"),
        pytest.param(b'{\n "a": 1\n}\n', 1, id="one document over several lines"),
        pytest.param(b'[{"a":1},{"b":2}]', 2, id="a list"),
        pytest.param(b'[\n{"a":1},\n{"b":2}\n]', 2, id="a list over several lines"),
        pytest.param(b"", 0, id="nothing"),
        pytest.param(b'{"a":1}\nnonsense\n{"b":2}', 3, id="nonsense keeps its place"),
    ],
)
def test_records(text: bytes, want: int) -> None:
    assert want == len(list(records(text)))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(b'{"a":1}\n\n{"b":2}\n', ["f:1", "f:3"], id="JSON Lines"),
        pytest.param(b'\n\n{\n "a": 1\n}\n', ["f:3"], id="one document over several lines"),
        pytest.param(b'[{"a":1},{"b":2}]', ["f:1: record 1", "f:1: record 2"], id="a list"),
        pytest.param(b"a: 1\n---\n# about b\nb: 2\n", ["f:1", "f:4"], id="YAML documents"),
        pytest.param(b"---\n\na: 1\n...\n", ["f:3"], id="YAML with markers"),
        pytest.param(b"- a: 1\n- b: 2\n", ["f:1: record 1", "f:1: record 2"], id="a YAML list"),
        pytest.param(b"\xef\xbb\xbfa: 1\n", ["f:1"], id="a byte order mark"),
    ],
)
def test_places(text: bytes, want: list[str]) -> None:
    assert want == [each.place("f") for each in records(text, yaml=True)]


def test_yaml_becomes_json() -> None:
    (record,) = records(b"kind: AdmissionReview\nrequest:\n  uid: a\n  dryRun: false\n")
    assert {"kind": "AdmissionReview", "request": {"uid": "a", "dryRun": False}} == json.loads(record.text)


@pytest.mark.parametrize(
    ("text", "yaml", "want"),
    [
        pytest.param(b'{"a": 1}\n{"b": 2}\n', True, 2, id="JSON Lines in a file named as YAML"),
        pytest.param(b"kind: x\nmore: y\n", False, 1, id="YAML by its content"),
        pytest.param(b'kind: x\n{"b": 2}\n', False, 2, id="a line of JSON: JSON Lines with a broken line"),
        pytest.param(b"what: is this", True, 1, id="one line of YAML"),
    ],
)
def test_formats_are_recognised(text: bytes, yaml: bool, want: int) -> None:
    assert want == len([*records(text, yaml=yaml)])


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        pytest.param(b"a: 1\nb: [\n", 3, "not YAML: ", id="no YAML"),
        pytest.param(b"a: 1\na: 2\n", 2, "not YAML: ", id="a duplicate key"),
        pytest.param(b"a: 1\nb: \xff\n", 2, "not YAML: must be UTF-8", id="not UTF-8"),
    ],
)
def test_text_that_is_not_yaml_has_a_line(text: bytes, line: int, reason: str) -> None:
    (record,) = records(text, yaml=True)
    assert (line, b"") == (record.line, record.text)
    assert record.error.startswith(reason)


HALF = r'{"a": "\ud83d", "\udc00": 1}'
"""JSON with halves of surrogate pairs, which have no UTF-8."""


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(f'[{{"a": 1}}, {HALF}, 2]', [{"a": 1}, json.loads(HALF), 2], id="a surrogate in a list"),
        pytest.param(f'[\n{{"a": 1}},\n{HALF}\n]\n', [{"a": 1}, json.loads(HALF)], id="a surrogate in a list over several lines"),
        pytest.param('[1e999, {"a": -Infinity}]', [float("inf"), {"a": -float("inf")}], id="numbers beyond a double"),
        pytest.param(f"[{2**80}]", [2**80], id="a number beyond 64 bits"),
        pytest.param(f"- {2**64 + 1}\n- a: {2**65}\n", [2**64 + 1, {"a": 2**65}], id="numbers beyond 64 bits in YAML"),
    ],
)
def test_every_value_of_a_list_is_a_record(text: str, want: list[object]) -> None:
    assert want == [json.loads(each.text) for each in records(text.encode(), yaml=text.startswith("-"))]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(b'{"a":1}\n{"b":"' + b"x" * 100 + b'"}\n{"c":3}', ["", "must be at most 90 bytes", ""], id="a line"),
        pytest.param(b'{"b":"' + b"x" * 100 + b'"}\n{"c":3}', ["must be at most 90 bytes", ""], id="the first line"),
        pytest.param(b'["' + b"x" * 100 + b'"]', ["must be at most 90 bytes"], id="a list"),
        pytest.param(b"a: " + b"x" * 100, ["must be at most 90 bytes of YAML; split the file"], id="YAML"),
        pytest.param(b'{"a":1}\n' * 40, ["must be at most 300 bytes; split the file"], id="a file"),
        pytest.param(b'{"a":1}\n' * 30, [""] * 30, id="many records"),
    ],
)
def test_what_is_too_large_is_an_error_in_its_place(monkeypatch: pytest.MonkeyPatch, text: bytes, want: list[str]) -> None:
    monkeypatch.setattr("webhooks.admission.records.LARGEST_RECORD", 90)
    monkeypatch.setattr("webhooks.admission.records.LARGEST_TEXT", 300)

    assert want == [each.error for each in records(text)]


def test_a_byte_order_mark_is_no_part_of_a_record() -> None:
    assert [b'{"a":1}', b'{"b":2}'] == [each.text for each in records(b'\xef\xbb\xbf{"a":1}\r\n{"b":2}\r')]


def test_documents_after_a_broken_one_are_read() -> None:
    first, second = records(b"a: [\n---\nb: 2\n", yaml=True)
    assert (True, b'{"b": 2}') == (bool(first.error), second.text)
