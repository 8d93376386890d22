"""Report as JUnit XML: a test suite for each file, a test case for each object in it, and a failure for each error.

Warnings do not fail a case; they are in its output.  A finding without an object (an unreadable file, an unused comment)
is a separate case, named by its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar
from xml.etree import ElementTree as ET

from validators.lint.finding import UNREADABLE, Checked, Finding, Report, file_order
from validators.reports.escape import printable
from validators.rules.base import Severity


def render(report: Report) -> str:
    """Return one XML document."""
    root = ET.Element("testsuites", name="muster lint")
    findings, checked = _by_file(report.findings), _by_file(report.checked)
    for file in sorted({*report.files, *findings}, key=file_order):
        _suite(root, file, findings.get(file, []), checked.get(file, []))
    _count(root, list(root.iter("testcase")))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


_OfFile = TypeVar("_OfFile", Finding, Checked)


def _by_file(items: Iterable[_OfFile]) -> dict[str, list[_OfFile]]:
    by_file: dict[str, list[_OfFile]] = {}
    for each in items:
        by_file.setdefault(each.file, []).append(each)
    return by_file


def _suite(root: ET.Element, file: str, findings: Iterable[Finding], checked: Iterable[Checked]) -> None:
    suite = ET.SubElement(root, "testsuite", name=printable(file))
    by_object: dict[int | None, list[Finding]] = {}
    for each in findings:
        by_object.setdefault(each.index, []).append(each)
    for one in checked:
        _case(suite, file, f"{one.subject} ({one.index + 1})", by_object.get(one.index, []))
    for each in by_object.get(None, []):
        _case(suite, file, f"line {each.span.line}: {each.rule}", [each])
    _count(suite, list(suite.iter("testcase")))


def _case(suite: ET.Element, file: str, name: str, findings: Iterable[Finding]) -> None:
    case = ET.SubElement(suite, "testcase", classname=printable(file), name=printable(name))
    warnings: list[str] = []
    for each in findings:
        if each.severity is Severity.ERROR:
            tag = "error" if each.rule == UNREADABLE else "failure"
            ET.SubElement(case, tag, type=each.rule, message=printable(each.message)).text = printable(_text(each))
        else:
            warnings.append(_text(each))
    if warnings:
        ET.SubElement(case, "system-out").text = "\n".join(map(printable, warnings))


def _text(finding: Finding) -> str:
    field = f"{finding.field}: " if finding.field else ""
    place = f"{finding.file}:{finding.span.line}:{finding.span.column}"
    return f"{place}: {finding.severity} {finding.rule}: {field}{finding.message}"


def _count(element: ET.Element, cases: Sequence[ET.Element]) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    element.set("errors", str(sum(case.find("error") is not None for case in cases)))
