"""Queueing hints: the unschedulable roots that a cluster change can help.

A root that did not fit can fit only after a change.  Freed capacity helps only roots with a pod that can run there and is small
enough.  Added or moved pods help only roots with affinity or topology spread terms.  So most changes wake few roots.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from scheduler_core.loading.parsed_pod_specs import ParsedPodSpec
from scheduler_core.model.names import Name as Root
from scheduler_core.model.nodes import Nodes
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.cluster_changes import ClusterChanges
from scheduler_core.sidecar.cache.placement_state import LivePlacementState


@dataclasses.dataclass(frozen=True, slots=True)
class QueueingHint:
    """Changes that can help a root.

    Attributes:
        forms: forms of its pending pods, without duplicates.
        hosts: nodes on which members run.
        events: cluster events that can help, apart from freed capacity.
        preempts: whether it can preempt, so that capacity in use counts too.
        kinds: kinds that must be listed before it is attempted.

    """

    forms: frozenset[ParsedPodSpec] = frozenset()
    hosts: frozenset[str] = frozenset()
    events: frozenset[ClusterEvent] = frozenset()
    preempts: bool = False
    kinds: frozenset[str] = frozenset()


NO_HINT = QueueingHint()
"""Hint of a root that only a change of its own objects can help."""


class UnschedulableEntities:
    """Unschedulable roots, and roots that wait for kinds to be listed, with their hints."""

    def __init__(self, cache: Cache, ignore: frozenset[str]) -> None:
        self._cache, self._ignore = cache, ignore
        self._roots: dict[Root, QueueingHint] = {}

    def __len__(self) -> int:
        return len(self._roots)

    def __contains__(self, root: Root) -> bool:
        return root in self._roots

    def add(self, root: Root, hint: QueueingHint) -> None:
        """Add *root* with its *hint*."""
        self._roots[root] = hint

    def remove(self, root: Root) -> None:
        """Remove *root*."""
        self._roots.pop(root, None)

    def woken(self, changes: ClusterChanges) -> list[Root]:
        """Remove and return the roots that *changes* could help."""
        if not self._roots or not changes:
            return []
        woken = list(self._roots) if changes.priorities_changed else list(self._roots_helped(changes))
        for root in woken:
            del self._roots[root]
        return woken

    def _roots_helped(self, changes: ClusterChanges) -> Iterator[Root]:
        fit_check = _FitCheck(self._cache.usage.placement_state(), self._cache, self._ignore, changes)
        for root, hint in self._roots.items():
            if (
                not changes.kinds.isdisjoint(hint.kinds)
                or not changes.nodes.isdisjoint(hint.hosts)
                or not hint.events.isdisjoint(changes.events)
                or (hint.preempts and (changes.budgets or changes.units))
                or (changes.storage and any(form.requests() for form in hint.forms))
                or (changes.devices and any(form.devices for form in hint.forms))
                or fit_check.any_pod_fits(hint)
            ):
                yield root


class _FitCheck:
    """Check of pod forms against the nodes that changed; evaluated once for each form."""

    def __init__(self, placement_state: LivePlacementState, cache: Cache, ignore: frozenset[str], changes: ClusterChanges) -> None:
        self._placement_state, self._cache = placement_state, cache
        self._profile = placement_state.profile(ignore)
        self._nodes = _indices(placement_state, changes.freed_nodes | changes.nodes)
        self._known: dict[tuple[ParsedPodSpec, bool], bool] = {}

    def any_pod_fits(self, hint: QueueingHint) -> bool:
        """Return whether any pod of the root fits on a changed node."""
        return bool(len(self._nodes)) and any(self._fits(form, free=not hint.preempts) for form in hint.forms)

    def _fits(self, form: ParsedPodSpec, *, free: bool) -> bool:
        if (known := self._known.get((form, free))) is None:
            known = self._known[form, free] = self._fits_uncached(form, free=free)
        return known

    def _fits_uncached(self, form: ParsedPodSpec, *, free: bool) -> bool:
        if (shape := self._cache.usage.shape(form)) is None:
            return False
        profile = self._profile.compile(shape)
        nodes = self._nodes if profile.mask is None else self._nodes[profile.mask[self._nodes]]
        free_capacity = self._placement_state.nodes.allocatable[profile.rows][:, nodes]
        if free:
            free_capacity = free_capacity - self._placement_state.requested.sums()[profile.rows][:, nodes]
        return bool((free_capacity >= profile.amounts).all(axis=0).any())


def _indices(state: LivePlacementState, names: Iterable[str]) -> Nodes:
    return np.array(sorted(state.nodes.index[name] for name in names if name in state.nodes.index), dtype=np.int64)
