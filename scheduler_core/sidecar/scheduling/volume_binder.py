"""Binding of the volumes of a root before its pods, as kube-scheduler's VolumeBinder plugin does in PreBind.

A claim or volume is never deleted; only the selected node of a claim without a volume is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.gather import Name
from kubeapi.selectors import NodeSelector
from scheduler_core.causes.binding_failures import ClaimGone, VolumeFailure, VolumeNotCreated, VolumeOutOfReach
from scheduler_core.model import selectors
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.volumes import Claim, Volume
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.queue.states import Binds, PreBinding
from scheduler_core.sidecar.writes import Bind, ClearSelectedNode, Ref, ReserveVolume, SelectNode, VolumeWrite, WriteOutcome


class VolumeBinder:
    """Creates the writes that bind volumes, and judges their progress."""

    def __init__(self, cache: Cache, our_pods: OurPods) -> None:
        self._cache, self._our_pods = cache, our_pods

    def writes(self, decision: Decision, binds: Binds) -> dict[Ref, VolumeWrite]:
        """Return the writes of *decision* for the volumes of the pods of *binds*, by the object that they change."""
        writes: dict[Ref, VolumeWrite] = {}
        for claim, node in self._claims(binds):
            choice = decision.volumes.get("/".join(claim))
            found = self._cache.volumes.claims.get(claim)
            if choice is None or found is None:
                continue
            ref = Ref("PersistentVolumeClaim", *claim, found.uid)
            write = ReserveVolume(Ref("PersistentVolume", "", choice.volume), ref) if choice.volume else SelectNode(ref, node)
            writes[write.target] = write
        return writes

    def unbound(self, state: PreBinding) -> tuple[ObjectName, ...] | VolumeFailure:
        """Return the claims of *state* that are not bound, or why one of them cannot be bound."""
        waiting = []
        for claim, node in sorted(self._claims(state.binds)):
            if (failure := self._failure(claim, node, state)) is not None:
                return failure
            if not self._is_bound(claim):
                waiting.append(_named(claim))
        return tuple(waiting)

    def take_back(self, state: PreBinding) -> tuple[ClearSelectedNode, ...]:
        """Return the writes that take back the selected nodes of the claims that have no volume."""
        return tuple(
            ClearSelectedNode(write.target, write.node)
            for write in state.writes.values()
            if isinstance(write, SelectNode) and state.outcomes.get(write.target) in {WriteOutcome.DONE, WriteOutcome.FAILED}
        )

    def left_over(self, pods: Iterable[LivePod]) -> tuple[ClearSelectedNode, ...]:
        """Return the writes that take back the selected nodes of claims of unplaced *pods* that no other pod uses."""
        writes = {}
        for pod in pods:
            for claim in pod.parsed_pod.claims:
                found = self._cache.volumes.claims.get((pod.name[0], claim.name))
                if found is None or not _selected(found) or found.volume:
                    continue
                if all(map(self._is_unplaced, self._cache.usage.pods.of_claims.pods((pod.name[0], claim.name)))):
                    ref = Ref("PersistentVolumeClaim", pod.name[0], claim.name, found.uid)
                    writes[ref] = ClearSelectedNode(ref, _selected(found))
        return tuple(writes[ref] for ref in sorted(writes))

    def unused(self, name: Name, manager: str) -> tuple[ClearSelectedNode, ...]:
        """Return the write that takes back the node that *manager* selected for a claim, if only pods without their group use it."""
        found, reporter = self._cache.volumes.claims.get(name), self._cache.reporter
        if found is None or manager not in reporter.selected.get(name, ()) or self._cache.volumes.reserved.get(name):
            return ()
        if any(not self._is_unplaced(pod) or reporter.root(pod) for pod in self._cache.usage.pods.of_claims.pods(name)):
            return ()
        return (ClearSelectedNode(Ref("PersistentVolumeClaim", *name, found.uid), _selected(found)),)

    def _is_unplaced(self, pod: LivePod) -> bool:
        return self._our_pods.has(pod) and not self._cache.usage.node_of(pod)

    def _claims(self, binds: Binds) -> Iterator[tuple[Name, str]]:
        """Yield each claim of the pods that are bound, with the node of its pod; the scheduler of an ungated pod binds its volumes."""
        for ref, bind in binds.items():
            pod = self._cache.pod(ref)
            if pod is not None and isinstance(bind, Bind):
                for claim in pod.parsed_pod.claims:
                    yield (pod.name[0], claim.name), bind.node

    def _is_bound(self, name: Name) -> bool:
        claim = self._cache.volumes.claims.get(name)
        return claim is not None and claim.bound and claim.volume in self._cache.volumes.volumes

    def _failure(self, name: Name, node: str, state: PreBinding) -> VolumeFailure | None:
        """Return why a claim cannot be bound for *node*; None if it is bound, or can still be."""
        claim = self._cache.volumes.claims.get(name)
        if claim is None:
            return ClaimGone(_named(name))
        if self._is_bound(name):
            read = self._cache.usage.nodes.nodes.get(node)
            labels = read.labels if read is not None else {}
            if not selectors.admits_volume(self._affinity(self._cache.volumes.volumes[claim.volume], node), labels):
                return VolumeOutOfReach(_named(name), claim.volume, node)
            return None
        ref = Ref("PersistentVolumeClaim", *name, claim.uid)
        write = state.writes.get(ref)
        if isinstance(write, SelectNode) and state.outcomes.get(ref) is WriteOutcome.DONE and not claim.volume:
            if _selected(claim) == write.node:
                state.selected.add(ref)
            elif ref in state.selected:
                return VolumeNotCreated(_named(name), write.node)
        return None

    def _affinity(self, volume: Volume, node: str) -> NodeSelector | None:
        """Return the node affinity of *volume* that counts on *node*."""
        attach, migrated = self._cache.volumes.attach, volume.migrated
        there = migrated is not None and attach is not None and attach.has_driver(node, migrated.plugin)
        return migrated.affinity if migrated is not None and there else volume.affinity


def _selected(claim: Claim) -> str:
    return claim.request.selected_node


def _named(claim: Name) -> ObjectName:
    return ObjectName("PersistentVolumeClaim", *claim)
