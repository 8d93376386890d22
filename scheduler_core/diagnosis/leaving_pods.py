"""Diagnosis of a root without the pods that are being deleted: they hold capacity now, and what counts is what is left then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeapi.base_structs import Record, replaced
from scheduler_core.causes.groups import DeletionsAwaited, LeavingPod, LeavingPodsLeftOut
from scheduler_core.diagnosis.bisection import necessary
from scheduler_core.diagnosis.root_diagnosis import Diagnosis, explain
from scheduler_core.diagnosis.with_pods import remove_pods, rewound
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import assigned
from scheduler_core.placement.placement_request import PlacementRequest

MOST_ONE_BY_ONE = 8
"""Maximum number of pods each of which is left out for a try."""


class LaterDiagnosis(Record, frozen=True):
    """Diagnosis of a root when other pods are gone, and the note about these pods; None if they make no difference."""

    why: Diagnosis
    note: LeavingPodsLeftOut | None = None


def explain_later(greedy: Greedy, request: PlacementRequest, why: Diagnosis, leaving: Sequence[PodRecord]) -> LaterDiagnosis:
    """Return the diagnosis of *request* after the pods *leaving* are gone, where *why* is the present one, which the pods keep.

    The ledger must be as it was when *request* was tried; it is not changed.
    """
    own = {pod.key for leaf in request.entity.leaves() for pod in leaf.running}
    others = [pod for pod in leaving if pod.key not in own]
    if not others:
        return LaterDiagnosis(why)
    with rewound(greedy.state):
        remove_pods(greedy.state, others)
        later = greedy.request(request.entity)
        outcome = greedy.place(later)
        if not outcome.success:
            left = explain(greedy, later, outcome)
            if left.cause == why.cause:
                return LaterDiagnosis(why)
            return LaterDiagnosis(replaced(left, pods=why.pods), LeavingPodsLeftOut(_named(others, greedy)))
        used = {node for _, node in assigned(later, outcome)}
    # Pods on the nodes that the root gets are enough in most cases.
    there = [pod for pod in others if pod.node in used]
    awaited = there if there and _places_without(greedy, request, there) else others
    if len(awaited) <= MOST_ONE_BY_ONE:
        awaited = necessary(sorted(awaited, key=lambda pod: pod.key), lambda fewer: _places_without(greedy, request, fewer))
    cause = DeletionsAwaited((request.entity.name,), _named(awaited, greedy))
    return LaterDiagnosis(replaced(why, cause=cause, groups={**why.groups, request.entity.name: cause}))


def _places_without(greedy: Greedy, request: PlacementRequest, leaving: Iterable[PodRecord]) -> bool:
    with rewound(greedy.state):
        remove_pods(greedy.state, leaving)
        return greedy.place(greedy.request(request.entity)).success


def _named(pods: Iterable[PodRecord], greedy: Greedy) -> tuple[LeavingPod, ...]:
    names = greedy.state.nodes.names
    return tuple(LeavingPod(Name("Pod", pod.namespace, pod.name), names[pod.node]) for pod in sorted(pods, key=lambda pod: pod.key))
