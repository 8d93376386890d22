"""``muster review``: JSON and YAML in, one answer per line out; errors name the file and the line."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.webhooks.test_replay import pod_group
from tests.webhooks.test_review import envelope

pytestmark = pytest.mark.usefixtures("folder")

REVIEW: dict[str, Any] = json.loads(envelope(object=pod_group()))
YAML = """\
# recorded on a Monday
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: "705ab4f5"
  kind: {group: scheduling.k8s.io, version: v1beta1, kind: PodGroup}
  resource: {group: scheduling.k8s.io, version: v1beta1, resource: podgroups}
  operation: CREATE
  object:
    apiVersion: scheduling.k8s.io/v1beta1
    kind: PodGroup
    metadata: {name: a, namespace: default}
    spec:
      schedulingPolicy:
        gang: {minCount: COUNT}
"""


def review(*arguments: str, text: str = "") -> tuple[int, list[dict[str, Any]]]:
    answer = CliRunner().invoke(cli.main, ["review", *arguments], input=text)
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, [json.loads(line) for line in answer.stdout.splitlines()]


def test_yaml_is_answered_as_the_same_json(folder) -> None:
    (folder / "one.yaml").write_text(YAML.replace("COUNT", "2"), encoding="utf-8")
    (folder / "two.yml").write_text(f"{YAML}---\nreview:\n  kind: AdmissionReview\n".replace("COUNT", "-1"), encoding="utf-8")
    status, answers = review("one.yaml")
    assert (0, [True]) == (status, [each["response"]["allowed"] for each in answers])
    status, answers = review("two.yml")
    assert (2, False) == (status, answers[0]["response"]["allowed"])
    assert answers[1]["error"].startswith("two.yml:17: ")


def test_yaml_on_standard_input() -> None:
    status, answers = review("-", text=YAML.replace("COUNT", "2"))
    assert (0, "705ab4f5") == (status, answers[0]["response"]["uid"])


MISTAKES = [
    pytest.param("a.jsonl", f"{json.dumps(REVIEW)}\n\nnonsense\n", [None, "a.jsonl:3: not JSON: "], id="a line that is no JSON"),
    pytest.param("a.json", '\n{"kind":\n "Pod"}\n', ["a.json:2: must be an AdmissionReview"], id="another document"),
    pytest.param("a.json", json.dumps([REVIEW, {}]), [None, "a.json:1: record 2: must be an AdmissionReview"], id="in a list"),
    pytest.param("a.yaml", "kind: Pod\n---\nkind: [\n", ["a.yaml:1: must be", "a.yaml:4: not YAML: "], id="YAML that is none"),
    pytest.param("a.yaml", "- kind: Pod\n- 5\n", ["a.yaml:1: record 1: ", "a.yaml:1: record 2: "], id="a YAML list"),
]


HALF = json.loads(json.dumps(REVIEW))
HALF["request"]["object"]["metadata"]["labels"] = {"a": "\ud83d"}
"""A review with half of a surrogate pair, as JSON can have it and UTF-8 cannot."""
NAMED = json.loads(json.dumps(REVIEW).replace('"uid": "', '"uid": "\\udfff'))
MALFORMED = "not JSON: JSON is malformed"
MISTAKES += [
    pytest.param("a.jsonl", "\n".join(map(json.dumps, (HALF, REVIEW))), [f"a.jsonl:1: {MALFORMED}", None], id="half a surrogate pair"),
    pytest.param("a.json", json.dumps([NAMED, REVIEW]), [f"a.json:1: record 1: {MALFORMED}", None], id="half a surrogate pair in a list"),
    pytest.param(
        "a.jsonl",
        "\n".join(json.dumps({"review": each, "objects": []}) for each in (NAMED, HALF, REVIEW)),
        [f"a.jsonl:1: {MALFORMED}", f"a.jsonl:2: {MALFORMED}", None],
        id="half a surrogate pair in a review with options",
    ),
    pytest.param(
        "a.jsonl",
        f"{json.dumps({'review': REVIEW, 'objects': [{'kind': HALF}]})}\n{json.dumps(REVIEW)}",
        [f"a.jsonl:1: {MALFORMED}", None],
        id="half a surrogate pair in the objects",
    ),
    pytest.param("a.jsonl", f'{{"review": NaN}}\n{json.dumps(REVIEW)}', [f"a.jsonl:1: {MALFORMED}", None], id="no number"),
    pytest.param("a.jsonl", f"{'[' * 5000}\n{json.dumps(REVIEW)}", ["a.jsonl:1: not JSON: ", None], id="lists in lists"),
]


@pytest.mark.parametrize(("name", "text", "want"), MISTAKES)
def test_records_that_cannot_be_answered_have_file_line_and_reason(folder, name: str, text: str, want: list[str | None]) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    status, answers = review(name)
    assert 2 == status
    assert [True] * len(want) == [
        "response" in each if start is None else each["error"].startswith(start) for start, each in zip(want, answers, strict=True)
    ]


def test_files_that_cannot_be_read_are_answered_in_their_place(folder) -> None:
    (folder / "a.json").write_text(json.dumps(REVIEW), encoding="utf-8")
    (folder / "folder").mkdir()
    name = os.fsdecode(b"\xff.json")
    status, answers = review("nowhere.json", "a.json", "folder", name, "a.json")

    assert status == 2
    assert [each.get("error") for each in answers] == [
        "nowhere.json:1: cannot be read: no such file or directory",
        None,
        "folder:1: cannot be read: is a directory",
        "\\xff.json:1: cannot be read: no such file or directory",
        None,
    ]


def test_a_device_without_end_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhooks.admission.records.LARGEST_TEXT", 100_000)

    assert review("/dev/zero") == (2, [{"error": "/dev/zero:1: must be at most 100,000 bytes; split the file"}])
    assert review("-", text="{}" * 50_001)[1] == [{"error": "<stdin>:1: must be at most 100,000 bytes; split the file"}]
