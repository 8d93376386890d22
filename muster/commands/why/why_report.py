"""The answer about one pod or group, as text and JSON."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.commands.why.kueue_workload import KueueWorkload
from muster.commands.why.subject import StatusCondition, Subject
from muster.render import answer_json, answer_text
from muster.render.answer import Answer
from muster.render.phrases import WIDTH, folded
from muster.render.root_text import Paint
from muster.render.tree_rows import Kinship
from scheduler_core.model.decision import latest
from scheduler_core.model.status import Status
from validators.reports.counts import counted
from validators.reports.escape import json_text

VERSION = 1
_INDENT = "  "
_SCHEDULED = frozenset({"PodScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"})
_REFERENCE = re.compile(r'(parent pod group|ancestor composite pod group) "[^"]+" (is unschedulable|encountered an error)')
"""Whole message of a pod or group that only names the group above it with the reason, since kube-scheduler 1.38."""


@dataclasses.dataclass(frozen=True, slots=True)
class StatedReason:
    """Condition with the reason, and the object that has it."""

    subject: Subject
    condition: StatusCondition


def stated_reason(subjects: Sequence[Subject]) -> StatedReason | None:
    """Return the reason of the first of *subjects*, the others of which are the groups above it; None if no condition states one."""
    for subject in subjects:
        for condition in subject.conditions:
            is_pending = condition.type in _SCHEDULED and condition.status == "False"
            if is_pending and not _REFERENCE.fullmatch(condition.message):
                return StatedReason(subject, condition)
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Why:
    """Everything known about a pod or group.

    Attributes:
        subjects: the object, and the groups above it.
        explained: the last decision of the sidecar; None if there is none.
        unexplained: why there is none; empty if it was not requested.
        simulated: the decisions of a simulation about the object's root; None if the cluster could not be read.
        unread: why it could not; empty if it was read.

    """

    subjects: Sequence[Subject]
    explained: Mapping[str, Any] | None
    unexplained: str
    simulated: Answer | None
    unread: str
    kinship: Kinship | None
    queued: KueueWorkload | None = None
    """Kueue's Workload of the object; None if there is none."""
    unqueued: str = ""
    """Why it could not be read; empty if it was, or Kueue is not installed."""

    @property
    def is_pending(self) -> bool:
        """Return whether a pod of the root waits for a node, and would not get one now."""
        if self.simulated is None:
            return any(each.status == "False" for subject in self.subjects for each in subject.conditions)
        last = latest(self.simulated.decisions).values()
        return any(each.status is not Status.SUCCESS for each in last) or bool(self.simulated.pending)

    @property
    def is_incomplete(self) -> bool:
        """Return whether an object was not read that is about the root, or that can change the decisions about it."""
        answer = self.simulated
        return answer is not None and bool(answer.skipped or (answer.unread and answer.decisions))

    @property
    def verdict(self) -> str:
        """Return the answer in one line."""
        first = self.subjects[0]
        if first.node:
            return f"{first.label} is on node {first.node}"
        if self.simulated is None:
            return f"{first.label}: not simulated, because the cluster could not be read: {self.unread}"
        if not self.simulated.decisions and not self.simulated.pending:
            return f"{first.label}: none of its pods is pending"
        unsure = answer_text.share_clause(self.simulated)
        if self.is_pending:
            return f"{first.label} is not placed{unsure}"
        victims = sum(len(each.victims) for each in self.simulated.decisions)
        after = f", after evicting {counted(victims, 'pod')}" if victims else ""
        return f"{first.label} would be placed now{after}{unsure}"


def as_json(why: Why) -> str:
    """Return one JSON document."""
    first = why.subjects[0]
    content: dict[str, object] = {
        "version": VERSION,
        "object": _named(first),
        "verdict": why.verdict,
        "node": first.node or None,
        "kueue": None if why.queued is None else _queued(why.queued),
        "conditions": [{"object": _named(subject), **_condition_json(each)} for subject in why.subjects for each in subject.conditions],
        "reason": _reason(stated_reason(why.subjects)),
        "explain": why.explained,
        "simulation": None if why.simulated is None else answer_json.as_json(why.simulated),
        "problems": [each for each in (why.unqueued, why.unexplained, why.unread) if each],
    }
    return json_text(content, indent=1)


def as_text(why: Why, *, colour: bool, columns: int = WIDTH) -> str:
    """Return the verdict, then conditions, the last decision, and the simulation, in lines of *columns*."""
    unread = (
        answer_text.unread_lines(why.simulated.not_read, Paint(colour), columns=columns)
        if why.simulated is not None and why.is_incomplete
        else []
    )

    def wrapped(texts: Iterable[str], lead: str = "") -> Iterator[str]:
        for each in texts:
            yield from folded(each, lead, columns=columns)

    lines = [*wrapped([why.verdict]), *unread, ""]
    if why.queued is not None:
        lines += ["Kueue:", *wrapped(_queued_lines(why.queued), _INDENT), ""]
    elif why.unqueued:
        lines += [*wrapped([why.unqueued]), ""]
    conditions = [f"{subject.label}: {_condition(each)}" for subject in why.subjects for each in subject.conditions]
    if conditions:
        lines += ["Conditions:", *wrapped(conditions, _INDENT), *wrapped(_reference(why), _INDENT), ""]
    if why.explained is not None:
        lines += ["Last decision of the sidecar:", *wrapped(_explained(why.explained), _INDENT), ""]
    elif why.unexplained:
        lines += [*wrapped([f"No decision of the sidecar: {why.unexplained}"]), ""]
    if why.simulated is not None and why.kinship is not None and (why.simulated.decisions or why.simulated.pending):
        simulation = answer_text.render(why.simulated, why.kinship, colour=colour, after_unread=bool(unread), columns=columns)
        lines += ["Simulation on the cluster as it is now:", "", simulation.rstrip("\n")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _queued(workload: KueueWorkload) -> dict[str, object]:
    return {
        "object": {"kind": "Workload", "namespace": workload.namespace, "name": workload.name},
        "conditions": [*map(_condition_json, workload.conditions)],
        "admissionChecks": [*map(dataclasses.asdict, workload.checks)],
    }


def _queued_lines(workload: KueueWorkload) -> Iterator[str]:
    """Yield the conditions of Kueue's Workload and its admission checks."""
    label = f"Workload {workload.namespace}/{workload.name}"
    if not workload.conditions:
        yield f"{label}: not examined yet"
    yield from (f"{label}: {_condition(each)}" for each in workload.conditions)
    yield from (f"admission check {each.name}: {each.state}{f': {each.message}' if each.message else ''}" for each in workload.checks)


def _condition_json(condition: StatusCondition) -> dict[str, object]:
    return {_wire(key): value for key, value in dataclasses.asdict(condition).items()}


def _reference(why: Why) -> Iterator[str]:
    """Yield where the reason is if the object's own conditions do not state it."""
    stated, first = stated_reason(why.subjects), why.subjects[0]
    if stated is not None and stated.subject is not first and any(each.status == "False" for each in first.conditions):
        yield f"The reason is that of {stated.subject.label}: {stated.condition.message or stated.condition.reason}"


def _reason(stated: StatedReason | None) -> dict[str, object] | None:
    if stated is None:
        return None
    return {"object": _named(stated.subject), "reason": stated.condition.reason, "message": stated.condition.message}


def _condition(condition: Any) -> str:
    since = f" since {condition.since}" if condition.since else ""
    reason = f" {condition.reason}" if condition.reason else ""
    return f"{condition.type}={condition.status}{reason}{since}{f': {condition.message}' if condition.message else ''}"


def _explained(answer: Mapping[str, Any]) -> Iterator[str]:
    status, message = answer.get("status"), answer.get("message")
    yield f"{status}{f': {message}' if message else ''}"
    deviating = answer.get("deviating")
    for each in deviating if isinstance(deviating, list) else ():
        if isinstance(each, dict):
            where = f" on {each['node']}" if each.get("node") else ""
            yield f"not as planned: {each.get('pod')}, planned for {each.get('plannedNode')}: {each.get('deviation')}{where}"
    writes = answer.get("writes")
    if isinstance(writes, dict):
        if writes.get("queue"):
            yield f"queue: {writes['queue']}"
        failures = writes.get("failures")
        for each in failures if isinstance(failures, list) else ():
            if isinstance(each, dict):
                yield f"failed: {each.get('pod')} on {each.get('node')}: {each.get('reason')}"
    built = answer.get("build")
    for each in built if isinstance(built, list) else ():
        if isinstance(each, dict) and each.get("message"):
            yield f"groups of {each.get('object')}: {each['message']}"


def _named(subject: Subject) -> dict[str, str]:
    return {"kind": subject.kind, "namespace": subject.namespace, "name": subject.name}


def _wire(key: str) -> str:
    return "lastTransitionTime" if key == "since" else key
