"""Report of a compilation for people: a line for each error, warning, loss and skipped object, and the sources of scheduling blocks."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from muster.commands.compile.compilation import CompileResult, Run
from validators.reports.counts import counted
from validators.reports.escape import printable
from workloadbuilder.adapters.explained import ExplainedTemplate

_UID = FieldPath("metadata", "uid")
"""Objects in files rarely have a uid, so the warning is printed once for all."""


def report(run: Run) -> Iterator[str]:
    """Yield the lines for standard error."""
    for problem in run.problems:
        yield printable(f"muster compile: {problem}")
    for result in run.results:
        compiled = result.compiled
        if compiled.skipped and not compiled.errors:
            yield _line(result, "note", FieldPath(), f"nothing is created: {compiled.skipped}")
        for error in compiled.errors:
            yield _line(result, "error", error.path, str(error))
        for warning in compiled.warnings:
            if warning.path == _UID:
                continue
            yield _line(result, "warning", warning.path, str(warning))
        for loss in compiled.losses:
            yield _line(result, "lost", loss.path, loss.detail)
    without_uid = sum(
        any(warning.path == _UID for warning in result.compiled.warnings) and not result.compiled.errors for result in run.results
    )
    if without_uid:
        has = "has" if without_uid == 1 else "have"
        yield f"muster compile: {counted(without_uid, 'object')} {has} no uid yet: the created objects have no ownerReferences and are not deleted with their owner"


def named(result: CompileResult) -> str:
    """Return the object's kind and name: ``JobSet research/train``."""
    metadata = result.document.content.get("metadata")
    name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
    namespace = result.compiled.namespace
    return f"{result.document.content.get('kind')} {f'{namespace}/' if namespace else ''}{name or '(without a name)'}"


def _line(result: CompileResult, severity: str, path: FieldPath, message: str) -> str:
    span = result.document.span(path)
    where = f"{result.document.file}:{span.line}:{span.column}"
    field = f"{path}: " if path.parts else ""
    return printable(f"{where}: {severity} {named(result)}: {field}{message}")


def explained(result: CompileResult) -> Iterator[str]:
    """Yield the templates of an object, each with its blocks: value and source."""
    yield printable(f"{named(result)}:")
    for template in result.compiled.explained:
        yield printable(f"{'  ' * template.level}{template.name} ({_what(template)})")
        wide = max((len(block.field) for block in template.blocks), default=0)
        for block in template.blocks:
            place = f", {block.path}" if block.path is not None else ""
            yield printable(f"{'  ' * template.level}  {block.field.ljust(wide)}  {block.value}  [{block.source}{place}]")


def _what(template: ExplainedTemplate) -> str:
    kind = "CompositePodGroup" if template.composite else "PodGroup"
    return kind if template.replicas == 1 else f"{kind} x {template.replicas}"
