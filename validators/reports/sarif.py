"""SARIF 2.1.0: what code scanning services read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from validators import rules
from validators.lint.finding import UNREADABLE, Finding, Report
from validators.rules.base import Rule, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_DOCUMENTS = "https://github.com/kubernetes/enhancements/issues/"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.OFF: "none"}


def render(report: Report) -> str:
    """One SARIF log with one run.  Rules that found something are described; columns count Unicode code points."""
    return json.dumps(as_sarif(report, rules.discover()), ensure_ascii=False, indent=2) + "\n"


def as_sarif(report: Report, known: Mapping[str, Rule]) -> dict[str, object]:
    """The same before it is text."""
    told = sorted({each.rule for each in report.findings})
    numbers = {rule: number for number, rule in enumerate(told)}
    seen: dict[str, int] = {}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "muster", "rules": [_rule(each, known.get(each)) for each in told]}},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.has_unreadable,
                        "toolExecutionNotifications": [_notification(each) for each in report.findings if each.rule == UNREADABLE],
                    }
                ],
                "results": [_result(each, numbers[each.rule], seen) for each in report.findings],
            }
        ],
    }


def _rule(identity: str, rule: Rule | None) -> dict[str, object]:
    if rule is None:
        return {"id": identity, "shortDescription": {"text": identity}}
    more = f"Source: {rule.source}. `muster explain {identity}` has examples."
    told: dict[str, object] = {
        "id": identity,
        "name": "".join(part.capitalize() for part in identity.split("-")),
        "shortDescription": {"text": rule.claim or identity},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.claim}\n\n{rule.why}\n\n{more}", "markdown": f"**{rule.claim}**\n\n{rule.why}\n\n{more}\n"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    # A helpUri must be absolute, so it is the document that the rule comes from.
    document = re.search(r"KEP-(\d+)", rule.source)
    return told | {"helpUri": f"{_DOCUMENTS}{document[1]}"} if document else told


def _result(finding: Finding, number: int, seen: dict[str, int]) -> dict[str, object]:
    field = f"{finding.field}: " if finding.field else ""
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{field}{finding.message}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"musterFinding/v1": _fingerprint(finding, seen)},
    }


def _location(finding: Finding) -> dict[str, object]:
    span = finding.span
    physical = {
        "artifactLocation": {"uri": quote(finding.file, safe="/-._~")},
        "region": {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": max(span.column, span.end_column),
        },
    }
    if finding.document is None:
        return {"physicalLocation": physical}
    name = f"{finding.document}: {finding.field}" if finding.field else str(finding.document)
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": name}]}


def _notification(finding: Finding) -> dict[str, object]:
    return {"level": "error", "message": {"text": finding.message}, "locations": [_location(finding)]}


def _fingerprint(finding: Finding, seen: dict[str, int]) -> str:
    """The same for the same finding after lines have moved: no line goes into it.  Twins are counted."""
    whole = json.dumps([finding.rule, finding.file, finding.field, str(finding.document or "")])
    seen[whole] = seen.get(whole, 0) + 1
    return hashlib.sha256(f"{whole}:{seen[whole]}".encode()).hexdigest()[:32]
