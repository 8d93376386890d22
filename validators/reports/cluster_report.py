"""Report on the objects of a cluster: findings by namespace and by the topmost owner of the object."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from validators.lint.finding import Finding, Owner, Report
from validators.reports import counts
from validators.reports.escape import printable


def render(report: Report) -> str:
    """Return the findings; objects of one owner with the same finding are counted."""
    placed = sorted(((each.owner or Owner(), each) for each in report.findings), key=lambda pair: (pair[0], pair[1].order))
    lines: list[str] = []
    for namespace, in_namespace in itertools.groupby(placed, key=lambda pair: pair[0].namespace):
        lines.append(f"namespace {printable(namespace)}" if namespace else "without a namespace")
        for owner, findings in itertools.groupby(in_namespace, key=lambda pair: pair[0]):
            lines.append(f"  {printable(owner.kind)} {printable(owner.name)}")
            lines += _findings([each for _, each in findings])
        lines.append("")
    summary = report.summary
    numbers = [counts.counted(summary.errors, "error"), counts.counted(summary.warnings, "warning")]
    found = ", ".join(each for each in numbers if not each.startswith("0 ")) or "no findings"
    suppressed = f"; {counts.counted(summary.suppressed, 'finding')} suppressed" if summary.suppressed else ""
    lines.append(f"{found} in {counts.counted(summary.documents - summary.foreign, 'object')} of the cluster{suppressed}")
    return "\n".join(lines) + "\n"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    equal: dict[tuple[str, str, str, str], list[Finding]] = {}
    for each in findings:
        kind = each.document.kind if each.document else ""
        equal.setdefault((each.rule, kind, each.field, each.message), []).append(each)
    for (rule, kind, path, message), listed in equal.items():
        first = listed[0]
        name = first.document.name if first.document else ""
        more = f" (and {counts.counted(len(listed) - 1, 'other ' + kind)})" if len(listed) > 1 else ""
        at = f"{printable(path)}: " if path else ""
        yield f"    {first.severity} {rule}: {printable(kind)} {printable(name)}{more}: {at}{printable(message)}"
