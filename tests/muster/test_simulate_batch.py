"""Questions a line, answers a line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.simulate import question_batch
from tests.muster.simulated import gang, node, pod

GOOD = {"id": 1, "objects": [node("n1"), pod("p")]}
FULL = {"id": "full", "objects": [node("n1", cpu="1"), gang("g", 2), pod("g-0", group="g"), pod("g-1", group="g")]}


def batch(*lines, arguments=()):
    text = "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines)
    answer = CliRunner().invoke(cli.main, ["simulate", "-", "--batch", *arguments], input=text)
    assert answer.stderr == ""
    return answer.exit_code, [json.loads(line) for line in answer.stdout.splitlines()]


def test_answers_come_in_order_each_with_its_id():
    status, answers = batch(GOOD, FULL, {**GOOD, "id": {"any": "value"}})

    assert status == 1
    assert [answer["id"] for answer in answers] == [1, "full", {"any": "value"}]
    assert [answer["summary"]["placed"] for answer in answers] == [1, 0, 1]
    assert list(answers[0]) == ["id", "version", "decisions", "pending", "problems", "summary"]


def test_blank_lines_are_nothing():
    status, answers = batch("", GOOD, "   ")
    assert (status, len(answers)) == (0, 1)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("nonsense", {"error": "is not JSON"}, id="no JSON"),
        pytest.param("[]", {"error": "must be {"}, id="no object"),
        pytest.param("{}", {"id": None, "error": "must be {"}, id="no objects"),
        pytest.param({"id": 7, "objects": {}}, {"id": 7, "error": "must be {"}, id="objects are no list"),
        pytest.param(
            {"id": 7, "objects": [], "options": {"evicts": 1}}, {"id": 7, "error": "there is no option 'evicts'"}, id="unknown option"
        ),
        pytest.param({"id": 7, "objects": [], "options": {"strategy": "best"}}, {"id": 7, "error": "option strategy"}, id="strategy"),
        pytest.param({"id": 7, "objects": [], "options": {"rankOrder": True}}, {"id": 7, "error": "option rankOrder"}, id="rank order"),
        pytest.param({"id": 7, "objects": [], "options": {"order": ["x"]}}, {"id": 7, "error": ""}, id="unknown root"),
        pytest.param({"id": 7, "objects": [], "options": {"drain": ["x"]}}, {"id": 7, "error": "there is no node 'x'"}, id="unknown node"),
        pytest.param('{"id": ' + "[" * 5000 + "]" * 5000 + "}", {"error": "is nested too deeply"}, id="too deep"),
    ],
)
def test_a_line_that_is_no_question_is_answered_in_its_place(line, want):
    status, answers = batch(GOOD, line, GOOD)

    assert status == 2
    assert [1, 1] == [answers[0]["id"], answers[2]["id"]]
    assert set(want) == set(answers[1])
    assert answers[1]["error"].startswith(want["error"])
    assert answers[1].get("id") == want.get("id")


def test_a_line_that_is_too_long_is_reported_and_skipped(monkeypatch):
    monkeypatch.setattr(question_batch, "LARGEST_JSON", len(json.dumps(GOOD)) + 1)
    status, answers = batch(GOOD, FULL, GOOD)

    assert (status, len(answers)) == (2, 3)
    assert answers[1]["error"].startswith("a request must be at most ")


def test_options_of_a_line_win_over_those_of_the_call():
    _, answers = batch(
        GOOD, {**GOOD, "options": {"timings": False, "addNodes": "1 like n1"}}, arguments=["--timings", "--scheduler-name", "other"]
    )

    assert ["seconds" in answer["summary"] for answer in answers] == [True, False]
    assert [answer["decisions"] for answer in answers] == [[], []]


def test_further_objects_are_known_to_every_question(tmp_path):
    (tmp_path / "nodes.json").write_text(json.dumps(node("known")), encoding="utf-8")
    _, answers = batch({"id": 1, "objects": [pod("p")]}, GOOD, arguments=["--objects", str(tmp_path)])

    assert answers[0]["decisions"][0]["assignments"] == {"default/p": "known"}
    assert answers[1]["summary"]["placed"] == 1


def test_reviews_are_read_from_files(tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps(GOOD), encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["simulate", "--batch", str(tmp_path / "q.jsonl")])

    assert (answer.exit_code, json.loads(answer.stdout)["id"]) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["nowhere"], "cannot read nowhere: no such file or directory", id="no such file"),
        pytest.param(["."], "cannot read .: is a directory", id="a directory"),
        pytest.param(["-", "--format", "text"], "answers are JSON", id="text"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, told):
    answer = CliRunner().invoke(cli.main, ["simulate", "--batch", *arguments])

    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert told in answer.stderr
