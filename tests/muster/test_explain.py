"""``muster explain``: rules and fields, told in three formats."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from muster import cli
from validators import rules
from validators.reports import explain as told


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["explain", *arguments])


def test_without_an_argument_all_rules_are_listed() -> None:
    answer = explain()

    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.stdout.splitlines()] == list(rules.discover())


@pytest.mark.parametrize("rule", ["gang-minimum", "unreadable"])
def test_a_rule(rule: str) -> None:
    answer = explain(rule)

    assert answer.exit_code == 0
    assert answer.stdout.startswith(f"{rule}  (")
    assert "Why: " in answer.stdout


def test_a_field() -> None:
    answer = explain("podgroup.spec.schedulingPolicy.gang.minCount", "--format", "json")

    assert "gang-minimum" in [each["id"] for each in json.loads(answer.stdout)["rules"]]


@pytest.mark.parametrize("kind", ["CompositePodGroup", "podgroup"])
def test_a_kind(kind: str) -> None:
    told_of = [each["id"] for each in json.loads(explain(kind, "--format", "json").stdout)["rules"]]

    assert [each.id for each in rules.discover().values() if kind.lower() in map(str.lower, each.kinds)] == told_of
    assert "gang-minimum" in told_of


@pytest.mark.parametrize("arguments", [[], ["claim-statuses"], ["PodGroup"], ["spec.controllerRef"]])
def test_text_has_no_markdown(arguments: list[str]) -> None:
    answer = explain(*arguments)

    assert (answer.exit_code, "`" in answer.stdout) == (0, False)


def test_markdown_without_an_argument_is_the_documentation() -> None:
    assert explain("--format", "markdown").stdout == told.documentation(list(rules.discover().values()))
    assert explain("--format", "markdown", "gang-minimum").stdout.startswith("## gang-minimum\n")


@pytest.mark.parametrize(("subject", "near"), [("gang-minimun", "did you mean gang-minimum"), ("nothing.like.it", "lists the rules")])
def test_what_is_unknown_is_a_mistake(subject: str, near: str) -> None:
    answer = explain(subject)

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1
    assert near in answer.stderr
