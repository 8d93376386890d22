"""The summary in words, the same in every report that has one."""

from __future__ import annotations

from validators.lint.finding import Summary


def in_words(summary: Summary) -> str:
    """One sentence: ``2 errors, 1 warning in 3 documents of 2 files; 1 finding suppressed, 4 documents foreign``."""
    found = [counted(summary.errors, "error"), counted(summary.warnings, "warning")]
    told = ", ".join(each for each in found if not each.startswith("0 ")) or "no findings"
    told += f" in {counted(summary.documents, 'document')} of {counted(summary.files, 'file')}"
    aside = []
    if summary.suppressed:
        aside.append(f"{counted(summary.suppressed, 'finding')} suppressed")
    if summary.foreign:
        aside.append(f"{counted(summary.foreign, 'document')} of other kinds not judged")
    return f"{told}; {', '.join(aside)}" if aside else told


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
