"""The answer of a simulation as JSON, version 1: the interface for scripts and CI.  Keys are only added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubeapi.problem import Problem
from muster.render.answer import Answer
from muster.render.cause_json import causes_json
from muster.render.cause_keys import cause_types, member_word
from muster.render.problem_words import object_words, problem_words, reason_words
from scheduler_core.causes.cause import Cause
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision, GroupCondition, GroupDecision, RankedGroup, Remedy, Step, VolumeChoice
from scheduler_core.wording import decision_words
from scheduler_core.wording.changes import limit_text, remedy_text
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.constraints import constraint_text
from scheduler_core.wording.phrases import shape_words
from validators.reports.escape import json_text

VERSION = 1
_MILLISECONDS = 3
"""Digits of ``seconds`` after the point."""


def render(answer: Answer) -> str:
    """Return one JSON document, indented."""
    return json_text(as_json(answer), indent=2)


def line(content: Mapping[str, object]) -> str:
    """Return one JSON document on one line."""
    return json_text(content)


def as_json(answer: Answer) -> dict[str, object]:
    """Return the answer as a JSON object.  Pods are in the order of their names, decisions in the order made."""
    summary: dict[str, object] = {"roots": answer.roots, "placed": answer.placed, "pods": answer.pods}
    if answer.seconds is not None:
        summary["seconds"] = round(answer.seconds, _MILLISECONDS)
    if answer.own is not None:
        summary["own"] = {"roots": answer.own.roots, "placed": answer.own.placed, "pending": answer.own.pending}
    result: dict[str, object] = {
        "version": VERSION,
        "decisions": [decision_json(each) for each in answer.decisions],
        "pending": _pending(answer),
        "problems": problems_json(answer.problems),
        "summary": summary,
    }
    if answer.notes:
        result["notes"] = problems_json(answer.notes)
    if answer.fragments is not None:
        result["fragmentation"] = [_fragment(each) for each in answer.fragments]
    return result


def problems_json(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """Return problems or notes, in the form of ``problems``; programs decide by ``reason``, which is the kind."""
    return [
        {"object": object_words(each), "message": problem_words(each), "reason": member_word(each.kind), **_causes_of(each)}
        for each in problems
    ]


def refused_json(refused: Iterable[Problem]) -> list[dict[str, object]]:
    """Return refused objects, with the text of the API server, and the causes."""
    return [{"object": object_words(each), "reason": reason_words(each), **_causes_of(each)} for each in refused]


def _causes_of(problem: Problem) -> dict[str, object]:
    return {"causes": causes_json([problem.fact])} if type(problem.fact) in cause_types() else {}


def _fragment(fragment: Fragment) -> dict[str, object]:
    return {
        "key": fragment.key,
        "shape": shape_words(fragment.requests),
        "pod": fragment.pod,
        "largest": fragment.largest,
        "domain": fragment.domain,
        "total": fragment.total,
    }


def decision_json(decision: Decision) -> dict[str, object]:
    """Return one decision, in the form of ``decisions``."""
    root, search = decision.root, decision.search
    result: dict[str, object] = {
        "root": {"kind": root.kind, "namespace": root.namespace, "name": root.name},
        "status": decision.status.value,
        "message": decision_words.message(decision),
        **_causes(decision.causes),
        "assignments": dict(sorted(decision.assignments.items())),
        "nominations": dict(sorted(decision.nominations.items())),
        "victims": sorted(decision.victims),
        "groups": [_group(decision, each) for each in decision.groups],
        "search": {
            "strategy": search.strategy,
            "outcome": search.outcome,
            "explored": search.explored,
            **({"objective": search.objective} if search.objective else {}),
        },
        "remedies": [remedy_as_json(each) for each in decision.remedies],
    }
    if decision.volumes:
        result["volumes"] = {claim: _volume(each) for claim, each in sorted(decision.volumes.items())}
    if decision.devices:
        result["devices"] = {claim.label: [str(each) for each in given.devices] for claim, given in decision.devices.items()}
    if decision.ranks:
        result["ranks"] = [_ranks(each) for each in decision.ranks]
    if decision.conflict:
        result["conflict"] = [constraint_text(each) for each in decision.conflict]
    if note := limit_text(decision.remedies_note):
        result["remediesNote"] = note
    if (plan := decision.preemption) is not None:
        result["preemption"] = {
            "units": plan.units,
            "lowerBound": plan.lower,
            "gap": plan.gap,
            "violating": plan.violating,
            "proved": plan.proved,
        }
    return result


def _pending(answer: Answer) -> list[dict[str, object]]:
    """Return the pods without a node; those with the same causes share their objects."""
    reasons, known = answer.reasons, dict[tuple[int, ...], dict[str, object]]()
    found = []
    for pod, causes in answer.pending:
        key = tuple(map(id, causes))
        if key not in known:
            known[key] = _causes(causes)
        found.append({"pod": pod, "reason": reasons[pod], **known[key]})
    return found


def _causes(causes: Sequence[Cause]) -> dict[str, object]:
    return {"causes": causes_json(causes)} if causes else {}


def _volume(choice: VolumeChoice) -> dict[str, object]:
    return {"volume": choice.volume} if choice.volume else {"selectedNode": choice.node}


def _ranks(ranked: RankedGroup) -> dict[str, object]:
    group = ranked.group
    levels = [{"key": each.key, "domains": each.domains, "apart": each.apart} for each in ranked.levels]
    return {"kind": group.kind, "namespace": group.namespace, "name": group.name, "pods": ranked.pods, "levels": levels}


def remedy_as_json(remedy: Remedy) -> dict[str, object]:
    """Return a change with its steps, and the status with it."""
    return {"change": remedy_text(remedy), "steps": [_step(each) for each in remedy.steps], "then": remedy.then.value}


def _step(step: Step) -> dict[str, object]:
    return {"apply": step.apply} if step.apply is not None else {"delete": step.delete}


def _group(decision: Decision, own: GroupDecision) -> dict[str, object]:
    group, domain = own.group, own.domain
    return {
        "kind": group.kind,
        "namespace": group.namespace,
        "name": group.name,
        "status": own.status.value,
        "message": decision_words.group_message(own),
        **_causes(own.causes),
        "domain": None if domain is None else {"key": domain.key, "value": domain.value},
        "conditions": [_condition(each) for each in conditions(decision, own)],
    }


def _condition(condition: GroupCondition) -> dict[str, str]:
    return {"type": condition.type, "status": condition.status, "reason": condition.reason, "message": condition.message}
