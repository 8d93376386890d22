"""One simulation: the objects as they are supposed to be, the snapshot of them, and the cycle on it."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Iterable, Sequence

from muster.commands.progress import Progress
from muster.commands.simulate import own_objects, what_if
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import Asked
from muster.render.answer import Answer
from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.diagnosis.fragmentation import fragments
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.loading.load import load
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.remedies.for_decisions import with_remedies
from validators.model.decode import Source


def run(
    objects: Iterable[Source], asked: Asked, problems: Sequence[Problem], progress: Progress, own: Own | None = None
) -> tuple[Answer, ClusterSnapshot]:
    """The answer, and the cluster that it is about.

    Args:
        objects: the cluster, and what is asked for.
        asked: the options.
        problems: those that came up on the way here.
        progress: told how far it is.
        own: what is asked for, where that is not all of *objects*.

    Raises:
        WhatIfError: a node that is to be drained or copied is not there.
        OrderError: the order names what is no root.

    """
    began = time.monotonic()
    found = list(problems)
    if asked.drain or asked.additions:
        objects, unsorted = what_if.suppose(objects, asked.drain, asked.additions)
        found += unsorted
    objects = [*objects]
    snapshot = load(objects)
    # The snapshot stays to the end: no collection of garbage need look at it again.
    gc.freeze()
    result = run_cycle(snapshot, dataclasses.replace(asked.cycle, progress=progress.roots))
    decisions = with_remedies(result.decisions, objects, snapshot, asked.cycle, asked.remedies)
    in_order = sorted({*found, *result.problems}, key=lambda each: (each.object, each.message))
    seconds = time.monotonic() - began if asked.timings else None
    answer = Answer.from_decisions(decisions, result.pending, in_order, seconds)
    if own is not None:
        answer = dataclasses.replace(answer, own=own_objects.share(answer, snapshot, own))
    if asked.fragmentation:
        answer = dataclasses.replace(answer, fragments=fragments(apply_feature_gates(snapshot, asked.cycle.gates), asked.cycle.ignore))
    return answer, snapshot
