"""Placement of the pods of one group on one placement: greedy, all pods are tried in order (KEP-4671, Scheduling Algorithm)."""

from __future__ import annotations

import numpy as np

from scheduler_core.causes.attempts import AttemptResult, Feasibility
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.equal_pods import fill, slots_of
from scheduler_core.placement.equal_pods_normalized import fill_soft
from scheduler_core.placement.feasibility import judge, judge_by_document
from scheduler_core.placement.interleaved_shapes import InterleavedShapes, worth_while
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest, Run
from scheduler_core.placement.pod_by_pod import PodByPod
from scheduler_core.placement.soft_spread.fill_spread import fill_spread, with_pods
from scheduler_core.placement.soft_spread.node_codes import NodesInUse
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.topology_counts import NodeTally


def try_leaf(request: PlacementRequest, placement: Placement, state: PlacementState) -> PlacementOutcome:
    """Return the result of the leaf *request* on *placement*; ledger and stateful plugins are unchanged afterwards."""
    entity = request.entity
    scheduled, remaining = len(entity.running), len(entity.waiting)
    judged = _judge(state, entity.minimum, scheduled, remaining, 0)
    if judged.hopeless:
        return PlacementOutcome(judged.status, placement, 0, judged)
    one_by_one = request.special or not request.memorable
    nodes, judged = (_pod_by_pod if one_by_one else _run_by_run)(request, placement, state, judged)
    if not judged.success or (state.options.every_pod and (nodes < 0).any()):
        reason = AttemptResult.POD_WITHOUT_NODE if judged.success else judged
        return PlacementOutcome(Status.UNSCHEDULABLE, placement, 0, reason, nodes=nodes)
    return succeeded(request, placement, nodes, state)


def succeeded(request: PlacementRequest, placement: Placement, nodes: Nodes, state: PlacementState) -> PlacementOutcome:
    """Return the result of a leaf whose minimum is met; *nodes* are those of its pods, -1 for none."""
    loads, start = [], 0
    placed = 0
    for run in request.runs:
        found = nodes[start : start + run.count]
        found = found[found >= 0]
        start += run.count
        if len(found):
            loads.append(PodLoad(run.shape, found))
            placed += len(found)
    holds = bool(request.entity.desired) and _holds(request, loads, placement, state)
    cause = state.ledger.fresh()
    return PlacementOutcome(Status.SUCCESS, placement, cause, nodes=nodes, loads=tuple(loads), placed=placed, holds=holds)


def _run_by_run(request: PlacementRequest, placement: Placement, state: PlacementState, judged: Feasibility) -> tuple[Nodes, Feasibility]:
    """Place run by run, each run in one step."""
    entity, nodes = request.entity, placement.nodes
    steps = _interleaved(request, placement, state) or _RunByRun(placement, state)
    found = np.full(len(entity.waiting), -1, dtype=np.int64)
    scheduled, start = len(entity.running), 0
    for run in request.runs:
        picks = steps.place_run(run)
        found[start : start + len(picks)] = nodes[picks]
        start += run.count
        scheduled += len(picks)
        failed = len(entity.running) + start - scheduled
        judged = _feasibility_after(state, entity.minimum, scheduled, len(entity.waiting) - start, failed, run.count - len(picks))
        if judged.hopeless or start == len(entity.waiting):
            break
    return found, judged


class _RunByRun:
    """Placement under construction, run by run; the ledger is not modified."""

    def __init__(self, placement: Placement, state: PlacementState) -> None:
        ledger, nodes = state.ledger, placement.nodes
        self._state = state
        self._nodes = nodes
        self._used, self._scored = ledger.used.take(nodes, axis=1), ledger.scored.take(nodes, axis=1)
        self._capacity, self._allocatable = state.capacity.take(nodes, axis=1), state.nodes.allocatable.take(nodes, axis=1)
        if ledger.holding:
            self._allocatable -= ledger.held.take(nodes, axis=1)
        self._last: tuple[Run, Nodes] | None = None
        self._spread: dict[NodeTally, Ints] = {}

    def place_run(self, run: Run) -> Nodes:
        """Place the pods of *run* and return the positions of their nodes, in order; fewer if no more fit."""
        if self._last is not None:
            self._charge(*self._last)
        profile = self._state.profile.compile(run.shape)
        mask = None if profile.mask is None else profile.mask[self._nodes]
        slots = slots_of(self._allocatable[profile.rows] - self._used[profile.rows], profile.amounts, mask)
        capacity, scored, used, whole = self._capacity, self._scored, self._used[self._state.nodes.scored.rows], self._state.whole
        if run.soft is not None:
            picks = fill_spread(run, run.soft, profile, self._spread, NodesInUse(self._nodes, slots, capacity, scored, used, whole))
        elif profile.plain:
            bonus = profile.bonus_at(self._nodes)
            picks = fill(profile.local, run.count, slots, capacity, scored, used, whole=whole, bonus=bonus)
        else:
            picks = fill_soft(run.shape, profile, self._nodes, run.count, slots, capacity, scored, used, whole=whole)
        self._last = run, picks
        return picks

    def _charge(self, run: Run, picks: Nodes) -> None:
        self._spread = with_pods(run, self._spread, self._nodes[picks])
        for row, amount in run.shape.charges:
            np.add.at(self._used[row], picks, amount)
        for row, amount in enumerate(run.shape.scored):
            np.add.at(self._scored[row], picks, amount)


def _interleaved(request: PlacementRequest, placement: Placement, state: PlacementState) -> InterleavedShapes | None:
    """Return the faster variant for many short runs of few shapes; None if it does not apply."""
    if not state.whole or not worth_while(request.runs) or any(run.soft is not None for run in request.runs):
        return None
    profiles = [state.profile.compile(run.shape) for run in request.runs]
    if not all(profile.plain for profile in profiles):
        return None
    ledger, nodes = state.ledger, placement.nodes
    used = ledger.used[:, nodes]
    free = state.nodes.allocatable[:, nodes] - used
    if ledger.holding:
        free -= ledger.held[:, nodes]
    runs = list(zip(request.runs, profiles, strict=True))
    return InterleavedShapes(runs, nodes, state.capacity[:, nodes], free, ledger.scored[:, nodes], used[state.nodes.scored.rows])


def _feasibility_after(state: PlacementState, minimum: int, scheduled: int, left: int, failed: int, last: int) -> Feasibility:
    """Return the feasibility after a run; kube-scheduler stops at the first pod that decides.

    Of the *failed* pods of the group, which got no node, the *last* ones are those of the run.
    """
    for remaining in range(left + last - 1, left - 1, -1):
        if scheduled + remaining < minimum:
            return _judge(state, minimum, scheduled, remaining, left + failed - remaining)
    return _judge(state, minimum, scheduled, left, failed)


def _judge(state: PlacementState, minimum: int, scheduled: int, remaining: int, failed: int) -> Feasibility:
    if state.options.four_statuses:
        return judge_by_document(minimum, scheduled, remaining, failed, composite=False)
    return judge(minimum, scheduled, remaining, failed, composite=False)


def _pod_by_pod(request: PlacementRequest, placement: Placement, state: PlacementState, judged: Feasibility) -> tuple[Nodes, Feasibility]:
    """Place pod by pod."""
    entity = request.entity
    steps = PodByPod(state.profile, state.ledger, state.stateful, state.capacity, placement.nodes, state.ranking)
    found = np.full(len(entity.waiting), -1, dtype=np.int64)
    scheduled = len(entity.running)
    mark, counted = state.ledger.mark(), state.stateful.mark()
    for number, pod in enumerate(entity.waiting):
        before = state.ledger.mark()
        state.nominations.release_until_rewind(pod)
        found[number] = steps.place(pod)
        if found[number] < 0:
            state.ledger.rewind(before)
        scheduled += int(found[number] >= 0)
        left = len(entity.waiting) - number - 1
        judged = _judge(state, entity.minimum, scheduled, left, len(entity.running) + number + 1 - scheduled)
        if judged.hopeless:
            break
    state.ledger.rewind(mark)
    state.stateful.rewind(counted)
    return found, judged


def _holds(request: PlacementRequest, loads: list[PodLoad], placement: Placement, state: PlacementState) -> bool:
    """Return whether the pods up to desiredCount that do not exist yet would fit too (KEP-4671, desiredCount of the Basic policy)."""
    entity, shape = request.entity, request.runs[-1].shape if request.runs else None
    missing = entity.desired - len(entity.running) - sum(len(load.nodes) for load in loads)
    if missing <= 0 or shape is None:
        return missing <= 0
    profile = state.profile.compile(shape)
    mark = state.ledger.mark()
    state.ledger.assume(tuple(loads), state.ledger.fresh())
    free = state.nodes.allocatable[profile.rows] - state.ledger.used[profile.rows] - state.ledger.held[profile.rows]
    state.ledger.rewind(mark)
    mask = None if profile.mask is None else profile.mask[placement.nodes]
    slots = slots_of(free[:, placement.nodes], profile.amounts, mask)
    return bool(np.maximum(slots, 0).sum() >= missing)
