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


def test_documents_after_a_broken_one_are_read() -> None:
    first, second = records(b"a: [\n---\nb: 2\n", yaml=True)
    assert (True, b'{"b":2}') == (bool(first.error), second.text)
