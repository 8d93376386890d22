"""Counts with their nouns, and the summary in words, the same in every report format."""

from __future__ import annotations

import collections

from validators.lint.finding import Finding, Report, Summary
from validators.reports.escape import printable
from validators.rules.base import Severity

_MOST_KINDS = 5


def in_words(summary: Summary) -> str:
    """Return one sentence: ``2 errors, 1 warning in 3 documents of 2 files; 1 finding suppressed, 4 documents of other kinds not judged
    (3 ConfigMap, 1 Service)``.
    """
    counts = [counted(summary.errors, "error"), counted(summary.warnings, "warning")]
    text = ", ".join(each for each in counts if not each.startswith("0 ")) or "no findings"
    text += f" in {counted(summary.documents, 'document')} of {counted(summary.files, 'file')}"
    others = []
    if summary.suppressed:
        others.append(f"{counted(summary.suppressed, 'finding')} suppressed")
    if summary.baselined:
        others.append(f"{counted(summary.baselined, 'finding')} of the baseline")
    if summary.foreign:
        others.append(f"{counted(summary.foreign, 'document')} of other kinds not judged{_by_kind(summary)}")
    return f"{text}; {', '.join(others)}" if others else text


def _by_kind(summary: Summary) -> str:
    """Return the kinds that are not judged, in parentheses and without API groups: the most frequent ones, and the number of the others."""
    kinds = collections.Counter[str]()
    for kind, count in summary.foreign_kinds.items():
        kinds[kind.partition(".")[0]] += count
    rows = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    most = _MOST_KINDS if len(rows) > _MOST_KINDS + 1 else len(rows)
    shown, others = rows[:most], rows[most:]
    texts = [f"{count:,} {printable(kind)}" for kind, count in shown]
    if others:
        texts.append(f"{sum(count for _, count in others):,} of {counted(len(others), 'other kind')}")
    return f" ({', '.join(texts)})" if texts else ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 pod``, ``2,000 pods``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown_findings(report: Report) -> list[Finding]:
    """Return the findings that a report for people shows one by one; ``counted_line`` has the others."""
    return [each for each in report.findings if not _is_counted(each)]


def counted_line(report: Report) -> str:
    """Return one line about all documents below directories that are no Kubernetes objects; empty without any."""
    others = [each for each in report.findings if _is_counted(each)]
    if not others:
        return ""
    documents, files = counted(len(others), "document"), counted(len({each.file for each in others}), "file")
    verb = "is not a Kubernetes object" if len(others) == 1 else "are not Kubernetes objects"
    return f"{documents} of {files} {verb}; --statistics lists them, --exclude leaves files out"


def _is_counted(finding: Finding) -> bool:
    # One that is configured to be an error is shown.
    return finding.is_counted and finding.severity is Severity.WARNING


def statistics(report: Report) -> str:
    """Return the number of findings of each severity and rule, one per line, most first, with the places of those only counted; the summary."""
    numbers = collections.Counter((each.severity.value, each.rule) for each in report.findings)
    rows = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    width = max((len(f"{number:,}") for _, number in rows), default=0)
    places: dict[str, list[str]] = {}
    for each in filter(_is_counted, report.findings):
        places.setdefault(each.rule, []).append(f"{' ' * width}   {printable(each.file)}:{each.span.line}\n")
    lines = (
        "".join((f"{number:>{width},} {severity:<7} {rule}\n", *(places.get(rule, ()) if severity == Severity.WARNING else ())))
        for (severity, rule), number in rows
    )
    return f"{''.join(lines)}{in_words(report.summary)}\n"
