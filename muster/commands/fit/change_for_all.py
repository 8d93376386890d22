"""The smallest change with which everything at PATH fits, if that needs more than a remedy of one root."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from muster.commands.fit import verdict
from muster.commands.fit.verdict import Kind
from muster.commands.simulate import own_objects, simulation
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import SimulationRequest
from muster.render.answer import Answer
from muster.render.tree_rows import Kinship
from scheduler_core.cycle.run_cycle import run_cycles
from scheduler_core.loading.gathered import Given
from scheduler_core.model.decision import Decision, Name, latest
from scheduler_core.model.options import COMPLETE
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.remedies.smallest_change import SmallestChange, UnplacedRoots, smallest_change


def change_for_all(
    answer: Answer, own: Own, snapshot: ClusterSnapshot, objects: Iterable[Given], request: SimulationRequest, kinship: Kinship
) -> SmallestChange | None:
    """Return a change with which everything at PATH fits without evictions; None if none is found, or if none is searched.

    It is searched if PATH has several roots, or one that is placed in part: a root alone has its own remedies.
    """
    searches = request.remedies != 0 and (request.remedies is not None or request.cycle.strategy == COMPLETE)
    last = latest(answer.decisions)
    failed = [each for each in last.values() if each.pending]
    if not searches or not failed or (len(last) == 1 and not _is_partly_placed(answer, failed[0])):
        return None

    def works(changed: ClusterSnapshot) -> bool:
        cycle = dataclasses.replace(request.cycle, progress=None)
        result = run_cycles(changed, cycle, simulation.unsettled(own))
        found = own_objects.restricted(Answer.from_decisions(result.decisions, result.pending), changed, own)
        return verdict.judge(found, own, kinship).kind is Kind.FITS

    subjects = sorted({verdict.subject(own.origins, each.root) for each in failed})
    left = {pod for each in failed for pod in each.pending}
    title, relaxed = _title(subjects[0]) if len(subjects) == 1 else None, frozenset[str]()
    if title is not None:
        created = {f"{name.namespace}/{name.name}" for name, origin in own.origins.items() if origin == subjects[0] and name.kind == "Pod"}
        relaxed = frozenset(created or left)
    return smallest_change(Book(objects), snapshot, UnplacedRoots(title or failed[0].root, failed[0].root, relaxed, left), works)


def _is_partly_placed(answer: Answer, decision: Decision) -> bool:
    return any(each.assignments for each in answer.decisions if each.root == decision.root)


def _title(subject: str) -> Name:
    """Return the name of an object from its text, such as ``Job ml/train``."""
    kind, _, name = subject.partition(" ")
    namespace, _, name = name.partition("/")
    return Name(kind, namespace, name)
