"""Counts with their nouns, and the summary in words, the same in every report format."""

from __future__ import annotations

import collections

from validators.lint.finding import Report, Summary


def in_words(summary: Summary) -> str:
    """Return one sentence: ``2 errors, 1 warning in 3 documents of 2 files; 1 finding suppressed, 4 documents of other kinds not
    judged``.
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
        others.append(f"{counted(summary.foreign, 'document')} of other kinds not judged")
    return f"{text}; {', '.join(others)}" if others else text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 pod``, ``2,000 pods``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def statistics(report: Report) -> str:
    """Return the number of findings of each severity and rule, one per line, most first, and the summary."""
    numbers = collections.Counter((each.severity.value, each.rule) for each in report.findings)
    rows = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    width = max((len(f"{number:,}") for _, number in rows), default=0)
    return "".join(f"{number:>{width},} {severity:<7} {rule}\n" for (severity, rule), number in rows) + f"{in_words(report.summary)}\n"
