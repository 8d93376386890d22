"""Results of the checks as text and JSON."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import click

from kubeapi.problem import Problem
from muster.doctor.finding import Check, Diagnosis, Result, Unseen
from muster.doctor.probes import Outcome, ProbeResult
from muster.doctor.world import DryRun
from muster.render.phrases import WIDTH, folded
from muster.render.problem_words import object_words, problem_words
from validators.reports.counts import counted
from validators.reports.escape import json_text, printable
from validators.rules.base import Severity

VERSION = 1
_OPERATORS = ("|", "&&")
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


@dataclasses.dataclass(frozen=True, slots=True)
class DiagnosisReport:
    """Defects, each with its check; what could not be checked; what could not be read; and dry runs, None if none were requested.

    *built* has the number of objects that ask for groups of mode build, by namespace, kind and result; None if no sidecar has the mode.
    """

    defects: tuple[tuple[Check, Diagnosis], ...]
    unchecked: tuple[tuple[Check, Unseen], ...]
    problems: tuple[Problem, ...]
    dry_runs: tuple[tuple[DryRun, ProbeResult], ...] | None = None
    built: Mapping[tuple[str, str, str], int] | None = None

    def count(self, severity: Severity) -> int:
        """Return the number of defects of a severity."""
        return sum(defect.severity is severity for _, defect in self.defects)

    def reaching(self, connection: Sequence[str], replicas: Sequence[str]) -> DiagnosisReport:
        """Return the report with commands that have the options of the *connection* to the cluster; a rotation observes *replicas*."""

        def reached(words: list[str]) -> list[str]:
            match words:
                case ["kubectl" | "cmctl" as program, *rest]:
                    return [program, *connection, *rest]
                case ["helm", "upgrade", *_]:
                    return [*words, *(each.replace("--context=", "--kube-context=") for each in connection)]
                case ["muster", "migrate", *_]:
                    return [*words, *connection]
                case ["muster", "certs", "rotate", *_]:
                    return [*words, *connection, *(f"--replica={each}" for each in replicas)]
            return words

        defects = ((check, dataclasses.replace(each, command=_each_program(each.command, reached))) for check, each in self.defects)
        return dataclasses.replace(self, defects=tuple(defects))


def _each_program(command: str, change: Callable[[list[str]], list[str]]) -> str:
    """Return a command line after a change of the words of each program, between ``|`` and ``&&``."""
    parts, words = list[str](), list[str]()
    for word in shlex.split(command):
        if word in _OPERATORS:
            parts += [shlex.join(change(words)), word]
            words = []
        else:
            words.append(word)
    return " ".join([*parts, shlex.join(change(words))])


def report_of(
    results: Iterable[tuple[Check, Result]],
    problems: Sequence[Problem],
    ignored: Sequence[str],
    dry_runs: tuple[tuple[DryRun, ProbeResult], ...] | None = None,
    built: Mapping[tuple[str, str, str], int] | None = None,
) -> DiagnosisReport:
    """Return the report without the checks in *ignored*; errors first, then by check and object."""
    chosen = [(check, each) for check, each in results if check.id not in ignored]
    defects: list[tuple[Check, Diagnosis]] = []
    for check, each in chosen:
        # Several configurations can have the same defect: that of their server.
        if isinstance(each, Diagnosis) and (check, each) not in defects:
            defects.append((check, each))
    defects.sort(key=lambda pair: (pair[1].severity is not Severity.ERROR, pair[0].id, pair[1].item.label, pair[1].field, pair[1].message))
    unchecked = dict.fromkeys((check, each) for check, each in chosen if isinstance(each, Unseen))
    return DiagnosisReport(tuple(defects), tuple(unchecked), tuple(problems), dry_runs, built)


def as_json(report: DiagnosisReport) -> str:
    """Return one JSON document."""
    content = {
        "version": VERSION,
        "findings": [_finding(check, each) for check, each in report.defects],
        "unchecked": [{"id": check.id, "reason": each.reason} for check, each in report.unchecked],
        **({} if report.dry_runs is None else {"probe": [_dry_run(*each) for each in report.dry_runs]}),
        **({} if report.built is None else {"built": [_built(*each) for each in report.built.items()]}),
        "problems": [{"object": object_words(each), "message": problem_words(each)} for each in report.problems],
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "unchecked": len(report.unchecked),
            "problems": len(report.problems),
        },
    }
    return json_text(content, indent=1)


def as_text(report: DiagnosisReport, *, colour: bool, columns: int = WIDTH) -> str:
    """Return a paragraph for each defect, and a summary, in lines of *columns*; commands are not broken."""
    parts = [_paragraph(check, each, columns, colour=colour) for check, each in report.defects]
    if report.unchecked:
        lines = (line for check, each in report.unchecked for line in folded(f"{check.id}: {each.reason}", "  ", columns=columns))
        parts.append("not checked:\n" + "".join(f"{line}\n" for line in lines))
    if report.dry_runs:
        lines = (line for each in report.dry_runs for line in folded(_dry_run_words(*each), "  ", columns=columns))
        parts.append("dry runs, of which nothing is stored:\n" + "".join(f"{line}\n" for line in lines))
    if report.built:
        parts.append("groups of mode build:\n" + "".join(f"  {line}\n" for line in _built_lines(report.built)))
    counts = ((report.count(Severity.ERROR), "error"), (report.count(Severity.WARNING), "warning"))
    summary = ", ".join(counted(*each) for each in counts if each[0]) or "no findings"
    return "\n".join([*parts, f"{summary}\n"])


def _finding(check: Check, defect: Diagnosis) -> dict[str, object]:
    file, _, line = defect.item.place.rpartition(":")
    return {
        "id": check.id,
        "severity": defect.severity.value,
        "object": defect.item.label,
        "field": defect.field,
        "message": defect.message,
        "why": check.why,
        "command": defect.command,
        "file": file or None,
        "line": int(line) if line else None,
    }


def _built(name: tuple[str, str, str], count: int) -> dict[str, object]:
    namespace, kind, result = name
    return {"namespace": namespace, "kind": kind, "result": result, "count": count}


def _built_lines(built: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    """Yield a line for each namespace and kind: ``research: JobSet: 3 built, 1 suspended``."""
    for (namespace, kind), names in itertools.groupby(built, key=lambda each: each[:2]):
        yield f"{printable(namespace)}: {kind}: {', '.join(f'{built[name]} {name[2]}' for name in names)}"


def _dry_run(answer: DryRun, found: ProbeResult) -> dict[str, object]:
    return {
        "object": answer.subject,
        "expected": "refused" if answer.rule else "admitted",
        "outcome": found.outcome.value,
        "webhook": found.webhook.webhook if found.webhook else None,
        "message": answer.message or "; ".join(answer.warnings),
    }


def _dry_run_words(answer: DryRun, found: ProbeResult) -> str:
    by = f" by {found.webhook.webhook}" if found.webhook and found.webhook.is_denial else ""
    match found.outcome:
        case Outcome.REFUSED | Outcome.WARNED if answer.rule:
            how = "refused" if found.outcome is Outcome.REFUSED else "admitted with a warning"
            return f"{answer.subject}: {how}{by}, as expected ({answer.rule})"
        case Outcome.ADMITTED if not answer.rule:
            return f"{answer.subject}: admitted, as expected"
        case Outcome.ADMITTED | Outcome.WARNED:
            return f"{answer.subject}: admitted"
    return f"{answer.subject}: refused{by}: {answer.message}"


def _paragraph(check: Check, defect: Diagnosis, columns: int, *, colour: bool) -> str:
    place = f"{printable(defect.item.place)}: " if defect.item.place else ""
    field = f" {defect.field}" if defect.field else ""
    severity = defect.severity.value
    head = folded(f"{place}{severity} {check.id}: {defect.item.label}{field}: {defect.message}", "", columns=columns)
    if colour and len(place) + len(severity) < columns:
        head[0] = f"{place}{click.style(severity, fg=_COLOURS[defect.severity], bold=True)}{head[0][len(place) + len(severity) :]}"
    lines = [*head, *folded(f"why: {check.why}", "  ", columns=columns), f"  command: {printable(defect.command)}"]
    return "".join(f"{each}\n" for each in lines)
