"""Report as SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from urllib.parse import quote

from validators import rules
from validators.lint.finding import UNREADABLE, Finding, Report, TextFix
from validators.lint.places import Span
from validators.reports.escape import json_text, printable
from validators.reports.fingerprint import Fingerprints
from validators.rules.base import Rule, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
DISTRIBUTION = "muster-scheduling"
"""Distribution whose version is reported."""
_DOCUMENTS = "https://github.com/kubernetes/enhancements/issues/"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.OFF: "none"}


def render(report: Report) -> str:
    """Return one SARIF log with one run, and descriptions of the rules with findings.  Columns count Unicode code points."""
    return json_text(as_sarif(report, rules.discover()), indent=2)


def as_sarif(report: Report, known: Mapping[str, Rule]) -> dict[str, object]:
    """Return the report as JSON values."""
    reported = sorted({each.rule for each in report.findings})
    numbers = {rule: number for number, rule in enumerate(reported)}
    fingerprints = Fingerprints()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "muster", **_version(), "rules": [_rule(each, known.get(each)) for each in reported]}},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.has_unreadable,
                        "toolExecutionNotifications": [_notification(each) for each in report.findings if each.rule == UNREADABLE],
                    }
                ],
                "results": [_result(each, numbers[each.rule], fingerprints.next(each)) for each in report.findings],
            }
        ],
    }


def _version() -> dict[str, str]:
    """Return the version of the installed distribution; nothing if the package is used without one."""
    try:
        return {"version": importlib.metadata.version(DISTRIBUTION)}
    except importlib.metadata.PackageNotFoundError:
        return {}


def _rule(rule_id: str, rule: Rule | None) -> dict[str, object]:
    if rule is None:
        return {"id": rule_id, "shortDescription": {"text": rule_id}}
    more = f"Source: {rule.source}. `muster explain {rule_id}` has examples."
    description: dict[str, object] = {
        "id": rule_id,
        "name": "".join(part.capitalize() for part in rule_id.split("-")),
        "shortDescription": {"text": rule.claim or rule_id},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.claim}\n\n{rule.why}\n\n{more}", "markdown": f"**{rule.claim}**\n\n{rule.why}\n\n{more}\n"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    # A helpUri must be absolute, so it is that of the KEP.
    document = re.search(r"KEP-(\d+)", rule.source)
    return description | {"helpUri": f"{_DOCUMENTS}{document[1]}"} if document else description


def _result(finding: Finding, number: int, fingerprint: str) -> dict[str, object]:
    field = f"{finding.field}: " if finding.field else ""
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(f"{field}{finding.message}")},
        "locations": [_location(finding)],
        "partialFingerprints": {"musterFinding/v1": fingerprint},
    }
    return result if finding.fix is None else result | {"fixes": [_fix(finding.file, finding.fix)]}


def _plain(text: str) -> str:
    """Return *text* on one line, and without links: viewers make one of [text](address) (SARIF 2.1.0, 3.11.6)."""
    return printable(text).replace("](", "]\\(")


def _fix(file: str, fix: TextFix) -> dict[str, object]:
    replacements = [
        {"deletedRegion": _region(span), "insertedContent": {"text": edit.text}} for span, edit in zip(fix.spans, fix.edits, strict=True)
    ]
    safety = "" if fix.is_safe else " (not safe)"
    return {
        "description": {"text": f"{fix.title}{safety}"},
        "artifactChanges": [{"artifactLocation": _artifact(file), "replacements": replacements}],
    }


def _location(finding: Finding) -> dict[str, object]:
    span = finding.span
    physical = {
        "artifactLocation": _artifact(finding.file),
        "region": _region(span) | {"endColumn": max(span.column, span.end_column)},
    }
    if finding.document is None:
        return {"physicalLocation": physical}
    name = f"{finding.document}: {finding.field}" if finding.field else str(finding.document)
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": name}]}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _artifact(file: str) -> dict[str, str]:
    """Return the place of a file: an absolute URI, or one relative to the root of the sources, as code scanning resolves it."""
    path = quote(file, safe="/-._~")
    return {"uri": f"file://{path}"} if file.startswith("/") else {"uri": path, "uriBaseId": "%SRCROOT%"}


def _notification(finding: Finding) -> dict[str, object]:
    return {"level": "error", "message": {"text": _plain(finding.message)}, "locations": [_location(finding)]}
