"""Status of every group of a tree, derived from the root's outcome.

If a parent is not placed, its descendants get its status, whatever their own outcome; so do groups that were not
tried.  Of kube-scheduler's versions, some give them the reason of that parent too, and others a reason that only names it.
"""

from __future__ import annotations

from kubeapi.base_structs import Record
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.attempts import AncestorFailed, AttemptReason
from scheduler_core.causes.searches import NoPlacementExists, SearchStopped, SearchVerdict
from scheduler_core.model.decision import Search
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.status import Status
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.plugins import dynamic_resources
from scheduler_core.plugins.profile import Profile


class GroupVerdict(Record, frozen=True):
    """Status of one group, and why, and its domain if it is placed."""

    request: PlacementRequest
    status: Status
    reason: AttemptReason | None
    domain: Domain | None

    @property
    def name(self) -> Name:
        """Return the name of the group."""
        return self.request.entity.name


def verdicts(request: PlacementRequest, outcome: PlacementOutcome, behavior: SchedulerBehavior = KUBERNETES_1_37) -> list[GroupVerdict]:
    """Return a verdict for each group of the tree, parents first, as kube-scheduler with *behavior* does."""
    result: list[GroupVerdict] = []
    _collect(request, outcome, None, result, behavior)
    return result


def lacks_state(request: PlacementRequest, outcome: PlacementOutcome, profile: Profile) -> bool:
    """Return whether kube-scheduler 1.37.1 ends the attempt to place a root with an error, although the root is only unschedulable.

    Its plugin DynamicResources looks for a state that its PreFilter stores.  There is none if plugins before it refuse every pod that is
    tried.  The plugin does not look for trees and for groups with a topology constraint.
    """
    entity, plugin = request.entity, dynamic_resources.NAME
    if outcome.status is not Status.UNSCHEDULABLE or entity.name.kind != "PodGroup" or entity.key or not entity.profile.filters(plugin):
        return False
    # The first pod without which the minimum cannot be met is the last that is tried.
    spare = len(entity.running) + len(entity.waiting) - entity.minimum
    return not any(profile.reaches(plugin, pod.shape) for pod in entity.waiting[: max(spare + 1, 0)])


def _collect(
    request: PlacementRequest,
    outcome: PlacementOutcome | None,
    above: GroupVerdict | None,
    result: list[GroupVerdict],
    behavior: SchedulerBehavior,
) -> None:
    own = _verdict(request, outcome, above, behavior)
    result.append(own)
    below = outcome.children if outcome is not None and outcome.children else (None,) * len(request.children)
    for child, each in zip(request.children, below, strict=True):
        _collect(child, each, own, result, behavior)


def _verdict(
    request: PlacementRequest, outcome: PlacementOutcome | None, above: GroupVerdict | None, behavior: SchedulerBehavior
) -> GroupVerdict:
    overruled = above is not None and above.status is not Status.SUCCESS
    if above is not None and (outcome is None or (overruled and _is_overruled(outcome, above, behavior))):
        return GroupVerdict(request, above.status, _inherited(above, behavior), None)
    if outcome is None:
        raise ValueError("a root must have an outcome")
    key = request.entity.key
    domain = Domain(key, outcome.placement.value) if outcome.success and key else None
    return GroupVerdict(request, outcome.status, outcome.reason, domain)


def _is_overruled(outcome: PlacementOutcome, above: GroupVerdict, behavior: SchedulerBehavior) -> bool:
    """Return whether a group with *outcome* gets the status of *above*, a group above it that is not placed."""
    if outcome.success:
        return True
    return above.status is Status.ERROR and not (behavior.names_ancestors and outcome.status is Status.ERROR)


def _inherited(above: GroupVerdict, behavior: SchedulerBehavior) -> AttemptReason | None:
    """Return the reason of a group that has the status of *above*."""
    if not behavior.names_ancestors or isinstance(above.reason, AncestorFailed):
        return above.reason
    return AncestorFailed(above.name, above.status is Status.ERROR)


def search_verdict(search: Search) -> SearchVerdict | None:
    """Return how the search for a root that is not placed ended; None if there was none."""
    match search.outcome:
        case "infeasible":
            return NoPlacementExists(search.explored)
        case "budget":
            return SearchStopped(search.explored)
    return None
