"""The demonstration's words."""

from __future__ import annotations

import pytest

from muster.commands.demo import wording

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
    assert want == wording.fold(line)


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
    assert want == list(wording.as_kubectl(REQUEST, response))


def test_kind_of_the_core_group_has_no_dot():
    request = {"kind": {"group": "", "kind": "Pod"}, "name": "p"}
    assert list(wording.as_kubectl(request, {"allowed": True})) == ["pod/p created"]


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
def test_patch_is_reported_in_words(operation, want):
    assert [want] == list(wording.in_words([operation]))


LONG = "kubectl get pods -o custom-columns=" + "x" * 63


@pytest.mark.parametrize(
    ("command", "want"),
    [
        pytest.param("kubectl get pods", "kubectl get pods", id="a short one stays whole"),
        pytest.param(LONG[:-2], LONG[:-2], id="one that just fits behind its prompt"),
        pytest.param(LONG, LONG.replace(" -o", " \\\n    -o"), id="a column too many: broken before an option"),
        pytest.param("x" * 120, "x" * 120, id="without options there is nowhere to break"),
        pytest.param(
            "a " + "b" * 50 + " --c d --e " + "f" * 50, "a " + "b" * 50 + " --c d \\\n    --e " + "f" * 50, id="as late as can be"
        ),
    ],
)
def test_commands_are_broken_before_options(command, want):
    assert want == wording.typed(command)


def test_columns_are_aligned():
    assert ["a    bb", "ccc  d"] == wording.columns([("a", "bb"), ("ccc", "d")])


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
    assert want == wording.hanging(line)
