"""The smallest change with which everything at PATH fits, and its clause in the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kubeapi.base_structs import replaced
from kubeapi.gathered import Given
from muster.commands.fit import verdict
from muster.commands.simulate import own_objects, simulation
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import SimulationRequest
from muster.render.answer import Answer
from muster.render.object_results import Kind, subject
from muster.render.tree_rows import Kinship
from scheduler_core.causes.changes import Change, EnabledPlugin, LoweredMinimums, Successive
from scheduler_core.cycle.run_cycle import run_cycles
from scheduler_core.model.decision import Remedy, latest
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.remedies.for_decisions import remedy_limit
from scheduler_core.wording.changes import remedy_text
from scheduler_core.wording.titles import Shown, titled

if TYPE_CHECKING:
    from scheduler_core.whatif.remedies.smallest_change import SmallestChange


def change_for_all(
    answer: Answer, own: Own, snapshot: ClusterSnapshot, objects: Iterable[Given], request: SimulationRequest, kinship: Kinship
) -> SmallestChange | None:
    """Return a change with which everything at PATH fits without evictions; None if no change helps, or if none is searched.

    If one root does not fit, its remedies are tried first: a lower minimum, for example, need not place all pods.
    """
    failed = [each for each in latest(answer.decisions).values() if each.pending]
    if not failed or not remedy_limit(request.cycle, request.remedies):
        return None
    from scheduler_core.whatif.edits.raw_objects import Book
    from scheduler_core.whatif.remedies.smallest_change import UnplacedRoots, smallest_change

    cycle = dataclasses.replace(request.cycle, progress=None)

    def missing(changed: ClusterSnapshot) -> int:
        result = run_cycles(changed, cycle, simulation.unsettled(own), most=simulation.most_cycles(changed))
        mine = own_objects.restricted(Answer.from_decisions(result.decisions, result.pending), changed, own)
        if verdict.judge(mine, own, kinship).kind is Kind.FITS:
            return 0
        return max(1, sum(len(each.pending) for each in latest(mine.decisions).values()))

    required = {pod for each in answer.decisions for pod in (*each.assignments, *each.pending)}
    subjects = {subject(own.origins, each.root) for each in failed}
    left = {pod for each in failed for pod in each.pending}
    title, relaxed = next(iter(subjects)) if len(subjects) == 1 else None, frozenset[str]()
    if title is not None:
        created = {f"{name.namespace}/{name.name}" for name, origin in own.origins.items() if origin == title and name.kind == "Pod"}
        relaxed = frozenset(created or left)
    roots = UnplacedRoots(title or failed[0].root, failed[0].root, relaxed, left, required)
    # A change of a template changes all groups of it.
    alike = len(failed) == 1 or (title is not None and failed[0].root.kind != "Pod")
    remedies = [each for each in failed[0].remedies if _can_be_for_all(each, failed[0].root, own)] if alike else []
    return smallest_change(Book(objects), snapshot, roots, missing, cycle, remedies)


def with_change(answer: Answer, own: Answer, change: Remedy) -> Answer:
    """Return *answer* with *change*, with which everything at PATH fits, among the remedies of the only root at PATH that does not fit.

    *own* is the part of *answer* about PATH.  If several roots do not fit, the change is not about one of them.
    """
    failed = [root for root, decision in latest(own.decisions).items() if decision.pending]
    last = latest(answer.decisions)[failed[0]]
    if len(failed) > 1 or any(each.change == change.change for each in last.remedies):
        return answer
    helped = dataclasses.replace(last, remedies=(*last.remedies, change))
    return replaced(answer, decisions=tuple(helped if each is last else each for each in answer.decisions))


def _can_be_for_all(remedy: Remedy, root: Name, own: Own) -> bool:
    """Return whether *remedy* can help all pods at PATH: none of a plugin, which has a clause, nor of one pod *root* of a controller alone."""
    if isinstance(remedy.change, EnabledPlugin):
        return False
    applied = (step.apply for step in remedy.steps if step.apply is not None and step.apply.get("kind") == "Pod")
    return root.kind != "Pod" or root not in own.origins or all(each["metadata"]["name"] != root.name for each in applied)


def clause(change: SmallestChange, origins: Mapping[Name, Name], minimums: Mapping[Name, str | None]) -> str:
    """Return the clause of the verdict about a change, with the objects of users instead of the groups created for them.

    *minimums* are the fields of these objects that set minimums, by group.
    """
    return f"; {'the smallest' if change.proven else 'a'} change that helps: {of_person(change.remedy, origins, minimums, titled)}"


def of_person(remedy: Remedy, origins: Mapping[Name, Name], minimums: Mapping[Name, str | None], shown: Shown) -> str:
    """Return a remedy in words, about the objects and fields that a person wrote."""

    def shown_object(name: Name) -> str:
        return shown(name if name.kind == "Pod" else subject(origins, name))

    return remedy_text(dataclasses.replace(remedy, change=_of_user(remedy.change, minimums)), shown_object)


def _of_user(change: Change, minimums: Mapping[Name, str | None]) -> Change:
    """Return *change* with the fields of users' objects that set minimums."""
    match change:
        case LoweredMinimums(groups):
            return LoweredMinimums(tuple(replaced(each, path=minimums.get(each.group) or "") for each in groups))
        case Successive():
            return Successive(_of_user(change.first, minimums), _of_user(change.second, minimums))
    return change
