"""Baseline: findings that a repository already has and that are not reported, so that only new ones are.

An entry is a rule, a field and an object of a file, with a number of findings.  It has neither lines nor values, so it still
applies when lines move; a value that is changed to another invalid one is not a new finding.  Files are relative to the
directory of the baseline, so the working directory does not matter; *place* returns them for the files of a report.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

from kubeapi.base_structs import Record, record_field
from kubeapi.meta import replaced
from validators.lint.finding import UNREADABLE, Finding, Report

VERSION = 1
_KEYS = ("file", "document", "field", "rule")
_Entry = tuple[str, str, str, str]


class BaselineError(ValueError):
    """The text is not a baseline."""


class Baseline(Record, frozen=True):
    """Number of known findings of each entry: file, object, field, rule."""

    entries: collections.Counter[_Entry] = record_field(default_factory=collections.Counter)


def of_report(report: Report, place: Callable[[str], str], others: Baseline) -> str:
    """Return the baseline with all findings of *report* and *others*, as JSON in order; what could not be read is never part of it."""
    numbers = others.entries + collections.Counter(_entry(each, place) for each in report.findings if each.rule != UNREADABLE)
    findings = [dict(zip(_KEYS, entry, strict=True)) | {"count": number} for entry, number in sorted(numbers.items())]
    return json.dumps({"version": VERSION, "findings": findings}, ensure_ascii=False, indent=1) + "\n"


def read(text: str) -> Baseline:
    """Return the baseline in *text*.

    Raises:
        BaselineError: the text is not JSON of this version.

    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"must be JSON as `--write-baseline` writes it: {error}") from None
    if not isinstance(content, dict) or content.get("version") != VERSION or not isinstance(content.get("findings"), list):
        raise BaselineError(f"must be a baseline of version {VERSION}; write it again with --write-baseline")
    entries: collections.Counter[_Entry] = collections.Counter()
    for number, each in enumerate(content["findings"]):
        entries[_read_entry(number, each)] += each["count"]
    return Baseline(entries)


def _read_entry(number: int, content: Any) -> _Entry:
    valid = (
        isinstance(content, dict)
        and content.keys() == {*_KEYS, "count"}
        and all(isinstance(content[key], str) for key in _KEYS)
        and type(content["count"]) is int
        and content["count"] > 0
    )
    if not valid:
        raise BaselineError(f"findings[{number}] must have {', '.join(_KEYS)} and a count above 0")
    return content["file"], content["document"], content["field"], content["rule"]


def without_judged(baseline: Baseline, report: Report, place: Callable[[str], str], off: Collection[str] = ()) -> Baseline:
    """Return the entries that *report* says nothing about: of rules that are *off*, and of files that were not read."""
    judged = {place(each) for each in report.files} - {place(each.file) for each in report.findings if each.rule == UNREADABLE}
    entries = {entry: number for entry, number in baseline.entries.items() if entry[0] not in judged or entry[3] in off}
    return Baseline(collections.Counter(entries))


def apply(report: Report, baseline: Baseline, place: Callable[[str], str], off: Collection[str] = ()) -> tuple[Report, int]:
    """Return the report without the findings of *baseline*, and the number of its findings that no longer exist.

    Findings of rules that are *off*, and of files that were not read, may still exist.
    """
    remaining, left = unknown(report.findings, baseline, place)
    stale = left.total() - without_judged(Baseline(left), report, place, off).entries.total()
    summary = replaced(report.summary, baselined=len(report.findings) - len(remaining))
    return replaced(report, summary=summary).with_findings(remaining), stale


def unknown(
    findings: Iterable[Finding], baseline: Baseline, place: Callable[[str], str]
) -> tuple[list[Finding], collections.Counter[_Entry]]:
    """Return the findings that are not in the baseline, in order, and the entries of the baseline that are left."""
    left = collections.Counter(baseline.entries)
    remaining: list[Finding] = []
    for each in findings:
        entry = _entry(each, place)
        if each.rule != UNREADABLE and left[entry] > 0:
            left[entry] -= 1
        else:
            remaining.append(each)
    return remaining, left


def _entry(finding: Finding, place: Callable[[str], str]) -> _Entry:
    return place(finding.file), str(finding.document or ""), finding.field, finding.rule
