"""Suppressions by annotations and comments, and reports of unused ones."""

from __future__ import annotations

import msgspec
import pytest

from validators.lint import documents, suppress
from validators.lint.finding import Finding, Subject
from validators.lint.places import Span
from validators.rules.base import Severity

SUBJECT = Subject("v1", "Pod", "default", "p")
SCOPE = suppress.Scope(
    known=frozenset({"rule-a", "rule-b", "not-asked", "unreadable", "unused-suppression", "not-kubernetes"}),
    active=frozenset({"rule-a", "rule-b", "unreadable", "unused-suppression", "not-kubernetes"}),
)


def finding(rule: str, line: int, *, index: int | None = 0, file: str = "a.yaml") -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        message="m",
        type=None,
        field="spec",
        file=file,
        span=Span(line, 1, line, 5),
        document=SUBJECT,
        index=index,
    )


def annotation(value: str, index: int = 0) -> suppress.Annotation:
    return suppress.Annotation("a.yaml", index, SUBJECT, value, Span(5, 5, 5, 9))


def applied(findings: list[Finding], value: str | None = None, text: str = "", scope: suppress.Scope = SCOPE) -> suppress.Outcome:
    comments = [("a.yaml", each) for each in documents.parse("a.yaml", text.encode()).comments]
    return suppress.apply(findings, [annotation(value)] if value is not None else [], comments, scope=scope)


def remaining(outcome: suppress.Outcome) -> list[tuple[str, int]]:
    return [(each.rule, each.span.line) for each in outcome.findings]


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param("rule-a: why", [("rule-b", 9)], id="one rule"),
        pytest.param("rule-a: why\n\n  rule-b:  why not: so  \n", [], id="a rule on each line"),
        pytest.param("rule-a:", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9), ("unused-suppression", 5)], id="no reason hides nothing"),
        pytest.param("rule-a", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9), ("unused-suppression", 5)], id="no colon"),
        pytest.param("rule-c: why", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9), ("unused-suppression", 5)], id="an unknown rule"),
        pytest.param("", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9), ("unused-suppression", 5)], id="nothing at all"),
        pytest.param(": why", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9), ("unused-suppression", 5)], id="no rule"),
        pytest.param("not-asked: why", [("rule-a", 7), ("rule-a", 8), ("rule-b", 9)], id="of a rule that was not asked nothing is said"),
    ],
)
def test_an_annotation_hides_findings_of_its_object(value: str, want: list[tuple[str, int]]) -> None:
    findings = [finding("rule-a", 7), finding("rule-a", 8), finding("rule-b", 9)]

    assert want == remaining(applied(findings, value))


def test_a_comment_on_its_own_line_applies_to_the_next_line_only() -> None:
    outcome = applied([finding("rule-a", 3)], text="# muster: ignore[rule-a] why\n\na: b\n")

    assert remaining(outcome) == [("rule-a", 3), ("unused-suppression", 1)]


def test_an_annotation_is_for_its_own_object_and_file() -> None:
    findings = [finding("rule-a", 7, index=1), finding("rule-a", 7, file="b.yaml"), finding("rule-a", 7, index=None)]

    assert remaining(applied(findings, "rule-a: why")) == [("rule-a", 7)] * 3 + [("unused-suppression", 5)]


def test_hidden_findings_are_counted() -> None:
    assert applied([finding("rule-a", 7), finding("rule-a", 8)], "rule-a: why\nrule-a: twice").suppressed == 2


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("k: v\na: b  # muster: ignore[rule-a] why\n", [], id="on its own line"),
        pytest.param("# muster: ignore[rule-a] why\na: b\n", [], id="on the next line if it stands alone"),
        pytest.param(
            "# muster: ignore[rule-b, rule-a] why\na: b\n", [("unused-suppression", 1)], id="several rules, one with nothing to hide"
        ),
        pytest.param(
            "a: b # muster: ignore[rule-a] why\nc: d\n", [("rule-a", 2), ("unused-suppression", 1)], id="not on the next line beside text"
        ),
        pytest.param("# muster: ignore[rule-a] why\n# c\n\na: b\n", [], id="the next line, whatever it is"),
        pytest.param("a: b\nc: d\n# muster: ignore[rule-a] why\n", [("rule-a", 2), ("unused-suppression", 3)], id="not above"),
        pytest.param("# muster: ignore[rule-a]\na: b\n", [("rule-a", 2), ("unused-suppression", 1)], id="no reason"),
        pytest.param("# muster: ignore rule-a\na: b\n", [("rule-a", 2), ("unused-suppression", 1)], id="no brackets"),
        pytest.param("# muster: ignore[] why\na: b\n", [("rule-a", 2), ("unused-suppression", 1)], id="no rule"),
        pytest.param("# muster: ignore[rule-c] why\na: b\n", [("rule-a", 2), ("unused-suppression", 1)], id="an unknown rule"),
        pytest.param("a: '\n  # muster: ignore[rule-a] why'\n", [("rule-a", 2)], id="a text is no comment"),
        pytest.param("a: |\n  # muster: ignore[rule-a] why\n", [("rule-a", 2)], id="nor is one of several lines"),
        pytest.param("#muster:ignore[rule-a] why\na: b\n", [], id="spaces do not matter"),
        pytest.param("# TODO # muster: ignore[rule-a] why\na: b\n", [], id="after another comment"),
    ],
)
def test_a_comment_hides_findings_of_a_line(text: str, want: list[tuple[str, int]]) -> None:
    assert want == remaining(applied([finding("rule-a", 2)], text=text))


@pytest.mark.parametrize("rule", ["unreadable", "unused-suppression"])
def test_what_cannot_be_hidden(rule: str) -> None:
    outcome = applied([finding(rule, 2, index=None)], text=f"# muster: ignore[{rule}] why\na: b\n")

    assert remaining(outcome) == [(rule, 2), ("unused-suppression", 1)]
    assert "cannot be hidden" in outcome.findings[1].message


def test_a_comment_hides_that_a_file_is_not_kubernetes() -> None:
    assert applied([finding("not-kubernetes", 2, index=None)], text="# muster: ignore[not-kubernetes] Helm values\na: b\n").findings == ()


def test_of_an_object_that_was_given_up_nothing_is_reported() -> None:
    """Its other rules were not run, so it is unknown if the suppression is unused."""
    scope = suppress.Scope(SCOPE.known, SCOPE.active, {("a.yaml", 0)}, {("a.yaml", 0)})

    assert applied([], "rule-a: why", "# muster: ignore[rule-b] why\na: b\n", scope).findings == ()


def test_the_warning_is_at_the_annotation_or_at_the_comment() -> None:
    of_annotation, of_comment = applied([], "rule-a: why", "\na: b # muster: ignore[rule-a] why\n").findings

    assert (of_annotation.field, of_annotation.document) == ("metadata.annotations[muster.dev/ignore]", SUBJECT)
    assert (of_comment.field, of_comment.document, of_comment.span) == ("", None, Span(2, 6, 2, 34))
    assert {of_annotation.severity, of_comment.severity} == {Severity.WARNING}


def test_a_finding_is_not_compared_with_every_suppression() -> None:
    compared = 0

    class Line(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    lines = range(1, 101)
    text = "".join(f"a{line}: 1 # muster: ignore[rule-a] why\n" for line in lines)
    result = [
        msgspec.structs.replace(each, span=Span(Line(each.span.line), 1, 1, 5)) for each in (finding("rule-a", line) for line in lines)
    ]
    outcome = applied(result, text=text)

    assert (outcome.findings, outcome.suppressed) == ((), 100)
    assert compared <= 1000


def test_of_two_for_one_place_the_one_without_a_reason_is_reported() -> None:
    outcome = applied([finding("rule-a", 9)], "rule-a:\nrule-a: why")

    assert [each.message for each in outcome.findings] == ["the suppression of rule-a must give a reason; without one it hides nothing"]
    assert outcome.suppressed == 1
