"""Controllers of the enabled modes, connected to the cache, and the controller that measures fragmentation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kubeapi.gathered import Unusable
from kubeapi.groups import Group
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.diagnosis import fragmentation
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.loading.read_groups import read_one
from scheduler_core.model.options import PlacingOptions
from scheduler_core.queueing.trees import Tree, Trees, name_of
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.controllers.disruption_target import DisruptionTargets
from scheduler_core.sidecar.controllers.finalizers import Finalizers
from scheduler_core.sidecar.controllers.runner import MIN_INTERVAL_SECONDS, Controller, Reconcile
from scheduler_core.sidecar.controllers.validity import Validity
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import RecordEvent, Ref, Write
from scheduler_core.wording.live_words import ignored_words

FRAGMENTATION_SECONDS = 60.0
DISRUPTION_SECONDS = 5.0
"""Minimum interval of a controller without urgent work."""
IGNORED = "Ignored"
"""Reason of the event on an object that does not count."""
_GROUPS = frozenset({"PodGroup", "CompositePodGroup"})
_VALIDATED = frozenset({*_GROUPS, "Workload", "Pod", "PriorityClass"})
_PROTECTED = frozenset({*_GROUPS, "Pod"})

Reconciled = tuple[tuple[Write, ...], float | None]


def enabled_controllers(settings: Settings, cache: Cache, metrics: SidecarMetrics, behavior: SchedulerBehavior) -> Iterator[Controller]:
    """Return the controllers of *settings*; *behavior* is that of the cluster's kube-scheduler."""
    if Mode.VALIDATE in settings.modes:
        yield Controller(_VALIDATED, MIN_INTERVAL_SECONDS, lambda: _validity(settings, cache, metrics, behavior))
        yield Controller(frozenset({*_GROUPS, "Workload"}), MIN_INTERVAL_SECONDS, lambda: _ignored_objects(cache))
    if Mode.PROTECT in settings.modes:
        yield Controller(_PROTECTED, MIN_INTERVAL_SECONDS, lambda: _finalizers(cache))
    if Mode.PREEMPT in settings.modes:
        yield Controller(_PROTECTED, DISRUPTION_SECONDS, lambda: _disruption_targets(settings, cache))
    yield Controller(frozenset({"Node", "Pod"}), FRAGMENTATION_SECONDS, lambda: _fragmentation(cache, metrics))


def _validity(settings: Settings, cache: Cache, metrics: SidecarMetrics, behavior: SchedulerBehavior) -> Reconcile:
    validity = Validity(settings.gates, behavior=behavior, settle=settings.settle_seconds)

    def postponed(tree: Tree) -> bool:
        names = (name_of(node.group) for node in tree.nodes)
        groups = (live for each in names if (live := cache.group(each.kind, each.namespace, each.name)) is not None)
        return bool(cache.needed.unlisted_of_tree(groups))

    def reconcile(now: float) -> Reconciled:
        result = validity.reconcile(Trees(apply_feature_gates(cache.snapshot_of_groups(), settings.gates)), now, postponed=postponed)
        metrics.invalid.set(validity.count)
        return result.writes, result.next_retry

    return reconcile


def _ignored_objects(cache: Cache) -> Reconcile:
    """Return the reconcile function that records an event on each object that does not count, once."""
    reported: set[Ref] = set()

    def reconcile(_: float) -> Reconciled:
        nonlocal reported
        ignored = {each.ref: each for each in cache.ignored()}
        new = sorted(ignored.keys() - reported)
        reported = {*ignored}
        return tuple(RecordEvent(ref, "Warning", IGNORED, ignored_words(ref.kind, ignored[ref].used)) for ref in new), None

    return reconcile


def _finalizers(cache: Cache) -> Reconcile:
    finalizers = Finalizers()

    def reconcile(now: float) -> Reconciled:
        groups = (each.group for each in cache.groups())
        return finalizers.wanted(groups, _Members(cache), now, _ignored_groups(cache)), finalizers.next_retry

    return reconcile


def _ignored_groups(cache: Cache) -> Iterator[Group]:
    for each in cache.ignored():
        with contextlib.suppress(Unusable):
            _, group = read_one(each.text)
            if isinstance(group, Group):
                yield group


def _disruption_targets(settings: Settings, cache: Cache) -> Reconcile:
    targets = DisruptionTargets(settings.scheduler_name)

    def reconcile(now: float) -> Reconciled:
        return targets.wanted(cache, now), targets.next_retry

    return reconcile


def _fragmentation(cache: Cache, metrics: SidecarMetrics) -> Reconcile:
    def reconcile(now: float) -> Reconciled:
        state, snapshot = cache.start_cycle(PlacingOptions(), frozenset()), cache.snapshot_of_groups()
        try:
            metrics.fragmentation(fragmentation.largest(state, fragmentation.levels(snapshot), fragmentation.examples(snapshot)))
        finally:
            state.stateful.give_back()
        return (), now + FRAGMENTATION_SECONDS

    return reconcile


class _Members:
    """``finalizers.Membership`` over the cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def has_members(self, namespace: str, group: str) -> bool:
        return bool(self._cache.members(namespace, group)) or self._cache.unreadable(namespace, "Pod")

    def hides_children(self, namespace: str) -> bool:
        return self._cache.unreadable(namespace, "PodGroup", "CompositePodGroup")
