"""The demonstration's words."""

from __future__ import annotations

import pytest

from muster import demo_text

REQUEST = {"kind": {"group": "scheduling.k8s.io", "kind": "Workload"}, "name": "w"}
CAUSE = {"field": "spec", "reason": "FieldValueRequired", "message": "Required value: must be given"}
OTHER = {"field": "metadata.name", "reason": "FieldValueInvalid", "message": "Invalid value: must be short"}


def refusal(*causes, reason="Invalid"):
    return {"allowed": False, "status": {"reason": reason, "message": "told in one line", "details": {"causes": list(causes)}}}


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("a" * 100, "a" * 100, id="a line that just fits"),
        pytest.param("a" * 60 + " " + "b" * 39, "a" * 60 + " " + "b" * 39, id="two words that just fit"),
        pytest.param("a" * 60 + " " + "b" * 40, "a" * 60 + "\n    " + "b" * 40, id="two words, one column too many"),
        pytest.param("a " + "b" * 120, "a\n    " + "b" * 120, id="a word longer than a line stays whole"),
        pytest.param("    " + "b" * 120, "    " + "b" * 120, id="a long word that is indented already stays where it is"),
        pytest.param("\x1b[1m" + "a" * 60 + "\x1b[0m " + "b" * 39, "\x1b[1m" + "a" * 60 + "\x1b[0m " + "b" * 39, id="colours take no room"),
    ],
)
def test_lines_are_folded_at_100_columns(line, want):
    assert want == demo_text.fold(line)


@pytest.mark.parametrize(
    ("response", "want"),
    [
        pytest.param({"allowed": True}, ["workload.scheduling.k8s.io/w created"], id="allowed"),
        pytest.param(
            {"allowed": True, "warnings": ["a", "b"]}, ["Warning: a", "Warning: b", "workload.scheduling.k8s.io/w created"], id="warnings"
        ),
        pytest.param(
            refusal(CAUSE), ['The Workload "w" is invalid: spec: Required value: must be given'], id="one cause stands in the line"
        ),
        pytest.param(
            refusal(CAUSE, OTHER),
            ['The Workload "w" is invalid:', "* spec: Required value: must be given", "* metadata.name: Invalid value: must be short"],
            id="several causes are a list",
        ),
        pytest.param(refusal(reason="Forbidden"), ["Error from server (Forbidden): told in one line"], id="refused as a plugin does"),
        pytest.param(refusal(), ["Error from server (Invalid): told in one line"], id="no causes"),
    ],
)
def test_answers_read_as_kubectl_prints_them(response, want):
    assert want == list(demo_text.as_kubectl(REQUEST, response))


def test_kind_of_the_core_group_has_no_dot():
    request = {"kind": {"group": "", "kind": "Pod"}, "name": "p"}
    assert list(demo_text.as_kubectl(request, {"allowed": True})) == ["pod/p created"]


@pytest.mark.parametrize(
    ("operation", "want"),
    [
        pytest.param(
            {"op": "add", "path": "/spec/disruptionMode", "value": {"single": {}}},
            'spec.disruptionMode set to {"single": {}}',
            id="add a field",
        ),
        pytest.param(
            {"op": "add", "path": "/metadata/finalizers/-", "value": "f"}, 'metadata.finalizers[new] set to "f"', id="add to a list"
        ),
        pytest.param({"op": "replace", "path": "/spec/list/0/priority", "value": 5}, "spec.list[0].priority changed to 5", id="replace"),
        pytest.param({"op": "remove", "path": "/metadata/labels/a~1b~0c"}, "metadata.labels[a/b~c] removed", id="remove a label"),
        pytest.param({"op": "add", "path": "/spec/priority", "value": None}, "spec.priority set to null", id="null is a value"),
    ],
)
def test_patch_is_told_in_words(operation, want):
    assert [want] == list(demo_text.in_words([operation]))
