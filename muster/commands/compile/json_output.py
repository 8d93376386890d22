"""Compiled objects as one List in JSON, with the report in an additional key."""

from __future__ import annotations

from typing import Any

from kubeapi.field_path import FieldPath
from muster.commands.compile.compilation import CompileResult, Run
from validators.field import FieldError
from validators.reports.escape import json_text
from workloadbuilder.adapters.explained import ExplainedTemplate


def render(run: Run, *, explain: bool) -> str:
    """Return the List."""
    content = {"apiVersion": "v1", "kind": "List", "items": [*run.objects], "report": _report(run, explain=explain)}
    return json_text(content, indent=1)


def _report(run: Run, *, explain: bool) -> dict[str, Any]:
    results = run.results
    return {
        "version": 1,
        "objects": [_object(each, explain=explain) for each in results],
        "problems": [*run.problems],
        "summary": {
            "objects": len(results),
            "compiled": sum(bool(each.compiled.explained) and not each.compiled.errors for each in results),
            "refused": sum(bool(each.compiled.errors) for each in results),
            "made": sum(len(each.compiled.objects) for each in results),
        },
    }


def _object(result: CompileResult, *, explain: bool) -> dict[str, Any]:
    compiled, content = result.compiled, result.document.content
    metadata = content.get("metadata")
    entry: dict[str, Any] = {
        "apiVersion": content.get("apiVersion"),
        "kind": content.get("kind"),
        "namespace": compiled.namespace,
        "name": metadata.get("name") if isinstance(metadata, dict) else None,
        "file": result.document.file,
        "line": result.document.span(FieldPath()).line,
        "skipped": compiled.skipped,
        "errors": [_error(result, each) for each in compiled.errors],
        "warnings": [_error(result, each) for each in compiled.warnings],
        "losses": [_at(result, each.path) | {"message": each.detail} for each in compiled.losses],
    }
    if explain:
        entry["explained"] = [_template(each) for each in compiled.explained]
    return entry


def _error(result: CompileResult, error: FieldError) -> dict[str, Any]:
    return _at(result, error.path) | {"type": error.type, "message": str(error)}


def _at(result: CompileResult, path: FieldPath) -> dict[str, Any]:
    span = result.document.span(path)
    return {"field": str(path), "line": span.line, "column": span.column}


def _template(template: ExplainedTemplate) -> dict[str, Any]:
    return {
        "template": template.name,
        "kind": "CompositePodGroup" if template.composite else "PodGroup",
        "level": template.level,
        "replicas": template.replicas,
        "blocks": [
            {"block": each.field, "value": each.value, "source": each.source, "field": "" if each.path is None else str(each.path)}
            for each in template.blocks
        ],
    }
