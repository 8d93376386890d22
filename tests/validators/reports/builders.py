"""Small report with everything that a renderer must handle."""

from __future__ import annotations

from validators.lint.finding import Checked, Finding, Report, Subject, Summary
from validators.lint.places import Span
from validators.rules.base import Severity

GOOD = Subject("scheduling.k8s.io/v1beta1", "PodGroup", "default", "good")
BAD = Subject("scheduling.k8s.io/v1beta1", "PodGroup", "training", "bad")

ERROR = Finding(
    rule="gang-minimum",
    severity=Severity.ERROR,
    message="Invalid value: 0: must be greater than or equal to 1",
    type="FieldValueInvalid",
    field="spec.schedulingPolicy.gang.minCount",
    file="a/b.yaml",
    span=Span(8, 7, 8, 18),
    document=BAD,
    index=1,
    source="      minCount: 0",
)
NASTY = Finding(
    rule="schema-format",
    severity=Severity.WARNING,
    message='Invalid value: "<b>|`\u202e": a, b: 100%\n::error::no & @all',
    type="FieldValueInvalid",
    field="metadata.labels[x\x1b[31m]]>]",
    file="a/b.yaml",
    span=Span(3, 1, 3, 4),
    document=BAD,
    index=1,
    source="\tk\x1b: v",
)
LOST = Finding(
    rule="unreadable",
    severity=Severity.ERROR,
    message="must be UTF-8",
    type=None,
    field="",
    file="c d,e.yaml",
    span=Span(1, 1, 1, 1),
)
REPORT = Report(
    findings=(NASTY, ERROR, LOST),
    summary=Summary(files=3, documents=3, foreign=1, errors=2, warnings=1, suppressed=1, foreign_kinds={"Queue.scheduling.volcano.sh": 1}),
    files=("a/b.yaml", "c d,e.yaml", "clean.yaml"),
    checked=(Checked("a/b.yaml", 0, GOOD), Checked("a/b.yaml", 1, BAD)),
    has_unreadable=True,
)
CLEAN = Report(findings=(), summary=Summary(files=1, documents=2), files=("clean.yaml",), checked=(Checked("clean.yaml", 0, GOOD),))
