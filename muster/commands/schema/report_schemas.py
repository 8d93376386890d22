"""JSON Schemas of the reports of ``muster lint``, ``simulate`` and ``fit``.  Keys are only added, so further keys are allowed."""

from __future__ import annotations

from collections.abc import Mapping

from expansion.rollouts.play import Outcome
from muster.commands.schema.cause_schemas import definitions
from scheduler_core.model.status import Status

Schema = dict[str, object]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_VERSION: Schema = {"const": 1}


def report_schema(report: str) -> Schema:
    """Return the schema of the report of the command *report*: fit, simulate or lint."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Report of muster {report}, version 1"}
    if report == "lint":
        return {**about, **_lint()}
    return {**about, **_answer(fit=report == "fit"), "$defs": definitions()}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "required": [*required], "properties": {**required, **(optional or {})}}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _words(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


_CAUSES: dict[str, Schema] = {"causes": _list({"$ref": "#/$defs/cause"})}
_NAME = {"kind": _TEXT, "namespace": _TEXT, "name": _TEXT}
_STATUS: Schema = {"enum": [each.value for each in Status]}
_APPLIED = _object({"apiVersion": _TEXT, "kind": _TEXT, "metadata": _object({"name": _TEXT}, {"namespace": _TEXT})})
_STEP: Schema = {"oneOf": [_object({"apply": _APPLIED}), _object({"delete": _object({"apiVersion": _TEXT, **_NAME})})]}
_REMEDY = _object({"change": _TEXT, "steps": _list(_STEP), "then": _STATUS})


def _answer(*, fit: bool) -> Schema:
    """Return the schema of a simulation, or with *fit* of a verdict."""
    about = _list(_object({"object": _TEXT, "message": _TEXT}, {"reason": _TEXT, **_CAUSES}))
    own = _object({"roots": _COUNT, "placed": _COUNT, "pending": _COUNT})
    required = {
        "version": _VERSION,
        "decisions": _list(_decision()),
        "pending": _list(_object({"pod": _TEXT, "reason": _TEXT}, _CAUSES)),
        "problems": about,
        "summary": _object({"roots": _COUNT, "placed": _COUNT, "pods": _COUNT}, {"seconds": _NUMBER, "own": own}),
    }
    fragment = _object({**dict.fromkeys(("key", "shape", "pod", "domain"), _TEXT), "largest": _COUNT, "total": _COUNT})
    optional: dict[str, Schema] = {"id": {}, "notes": about, "fragmentation": _list(fragment)}
    if fit:
        verdicts: Schema = {"enum": ["fits", "fits-after-eviction", "does-not-fit", "undecided", "nothing-to-judge"]}
        left_out = {"object": _TEXT, "reason": _TEXT}
        skipped, refused = _list(_object(left_out)), _list(_object(left_out, _CAUSES))
        required |= {"verdict": verdicts, "message": _TEXT, "skipped": skipped, "refused": refused}
        optional |= {"change": _REMEDY, "rollout": _rollout(), "rollouts": _list(_rollout())}
    return _object(required, optional)


def _rollout() -> Schema:
    pods = _object({"old": _COUNT, "new": _COUNT, "waiting": _COUNT}, {"refused": _COUNT})
    steps = _list(_object({"deleted": _COUNT, "created": _COUNT, "pods": pods}))
    outcomes: Schema = {"enum": [each.value for each in Outcome]}
    return _object({"object": _TEXT, "outcome": outcomes, "step": _COUNT, "pods": pods, "steps": steps}, {"change": _TEXT})


def _decision() -> Schema:
    outcomes: Schema = {"enum": ["placed", "infeasible", "budget", "not-searched"]}
    search = _object({"strategy": _TEXT, "outcome": outcomes, "explored": _COUNT}, {"objective": _TEXT})
    level = _object({"key": _TEXT, "domains": _COUNT, "apart": _COUNT})
    required: dict[str, Schema] = {
        "root": _object(_NAME),
        "status": _STATUS,
        "message": _TEXT,
        "assignments": _words(_TEXT),
        "nominations": _words(_TEXT),
        "victims": _list(_TEXT),
        "groups": _list(_group()),
        "search": search,
        "remedies": _list(_REMEDY),
    }
    optional: dict[str, Schema] = {
        **_CAUSES,
        "volumes": _words({"oneOf": [_object({"volume": _TEXT}), _object({"selectedNode": _TEXT})]}),
        "devices": _words(_list(_TEXT)),
        "ranks": _list(_object({**_NAME, "pods": _COUNT, "levels": _list(level)})),
        "conflict": _list(_TEXT),
        "remediesNote": _TEXT,
        "preemption": _object({"units": _COUNT, "lowerBound": _COUNT, "gap": _COUNT, "violating": _COUNT, "proved": _FLAG}),
    }
    return _object(required, optional)


def _group() -> Schema:
    domain: Schema = {"oneOf": [{"type": "null"}, _object({"key": _TEXT, "value": _TEXT})]}
    condition = _object({"type": _TEXT, "status": {"enum": ["True", "False", "Unknown"]}, "reason": _TEXT, "message": _TEXT})
    return _object({**_NAME, "status": _STATUS, "message": _TEXT, "domain": domain, "conditions": _list(condition)}, _CAUSES)


def _lint() -> Schema:
    document: Schema = {"oneOf": [{"type": "null"}, _object({"apiVersion": _TEXT, **_NAME})]}
    places = dict.fromkeys(("line", "column", "endLine", "endColumn"), _COUNT)
    finding = _object(
        {
            "rule": _TEXT,
            "severity": {"enum": ["error", "warning"]},
            "message": _TEXT,
            "type": _TEXT_OR_NULL,
            "field": _TEXT,
            "file": _TEXT,
            **places,
            "document": document,
            "docs": _TEXT,
        },
        {"owner": _object(_NAME), "fix": {"type": ["object", "null"]}},
    )
    counts = dict.fromkeys(("files", "documents", "foreign", "errors", "warnings", "suppressed"), _COUNT)
    further: dict[str, Schema] = {
        "baselined": _COUNT,
        "skipped": _COUNT,
        "foreignKinds": {"type": "object", "additionalProperties": _COUNT},
    }
    return _object({"version": _VERSION, "findings": _list(finding), "summary": _object(counts, further)})
