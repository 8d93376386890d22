"""The diagnosis of one root."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from scheduler_core.diagnosis import greedy_limits, phrases
from scheduler_core.diagnosis.tree_cause import Path, TreeCause, subject
from scheduler_core.diagnosis.with_pods import rewound
from scheduler_core.model.decision import Name, Status
from scheduler_core.model.wording import cut
from scheduler_core.placement.greedy import BARE, Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a root, or what of it, is not placed.

    Attributes:
        message: in one paragraph of at most 1,000 characters: the group that fails first, domain by domain, then what is above it.
        groups: of each group that is not Success, its own cause.
        pods: of each pod that gets no node, the reason in kube-scheduler's words: its own where it found no node, its root's
            where it fitted or was never tried (KEP-4671, Failure Handling).
        uncertain: the sentence that a placement may exist all the same, and by which feature it may have been missed; empty where
            there is none for certain (KEP-4671, Algorithm Limitations; KEP-6012, No-Backtracking and Resource stealing).

    """

    message: str
    groups: Mapping[Name, str]
    pods: Mapping[str, str]
    uncertain: str = ""


def explain(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome) -> Diagnosis:
    """Why *request*, for which ``place`` gave *outcome*, is not placed, or why not all of it if that is a success.

    The ledger must be as it was when *request* was tried; it is left so.
    """
    path = (request.entity.name.name,)
    if outcome.status is Status.ERROR:
        return _error(request, outcome, path)
    tree = TreeCause(greedy)
    doubt = ""
    if outcome.success or outcome.message == BARE:
        with rewound(greedy.state):
            if outcome.placed:
                greedy.assume(request, outcome)
            told = tree.left_over(request, outcome, path)
        if more := len(told[phrases.SHOWN :]):
            told[phrases.SHOWN :] = [f"{phrases.counted(more, 'more group')} {'is' if more == 1 else 'are'} short of nodes"]
    else:
        told = tree.failing(request, greedy.state.topology.root, path)
        doubt = greedy_limits.sentence(greedy, request)
    message = cut(". ".join(told), phrases.LONGEST)
    groups = {name: cut(text, phrases.LONGEST) for name, text in tree.groups.items() if text}
    return Diagnosis(message, groups, dict(_pods(request, outcome, tree)), cut(doubt, phrases.LONGEST))


def leftovers(greedy: Greedy, request: PlacementRequest, outcome: PlacementOutcome) -> Mapping[str, str]:
    """Why the pods that *outcome*, a success of *request*, leaves without a node have none, by pod.

    To be asked after the outcome is assumed, with ``greedy.assume``; the ledger is left so.
    """
    if outcome.placed == sum(len(leaf.waiting) for leaf in request.entity.leaves()):
        return {}
    tree = TreeCause(greedy)
    tree.left_over(request, outcome, (request.entity.name.name,))
    return dict(_pods(request, outcome, tree))


def _pods(request: PlacementRequest, outcome: PlacementOutcome, tree: TreeCause) -> Iterator[tuple[str, str]]:
    """Every pod without a node, in the order of the tree: its own reason, else its root's or, in a success, its group's."""
    for leaf, below, cause in _leaves(request, outcome, "" if outcome.success else _status(outcome)):
        nodes = [] if below is None or below.nodes is None or cause else below.nodes.tolist()
        for index, pod in enumerate(leaf.entity.waiting):
            if index >= len(nodes) or nodes[index] < 0:
                yield pod.key, tree.pods.get(pod.key) or cause or BARE


def _leaves(
    request: PlacementRequest, outcome: PlacementOutcome | None, cause: str
) -> Iterator[tuple[PlacementRequest, PlacementOutcome | None, str]]:
    """The leaves with what came of them, and the status that holds for their pods: of what failed highest above them."""
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
    """Where in the tree an error was met."""
    pods = [pod for leaf in request.entity.leaves() for pod in leaf.waiting]
    while below := next((pair for pair in zip(request.children, outcome.children, strict=False) if _erred(pair[1])), None):
        request, path = below[0], (*path, below[0].entity.name.name)
        outcome = below[1] or outcome
    message = cut(f"{subject(request, path)}: {outcome.message}", phrases.LONGEST)
    return Diagnosis(message, {request.entity.name: message}, dict.fromkeys((pod.key for pod in pods), message))


def _erred(outcome: PlacementOutcome | None) -> bool:
    return outcome is not None and outcome.status is Status.ERROR
