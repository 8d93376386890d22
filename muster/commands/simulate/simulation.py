"""One simulation: hypothetical changes of the objects, their snapshot, and the cycle on it."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.pod_creation import EXTENDED_RESOURCE_TOLERATION
from kubeapi.base_structs import replaced
from kubeapi.gathered import Given
from kubeapi.problem import Problem, ProblemKind
from muster.commands.progress import Progress
from muster.commands.simulate import own_objects, what_if
from muster.commands.simulate.completed_input import ClusterInput
from muster.commands.simulate.deletions_awaited import after_deletions
from muster.commands.simulate.drain_notes import drain_notes, evictions
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.plugin_trial import PluginTrial, try_plugin
from muster.commands.simulate.request import SimulationRequest
from muster.render.answer import Answer
from muster.render.problem_words import shown_order
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.changes import SearchedRoots
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import MOST_CYCLES, CycleOptions, Result, run_cycle, run_cycles
from scheduler_core.diagnosis.fragmentation import fragments
from scheduler_core.loading.configuration.scheduler_configuration import part_scored, read_configuration
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.queueing.queue_order import OrderError
from scheduler_core.whatif.remedies.for_decisions import remedy_limit, with_remedies, without_search
from scheduler_core.wording.pre_enqueue_words import order_words
from validators.gates import GateError

_MOST_CYCLES = 64
_EXAMINED = 2_000_000
"""Limit of the nodes and pods that are examined in all cycles, for more than the usual number of cycles."""


class RefusedRequestError(ValueError):
    """The options do not fit the cluster; the message is for users."""


def run(inputs: ClusterInput, request: SimulationRequest, progress: Progress) -> tuple[Answer, ClusterSnapshot]:
    """Return the answer, and the cluster that it is about.

    Args:
        inputs: the cluster with the groups and pods to place.
        request: the options.
        progress: receives the number of decided roots.

    Raises:
        WhatIfError: a node to drain or to copy does not exist.
        RefusedRequestError: the order names something that is not a root, the scheduler configuration has no profile for the
            requested scheduler, or no API server of the version starts with the feature gates.

    """
    began = time.monotonic()
    request, objects, snapshot, all_problems = _loaded(inputs, request)
    cycle = dataclasses.replace(request.cycle, progress=progress.roots)
    own = inputs.own if request.only_own else None
    try:
        result = _cycles(snapshot, cycle, own)
    except OrderError as error:
        raise RefusedRequestError(order_words(error.cause)) from None
    awaited: tuple[Name, ...] = ()
    if own is not None:
        quiet = dataclasses.replace(cycle, progress=None)
        result, awaited = after_deletions(result, snapshot, own, lambda changed: _cycles(changed, quiet, own))
    only = None if own is None else own_objects.roots(result.decisions, own) - _partly_placed(result.decisions)
    fixed = frozenset(name for name, path in inputs.minimums.items() if path is None)
    decisions = with_remedies(result.decisions, objects, snapshot, request.cycle, request.remedies, only, fixed)
    trial = _plugin_trial(inputs, request, objects, snapshot, result.decisions)
    decisions = trial.advised(decisions, remedy_limit(request.cycle, request.remedies))
    for each in inputs.stored:
        each.check()
    decisions = decisions if own is None else tuple(own_objects.without_self_eviction(each, own) for each in decisions)
    differing = [each for each in result.problems if each.kind is ProblemKind.TEMPLATE_DIFFERS]
    in_order = sorted({*all_problems, *result.problems}.difference(differing), key=shown_order)
    answer = Answer.from_decisions(decisions, result.pending, in_order, time.monotonic() - began if request.timings else None)
    limits = _limits(without_search(result.decisions, request.cycle, request.remedies, only))
    scored = _part_scored(snapshot) if decisions and cycle.strategy == "greedy" else ()
    beside = own_objects.beside_shares(answer, snapshot, objects, inputs.own) if own is None else ()
    evicted = evictions(inputs.objects, request.drain) if request.drain else inputs.evicted
    drained = drain_notes(evicted, snapshot, decisions)
    notes = _notes(inputs, (*drained, *trial.notes, *_of_decided(differing, decisions, own), *scored, *limits, *beside))
    answer = replaced(answer, skipped=_skipped(inputs, in_order), refused=tuple(inputs.refused), notes=notes, awaited=awaited)
    if inputs.own is not None:
        answer = _with_share(answer, snapshot, inputs, inputs.own)
    else:
        answer = replaced(answer, unread=tuple(dict.fromkeys(inputs.unread)))
    if request.fragmentation:
        answer = replaced(answer, fragments=fragments(apply_feature_gates(snapshot, cycle.gates, cycle.ignored), cycle.ignore))
    return answer, snapshot


def _loaded(inputs: ClusterInput, request: SimulationRequest) -> tuple[SimulationRequest, Iterable[Given], ClusterSnapshot, list[Problem]]:
    """Return the request as the version reads it, the objects after hypothetical changes, their snapshot, and the problems so far."""
    objects: Iterable[Given] = inputs.objects
    problems = list(inputs.problems)
    if request.drain or request.additions or request.cordon:
        objects, unsorted = what_if.suppose(objects, request.drain, request.additions, request.cordon)
        problems += unsorted
    request, behavior = _of_version(request, request.behavior or inputs.behavior or KUBERNETES_1_37)
    profiles = request.configuration.profiles if request.configuration is not None else None
    snapshot = load(objects, profiles, request.device_topology, behavior, request.cycle.gates)
    if request.configuration is not None:
        problems += request.configuration.problems(len(snapshot.nodes))
    _demand_profile(snapshot, request.cycle.scheduler_name)
    # The snapshot lives to the end, so the garbage collector need not visit it.
    gc.freeze()
    return request, objects, snapshot, problems


def _cycles(snapshot: ClusterSnapshot, options: CycleOptions, own: Own | None) -> Result:
    return run_cycle(snapshot, options) if own is None else run_cycles(snapshot, options, unsettled(own), most=most_cycles(snapshot))


def _with_share(answer: Answer, snapshot: ClusterSnapshot, inputs: ClusterInput, own: Own) -> Answer:
    """Return *answer* with what of it is about *own*, and the inputs of the cluster that could not be read."""
    part = own_objects.restricted(answer, snapshot, own)
    unread, share = own_objects.unread(answer, part, inputs.unread), own_objects.share(answer, part, own)
    return replaced(answer, own=share, path_roots=own_objects.roots(answer.decisions, own), unread=unread)


def _plugin_trial(
    inputs: ClusterInput, request: SimulationRequest, objects: Iterable[Given], snapshot: ClusterSnapshot, decisions: Sequence[Decision]
) -> PluginTrial:
    if EXTENDED_RESOURCE_TOLERATION in request.admission_plugins or not remedy_limit(request.cycle, request.remedies):
        return PluginTrial()
    own = inputs.own if request.only_own else None
    return try_plugin(objects, snapshot, decisions, inputs.own, lambda changed: _cycles(changed, request.cycle, own).decisions)


def _of_version(request: SimulationRequest, behavior: SchedulerBehavior) -> tuple[SimulationRequest, SchedulerBehavior]:
    """Return the request with the feature gates and the scheduler configuration of the version, and the version."""
    try:
        gates = request.cycle.gates.of_version(behavior.minor)
    except GateError as error:
        raise RefusedRequestError(f"option gates: {error}") from None
    configuration = request.configuration
    if configuration is not None:
        configuration = read_configuration(configuration.written, behavior, gates)
        if configuration.errors:
            errors = "; ".join(f"{each.path}: {each}" for each in configuration.errors)
            raise RefusedRequestError(f"option schedulerConfig: kube-scheduler {behavior.version} does not start with it: {errors}")
    return dataclasses.replace(request, configuration=configuration, cycle=dataclasses.replace(request.cycle, gates=gates)), behavior


def _demand_profile(snapshot: ClusterSnapshot, name: str | None) -> None:
    if name is not None and not snapshot.profiles.schedules(name):
        names = ", ".join(sorted(snapshot.profiles.by_name or ()))
        raise RefusedRequestError(f"option schedulerName: the scheduler configuration has no profile {name!r}; its profiles are {names}")


def most_cycles(snapshot: ClusterSnapshot) -> int:
    """Return the limit of consecutive cycles until everything at PATH is placed: a pod can need one to evict, and one to be placed."""
    size = len(snapshot.nodes) + len(snapshot.pods)
    return max(MOST_CYCLES, min(_MOST_CYCLES, _EXAMINED // max(1, size)))


def unsettled(own: Own) -> Callable[[Sequence[Decision]], bool]:
    """Return a test whether the next cycle can place more pods of *own*: after evictions, or pods that a Basic group left over."""

    def more(decisions: Sequence[Decision]) -> bool:
        return any((each.victims or (each.assignments and each.pending)) and own_objects.concerns(each, own) for each in decisions)

    return more


def _partly_placed(decisions: Iterable[Decision]) -> frozenset[Name]:
    """Return the roots with a placed pod: they are placed as far as required, so no change can be verified to place the rest."""
    return frozenset(each.root for each in decisions if each.assignments)


def _notes(inputs: ClusterInput, others: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys((*inputs.refused, *inputs.notes, *others)))


def _limits(searched: SearchedRoots | None) -> list[Problem]:
    return [Problem(searched, place="Remedies")] if searched is not None else []


def _of_decided(differing: Iterable[Problem], decisions: Iterable[Decision], own: Own | None) -> list[Problem]:
    """Return those of *differing* that are about groups with a decision, or only groups of trees with something of *own*."""
    decided = {group.group for each in decisions if own is None or own_objects.concerns(each, own) for group in each.groups}
    return [each for each in differing if not decided.isdisjoint(each.names)]


def _part_scored(snapshot: ClusterSnapshot) -> Iterator[Problem]:
    """Yield a note that kube-scheduler scores a part of the nodes by default; a configured percentage is among the problems."""
    profiles = [DEFAULT_PROFILE] if snapshot.profiles.by_name is None else [*snapshot.profiles.by_name.values()]
    default = [each for each in profiles if each.percentage_of_nodes is None]
    if default and (scored := part_scored(default[0], len(snapshot.nodes))) is not None:
        yield Problem(scored, place="kube-scheduler")


def _skipped(inputs: ClusterInput, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the objects at PATH that create pods, or may create pods, and were not used."""
    skipped = {*inputs.skipped}
    for each in problems:
        if own_objects.is_unused(each) and (inputs.own is None or own_objects.is_problem_of(inputs.own, each)):
            skipped.add(each)
    return tuple(sorted(skipped, key=shown_order))
