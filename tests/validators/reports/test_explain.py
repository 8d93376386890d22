"""Explanation of rules as text, JSON and Markdown, and search by field."""

from __future__ import annotations

import json

import pytest

from validators import rules
from validators.reports import explain

ALL = list(rules.discover().values())


def plain(markdown: str) -> str:
    """Return a text of a rule on one line, without backticks."""
    return " ".join(markdown.replace("`", "").split())


def test_the_list_has_a_line_for_each_rule() -> None:
    lines = explain.listing(ALL).splitlines()

    assert [each.id for each in ALL] == [line.split()[0] for line in lines]
    assert all(plain(rule.claim) in line for rule, line in zip(ALL, lines, strict=True))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_each_rule_has_claim_reason_source_and_examples(rule: rules.Rule) -> None:
    messages = explain.text([rule])
    flat = " ".join(messages.split())

    assert rule.id in messages
    assert plain(rule.claim) in flat
    assert plain(rule.why) in flat
    assert plain(rule.source) in flat
    assert all(" ".join(example.yaml.split()) in flat for example in (*rule.bad[:1], *rule.good[:1]))


def test_json_holds_every_rule_and_example() -> None:
    messages = json.loads(explain.as_json(ALL))

    assert messages["version"] == 1
    assert [each["id"] for each in messages["rules"]] == [each.id for each in ALL]
    assert all(each["bad"] and each["claim"] and each["why"] for each in messages["rules"])


def test_the_documentation_has_a_heading_for_each_link() -> None:
    page = explain.documentation(ALL)

    assert page.startswith("# Rules\n")
    assert all(f"[{each.id}](#{each.id})" in page and f"\n## {each.id}\n" in page for each in ALL)
    assert page.count("```") == 2 * page.count("```yaml")


@pytest.mark.parametrize(
    ("expected", "rule"),
    [
        ("spec.schedulingPolicy.gang.minCount", "gang-minimum"),
        ("podgroup.spec.schedulingPolicy.gang.minCount", "gang-minimum"),
        ("minCount", "gang-minimum"),
        ("spec.podGroupTemplates[3]", "template-names-unique"),
        ("disruptionMode", "all-needs-gang"),
    ],
)
def test_a_field_selects_the_rules_that_mention_it(expected: str, rule: str) -> None:
    assert rule in [each.id for each in explain.about_field(ALL, expected)]


@pytest.mark.parametrize("wanted_value", ["nothing", "node.spec.disruptionMode", "Count"])
def test_a_field_that_no_rule_mentions_selects_none(wanted_value: str) -> None:
    assert explain.about_field(ALL, wanted_value) == []
