"""One simulation: hypothetical changes of the objects, their snapshot, and the cycle on it."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Iterable, Sequence

from muster.commands.progress import Progress
from muster.commands.simulate import own_objects, what_if
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import SimulationRequest
from muster.render.answer import Answer
from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.diagnosis.fragmentation import fragments
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.loading.load import load
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.remedies.for_decisions import with_remedies
from validators.model.decode import Source


class NoProfileError(ValueError):
    """The scheduler configuration has no profile for the requested scheduler; the message is for users."""


def run(
    objects: Iterable[Source], request: SimulationRequest, problems: Sequence[Problem], progress: Progress, own: Own | None = None
) -> tuple[Answer, ClusterSnapshot]:
    """Return the answer, and the cluster that it is about.

    Args:
        objects: the cluster with the groups and pods to place.
        request: the options.
        problems: problems of reading the input.
        progress: receives the number of decided roots.
        own: the objects that the answer is about, if not all of *objects*.

    Raises:
        WhatIfError: a node to drain or to copy does not exist.
        OrderError: the order names something that is not a root.
        NoProfileError: the scheduler configuration has no profile for the requested scheduler.

    """
    began = time.monotonic()
    all_problems = list(problems)
    if request.drain or request.additions:
        objects, unsorted = what_if.suppose(objects, request.drain, request.additions)
        all_problems += unsorted
    objects = [*objects]
    snapshot = load(objects, request.configuration.profiles if request.configuration is not None else None)
    if request.configuration is not None:
        all_problems += request.configuration.problems()
    name = request.cycle.scheduler_name
    if name is not None and not snapshot.profiles.schedules(name):
        names = ", ".join(sorted(snapshot.profiles.by_name or ()))
        raise NoProfileError(f"option schedulerName: the scheduler configuration has no profile {name!r}; its profiles are {names}")
    # The snapshot lives to the end, so the garbage collector need not visit it.
    gc.freeze()
    result = run_cycle(snapshot, dataclasses.replace(request.cycle, progress=progress.roots))
    decisions = with_remedies(result.decisions, objects, snapshot, request.cycle, request.remedies)
    in_order = sorted({*all_problems, *result.problems}, key=lambda each: (each.object, each.message))
    seconds = time.monotonic() - began if request.timings else None
    answer = Answer.from_decisions(decisions, result.pending, in_order, seconds)
    if own is not None:
        answer = dataclasses.replace(answer, own=own_objects.share(answer, snapshot, own))
    if request.fragmentation:
        cycle = request.cycle
        answer = dataclasses.replace(answer, fragments=fragments(apply_feature_gates(snapshot, cycle.gates, cycle.ignore), cycle.ignore))
    return answer, snapshot
