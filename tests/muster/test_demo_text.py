"""The demonstration's words: lines that fit, and answers as kubectl prints them."""

from __future__ import annotations

import base64
import json

import pytest

from muster.commands.demo import command, terminal

REVIEW = {"request": {"kind": {"group": "scheduling.k8s.io", "kind": "Workload"}, "name": "w"}}
CAUSE = {"field": "spec", "reason": "FieldValueRequired", "message": "Required value: must be given"}
OTHER = {"field": "metadata.name", "reason": "FieldValueInvalid", "message": "Invalid value: must be short"}


def refusal(*causes):
    return {"allowed": False, "status": {"code": 422, "reason": "Invalid", "message": "told", "details": {"causes": list(causes)}}}


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("a" * 100, ["a" * 100], id="a line that just fits"),
        pytest.param("a" * 60 + " " + "b" * 39, ["a" * 60 + " " + "b" * 39], id="two words that just fit"),
        pytest.param("a" * 60 + " " + "b" * 40, ["a" * 60, "    " + "b" * 40], id="two words, one column too many"),
        pytest.param("a " + "b" * 120, ["a", "    " + "b" * 120], id="a word longer than a line stays whole"),
        pytest.param("a" * 60 + "   b", ["a" * 60 + "   b"], id="columns keep their distance"),
        pytest.param("a" * 60 + " b-" + "c" * 50, ["a" * 60, "    b-" + "c" * 50], id="a hyphen is no place to break"),
    ],
)
def test_lines_are_folded_at_100_columns(line, want):
    assert want == terminal.fold(line, "    ")


@pytest.mark.parametrize(
    ("response", "want"),
    [
        pytest.param({"allowed": True}, ["allowed", "  workload.scheduling.k8s.io/w created"], id="allowed"),
        pytest.param(
            {"allowed": True, "warnings": ["a", "b"]},
            ["allowed, with a warning", "  Warning: a", "  Warning: b", "  workload.scheduling.k8s.io/w created"],
            id="warnings",
        ),
        pytest.param(
            refusal(CAUSE),
            ["refused, 422", '  The Workload "w" is invalid: spec: Required value: must be given'],
            id="one cause stands in the line",
        ),
        pytest.param(
            refusal(CAUSE, OTHER),
            [
                "refused, 422",
                '  The Workload "w" is invalid:',
                "  * spec: Required value: must be given",
                "  * metadata.name: Invalid value: must be short",
            ],
            id="several causes are a list",
        ),
    ],
)
def test_answers_read_as_kubectl_prints_them(response, want):
    assert want == [*command._answer(REVIEW, 200, {"response": response})]


def test_an_error_of_the_server_is_shown_with_its_status():
    assert ["HTTP 400", "  no review"] == [*command._answer({}, 400, {"error": "no review"})]


def test_patch_is_reported_in_words():
    patch = [
        {"op": "add", "path": "/spec/disruptionMode", "value": {"single": {}}},
        {"op": "add", "path": "/metadata/finalizers", "value": ["f"]},
    ]
    response = {"allowed": True, "patch": base64.b64encode(json.dumps(patch).encode()).decode()}

    words = ["completed", '  spec.disruptionMode set to {"single": {}}', '  metadata.finalizers set to ["f"]']
    assert words == [*command._answer(REVIEW, 200, {"response": response})]


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("a b c", 4, id="running text"),
        pytest.param("  a b c", 6, id="running text, indented"),
        pytest.param("  NAME   WHY", 9, id="below the last of two columns"),
        pytest.param("  a  b  " + "c" * 50, 8, id="below the last of three"),
        pytest.param("a" * 58 + "  b", 60, id="a column that begins as late as may be"),
        pytest.param("a" * 59 + "  b", 4, id="one that begins later"),
    ],
)
def test_what_is_folded_hangs_below_its_last_column(line, want):
    assert want == terminal.hanging(line)
