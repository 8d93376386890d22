"""Diagnosis of one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.base_structs import Record, record_field, replaced
from scheduler_core.causes.attempts import NOTHING_NEW, AttemptResult
from scheduler_core.causes.groups import (
    AttemptError,
    GroupCause,
    GroupUnschedulable,
    PartlyPlaced,
    Path,
    PodCause,
    StorageExceeded,
)
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.diagnosis.domain_causes import DomainCauses
from scheduler_core.diagnosis.greedy_limits import limits_of_greedy
from scheduler_core.diagnosis.tree_cause import TreeCause
from scheduler_core.diagnosis.volume_reasons import storage_exceeded
from scheduler_core.diagnosis.with_pods import rewound
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


class Diagnosis(Record, frozen=True):
    """Reasons why a root, or a part of it, is not placed.

    Attributes:
        cause: the derivation: groups, their domains and the causes there; None if there is nothing to explain.
        groups: cause of each group that is not Success.
        pods: cause of each pod without a node, as kube-scheduler reports it: its own if it was rejected, its root's if it
            fits or was not tried (KEP-4671, Failure Handling).
        limits: why greedy may have missed a placement; empty if there is certainly none (KEP-4671, Algorithm
            Limitations; KEP-6012, No-Backtracking and Resource stealing).

    """

    cause: GroupCause | None = None
    groups: Mapping[Name, GroupCause] = record_field(default_factory=dict)
    pods: Mapping[str, PodCause] = record_field(default_factory=dict)
    limits: tuple[GreedyLimit, ...] = ()


def explain(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome, known: DomainCauses | None = None) -> Diagnosis:
    """Return why *request*, for which ``place`` returned *outcome*, is not placed; after a success, why not all of it.

    The ledger must be as it was when *request* was tried; it is not changed.  *known* keeps causes for further requests of a cycle.
    """
    path = (request.entity.name,)
    if outcome.status is Status.ERROR:
        return _error(request, outcome, path)
    if outcome.reason is AttemptResult.STORAGE_EXCEEDED:
        same = _same_for_all(request, StorageExceeded(path, storage_exceeded(greedy.state, request)))
        return replaced(same, limits=limits_of_greedy(greedy, request))
    tree = TreeCause(known or DomainCauses(greedy))
    limits: tuple[GreedyLimit, ...] = ()
    if outcome.success or outcome.reason in NOTHING_NEW:
        with rewound(greedy.state):
            if outcome.placed:
                greedy.assume(request, outcome)
            causes = tree.left_over(request, outcome, path, explained=True)
        cause: GroupCause | None = PartlyPlaced(tuple(causes)) if causes else None
    else:
        cause = tree.failing(request, greedy.state.topology.root, path)
        limits = limits_of_greedy(greedy, request)
    return Diagnosis(cause, tree.groups, dict(_pods(request, outcome, tree)), limits)


def leftovers(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome) -> Mapping[str, PodCause]:
    """Return the cause of each pod that *outcome*, a success of *request*, leaves without a node.

    *outcome* must be assumed already, with ``greedy.assume``; the ledger is not changed.
    """
    if outcome.placed == sum(len(leaf.waiting) for leaf in request.entity.leaves()):
        return {}
    tree = TreeCause(DomainCauses(greedy))
    tree.left_over(request, outcome, (request.entity.name,), explained=False)
    return dict(_pods(request, outcome, tree))


def _pods(request: PlacementRequest, outcome: PlacementOutcome, tree: TreeCause) -> Iterator[tuple[str, PodCause]]:
    """Return every pod without a node in tree order, with its own cause, else its root's or, in a success, its group's."""
    for leaf, below, status in _leaves(request, outcome, None if outcome.success else _status(outcome)):
        nodes = [] if below is None or below.nodes is None or status is not None else below.nodes.tolist()
        other = status or GroupUnschedulable()
        if tree.hides_reasons_from_pods and leaf.entity.name.kind == "PodGroup":
            other = replaced(other, group=leaf.entity.name)
        for index, pod in enumerate(leaf.entity.waiting):
            if index >= len(nodes) or nodes[index] < 0:
                yield pod.key, tree.pods.get(pod.key, other)


def _leaves(
    request: PlacementRequest, outcome: PlacementOutcome | None, status: GroupUnschedulable | None
) -> Iterator[tuple[PlacementRequest, PlacementOutcome | None, GroupUnschedulable | None]]:
    """Return the leaves with their outcomes, and the status for their pods: that of the topmost failed parent."""
    if outcome is not None and not outcome.success and status is None:
        status = _status(outcome)
    if request.leaf:
        yield request, outcome, status
        return
    below = outcome.children if outcome is not None and outcome.children else (None,) * len(request.children)
    for child, each in zip(request.children, below, strict=True):
        yield from _leaves(child, each, status)


def _status(outcome: PlacementOutcome) -> GroupUnschedulable:
    return GroupUnschedulable(None if outcome.reason is AttemptResult.NOTHING_NEW else outcome.reason)


def _error(request: PlacementRequest, outcome: PlacementOutcome, path: Path) -> Diagnosis:
    """Return the diagnosis of an error: where in the tree it occurred."""
    whole = request
    while below := next((pair for pair in zip(request.children, outcome.children, strict=False) if _erred(pair[1])), None):
        request, path = below[0], (*path, below[0].entity.name)
        outcome = below[1] or outcome
    if outcome.reason is None:
        raise RuntimeError("internal error: an error has no reason")
    error = AttemptError(path, outcome.reason)
    return replaced(_same_for_all(whole, error), groups={request.entity.name: error})


def _same_for_all(request: PlacementRequest, cause: StorageExceeded | AttemptError) -> Diagnosis:
    """Return a diagnosis with one cause for a root and all its pods."""
    pods = (pod.key for leaf in request.entity.leaves() for pod in leaf.waiting)
    return Diagnosis(cause, {request.entity.name: cause}, dict.fromkeys(pods, cause))


def _erred(outcome: PlacementOutcome | None) -> bool:
    return outcome is not None and outcome.status is Status.ERROR
