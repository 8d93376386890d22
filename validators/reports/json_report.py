"""Report as JSON, version 1, for scripts and CI.  Keys are added, never changed or removed."""

from __future__ import annotations

from validators.lint.finding import Finding, Report, TextFix
from validators.reports.escape import json_text

VERSION = 1


def render(report: Report) -> str:
    """Return one indented JSON document."""
    return json_text(as_json(report), indent=2)


def as_json(report: Report) -> dict[str, object]:
    """Return the report as JSON values.  ``endColumn`` is the first column after the span; ``document`` is null for a file."""
    summary = report.summary
    return {
        "version": VERSION,
        "findings": [finding_as_json(each) for each in report.findings],
        "summary": {
            "files": summary.files,
            "documents": summary.documents,
            "foreign": summary.foreign,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "suppressed": summary.suppressed,
            "baselined": summary.baselined,
            "skipped": sum(report.skipped.values()),
            "foreignKinds": dict(summary.foreign_kinds),
        },
    }


def finding_as_json(finding: Finding) -> dict[str, object]:
    """Return a finding as JSON values.  Only objects of a cluster have an ``owner``."""
    subject, owner = finding.document, finding.owner
    written = {} if owner is None else {"owner": {"kind": owner.kind, "namespace": owner.namespace, "name": owner.name}}
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "type": finding.type,
        "field": finding.field,
        "file": finding.file,
        "line": finding.span.line,
        "column": finding.span.column,
        "endLine": finding.span.end_line,
        "endColumn": finding.span.end_column,
        "document": None
        if subject is None
        else {"apiVersion": subject.api_version, "kind": subject.kind, "namespace": subject.namespace, "name": subject.name},
        **written,
        "docs": finding.docs,
        "fix": None if finding.fix is None else _fix_as_json(finding.fix),
    }


def _fix_as_json(fix: TextFix) -> dict[str, object]:
    edits = [
        {"line": span.line, "column": span.column, "endLine": span.end_line, "endColumn": span.end_column, "text": edit.text}
        for span, edit in zip(fix.spans, fix.edits, strict=True)
    ]
    return {"title": fix.title, "safe": fix.is_safe, "edits": edits}
