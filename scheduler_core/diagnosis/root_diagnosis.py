"""Diagnosis of one root."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from scheduler_core.diagnosis import greedy_limits, phrases
from scheduler_core.diagnosis.tree_cause import Path, TreeCause, subject
from scheduler_core.diagnosis.volume_reasons import storage_exceeded
from scheduler_core.diagnosis.with_pods import rewound
from scheduler_core.model.decision import Name, Status
from scheduler_core.model.wording import STORAGE_EXCEEDED, cut
from scheduler_core.placement.greedy import BARE, Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """Reasons why a root, or a part of it, is not placed.

    Attributes:
        message: one paragraph of at most 1,000 characters: the group that fails first, by domain, then its parents.
        groups: cause of each group that is not Success.
        pods: reason for each pod without a node, in kube-scheduler's wording: its own if it was rejected, its root's if it
            fits or was not tried (KEP-4671, Failure Handling).
        uncertain: why greedy may have missed a placement; empty if there is certainly none (KEP-4671, Algorithm
            Limitations; KEP-6012, No-Backtracking and Resource stealing).

    """

    message: str
    groups: Mapping[Name, str]
    pods: Mapping[str, str]
    uncertain: str = ""


def explain(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome) -> Diagnosis:
    """Return why *request*, for which ``place`` returned *outcome*, is not placed; after a success, why not all of it.

    The ledger must be as it was when *request* was tried; it is not changed.
    """
    path = (request.entity.name.name,)
    if outcome.status is Status.ERROR:
        return _error(request, outcome, path)
    if outcome.message == STORAGE_EXCEEDED:
        figures = storage_exceeded(greedy.state, request)
        same = _same_for_all(request, f"{subject(request, path)} does not fit: {outcome.message}{figures and ': '}{figures}")
        return dataclasses.replace(same, uncertain=cut(greedy_limits.sentence(greedy, request), phrases.LONGEST))
    tree = TreeCause(greedy)
    uncertain = ""
    if outcome.success or outcome.message == BARE:
        with rewound(greedy.state):
            if outcome.placed:
                greedy.assume(request, outcome)
            sentences = tree.left_over(request, outcome, path, worded=True)
        if more := len(sentences[phrases.SHOWN :]):
            sentences[phrases.SHOWN :] = [f"{phrases.counted(more, 'more group')} {'has' if more == 1 else 'have'} pods without a node"]
    else:
        sentences = tree.failing(request, greedy.state.topology.root, path)
        uncertain = greedy_limits.sentence(greedy, request)
    message = cut(". ".join(sentences), phrases.LONGEST)
    groups = {name: cut(text, phrases.LONGEST) for name, text in tree.groups.items() if text}
    return Diagnosis(message, groups, dict(_pods(request, outcome, tree)), cut(uncertain, phrases.LONGEST))


def leftovers(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome) -> Mapping[str, str]:
    """Return the reason for each pod that *outcome*, a success of *request*, leaves without a node.

    *outcome* must be assumed already, with ``greedy.assume``; the ledger is not changed.
    """
    if outcome.placed == sum(len(leaf.waiting) for leaf in request.entity.leaves()):
        return {}
    tree = TreeCause(greedy)
    tree.left_over(request, outcome, (request.entity.name.name,), worded=False)
    return dict(_pods(request, outcome, tree))


def _pods(request: PlacementRequest, outcome: PlacementOutcome, tree: TreeCause) -> Iterator[tuple[str, str]]:
    """Return every pod without a node in tree order, with its own reason, else its root's or, in a success, its group's."""
    for leaf, below, cause in _leaves(request, outcome, "" if outcome.success else _status(outcome)):
        nodes = [] if below is None or below.nodes is None or cause else below.nodes.tolist()
        for index, pod in enumerate(leaf.entity.waiting):
            if index >= len(nodes) or nodes[index] < 0:
                yield pod.key, tree.pods.get(pod.key) or cause or BARE


def _leaves(
    request: PlacementRequest, outcome: PlacementOutcome | None, cause: str
) -> Iterator[tuple[PlacementRequest, PlacementOutcome | None, str]]:
    """Return the leaves with their outcomes, and the status for their pods: that of the topmost failed parent."""
    if outcome is not None and not outcome.success and not cause:
        cause = _status(outcome)
    if request.leaf:
        yield request, outcome, cause
        return
    below = outcome.children if outcome is not None and outcome.children else (None,) * len(request.children)
    for child, each in zip(request.children, below, strict=True):
        yield from _leaves(child, each, cause)


def _status(outcome: PlacementOutcome) -> str:
    return BARE if outcome.message in {"", BARE} else f"{BARE}, {cut(outcome.message, phrases.LONGEST)}"


def _error(request: PlacementRequest, outcome: PlacementOutcome, path: Path) -> Diagnosis:
    """Return the diagnosis of an error: where in the tree it occurred."""
    whole = request
    while below := next((pair for pair in zip(request.children, outcome.children, strict=False) if _erred(pair[1])), None):
        request, path = below[0], (*path, below[0].entity.name.name)
        outcome = below[1] or outcome
    message = cut(f"{subject(request, path)}: {outcome.message}", phrases.LONGEST)
    return dataclasses.replace(_same_for_all(whole, message), groups={request.entity.name: message})


def _same_for_all(request: PlacementRequest, message: str) -> Diagnosis:
    """Return a diagnosis with one message for a root and all its pods."""
    pods = (pod.key for leaf in request.entity.leaves() for pod in leaf.waiting)
    return Diagnosis(message, {request.entity.name: message}, dict.fromkeys(pods, message))


def _erred(outcome: PlacementOutcome | None) -> bool:
    return outcome is not None and outcome.status is Status.ERROR
