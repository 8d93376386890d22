"""Explanation of one root: the last decision on it, and what became of its writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any

from kubeapi.problem import Problem
from scheduler_core.causes.live import DeviatingPod
from scheduler_core.model.decision import Decision
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.states import QUEUES, UNDER_WAY, Binding, PreBinding, Preempting
from scheduler_core.sidecar.writes import ClaimWrite, VolumeWrite
from scheduler_core.wording.problem_words import object_words, problem_words

MAX_FAILURES = 10
"""Maximum number of failed binds that are listed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Last decision on a root, its writes as a JSON object, groups that differ from their templates, and pods that are not as planned."""

    decision: Decision
    writes: Mapping[str, Any]
    notes: tuple[Problem, ...] = ()
    deviating: tuple[DeviatingPod, ...] = ()


def notes_json(notes: Iterable[Problem]) -> dict[str, Any]:
    """Return *notes* as the key ``notes`` of a JSON object, which is absent without any."""
    listed = [{"object": object_words(each), "message": problem_words(each)} for each in notes]
    return {"notes": listed} if listed else {}


def deviating_json(pods: Iterable[DeviatingPod]) -> dict[str, Any]:
    """Return *pods* as the key ``deviating`` of a JSON object, which is absent without any."""
    keys = {"planned_node": "plannedNode", "error": "message"}
    listed = [{keys.get(key, key): value for key, value in each._asdict().items() if value} for each in pods]
    return {"deviating": listed} if listed else {}


def writes_json(entity: QueuedEntity | None) -> dict[str, Any]:
    """Return the queue of a root, and its writes under way and their results, as a JSON object."""
    if entity is None:
        # Nothing is left to do, or it is not known yet.
        nothing = _pre_binds(None, ClaimWrite)
        return {"queue": "", "volumes": nothing, "devices": nothing, "binds": _binds(None), "evictions": {"underWay": 0}, "failures": []}
    state = type(entity.state)
    victims = len(entity.state.plan.victims) if isinstance(entity.state, Preempting) else 0
    pre_binding = entity.state if isinstance(entity.state, PreBinding) else None
    binding = entity.binding
    failures = sorted(binding.failures) if binding is not None else []
    return {
        "queue": UNDER_WAY.get(state) or QUEUES[state],
        "volumes": _pre_binds(pre_binding, VolumeWrite),
        "devices": _pre_binds(pre_binding, ClaimWrite),
        "binds": _binds(binding),
        "evictions": {"underWay": victims},
        "failures": [
            {"pod": pod.key, "node": binding.binds[pod].node, "reason": binding.failures[pod]}
            for pod in failures[:MAX_FAILURES]
            if binding is not None
        ],
    }


def _pre_binds(state: PreBinding | None, kind: UnionType) -> dict[str, int]:
    """Return the number of claims and volumes with a write of *kind* before the binds, and of those that are written."""
    targets = {target for target, write in state.writes.items() if isinstance(write, kind)} if state is not None else set()
    ended = len(targets & state.outcomes.keys()) if state is not None else 0
    failed = len(targets & state.failures.keys()) if state is not None else 0
    return {"total": len(targets), "written": ended - failed, "underWay": len(targets) - ended, "failed": failed}


def _binds(binding: Binding | None) -> dict[str, int]:
    if binding is None:
        return {"total": 0, "done": 0, "underWay": 0, "failed": 0}
    ended = len(binding.outcomes)
    return {"total": len(binding.binds), "done": binding.done, "underWay": len(binding.binds) - ended, "failed": ended - binding.done}
