"""Counts with their nouns, and the summary in words, the same in every report format."""

from __future__ import annotations

from validators.lint.finding import Summary


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
    if summary.foreign:
        others.append(f"{counted(summary.foreign, 'document')} of other kinds not judged")
    return f"{text}; {', '.join(others)}" if others else text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 pod``, ``2,000 pods``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
