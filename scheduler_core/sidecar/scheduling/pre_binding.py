"""Binding of the volumes and devices of a root before its pods, as kube-scheduler's plugins do in PreBind.

All claims of all pods are written first, then every volume and device must be ready, then the binds of the pods are sent.  If a volume
or device cannot be bound, no pod is.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi.gather import Name as ClaimName
from scheduler_core.causes.binding_failures import (
    DeviceFailure,
    PodOrNodeGone,
    PreBindAwaited,
    PreBindFailed,
    PreBindStep,
    TimedOut,
    VolumeFailure,
    WriteFailed,
)
from scheduler_core.causes.live import ClaimUnreserved, StaleExtendedClaim
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.scheduler_profile import SchedulerProfile
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.queue.states import Binds, PreBinding
from scheduler_core.sidecar.scheduling.device_binder import DeviceBinder, Release
from scheduler_core.sidecar.scheduling.volume_binder import VolumeBinder
from scheduler_core.sidecar.writes import ClearSelectedNode, PreBindWrite, Ref, VolumeWrite, WriteOutcome

_OF_VOLUMES = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
TakeBack = ClearSelectedNode | Release


class PreBinder:
    """Creates the writes that must succeed before pods are bound, and judges their progress."""

    def __init__(self, cache: Cache, our_pods: OurPods, profile: SchedulerProfile, field_manager: str) -> None:
        self._cache, self._profile, self._field_manager = cache, profile, field_manager
        self._volumes, self._devices = VolumeBinder(cache, our_pods), DeviceBinder(cache, our_pods)

    def refusal(self, decision: Decision, pods: Iterable[LivePod]) -> ClaimUnreserved | StaleExtendedClaim | None:
        """Return why one of *pods* cannot be bound as in *decision*; None if all can."""
        return self._devices.refusal(decision, pods)

    def start(self, decision: Decision, binds: Binds, now: float) -> PreBinding | None:
        """Return the writes of *decision* for the pods of *binds*; None if no volume or device has to be bound."""
        if all(pod is None or pod.parsed_pod.attached is NOTHING_ATTACHED for pod in map(self._cache.pod, binds)):
            return None
        writes: dict[Ref, PreBindWrite] = {**self._volumes.writes(decision, binds), **self._devices.writes(decision, binds)}
        state = PreBinding(binds, decision, writes, now)
        return state if writes or self._devices.unbound(state) != () else None

    def progress(self, state: PreBinding, now: float) -> PreBindAwaited | PreBindFailed | None:
        """Return what *state* waits for, or why its pods cannot be bound; None if they can be."""
        if failed := sorted(target for target, outcome in state.outcomes.items() if outcome is not WriteOutcome.DONE):
            target = failed[0]
            return PreBindFailed(_step(target), WriteFailed(Name(target.kind, target.namespace, target.name), state.failures[target]))
        for ref, bind in sorted(state.binds.items()):
            pod = self._cache.pod(ref)
            if pod is None or pod.assumed != bind.node:
                gone = PodOrNodeGone(Name("Pod", ref.namespace, ref.name), bind.node)
                return PreBindFailed(_step(next(iter(sorted(state.writes)), ref)), gone)
        volumes = self._volumes.unbound(state)
        if not isinstance(volumes, tuple) or (volumes and now >= state.since + self._profile.volume_seconds):
            return PreBindFailed(PreBindStep.VOLUMES, _failure(volumes, self._profile.volume_seconds))
        devices = self._devices.unbound(state)
        if not isinstance(devices, tuple) or (devices and now >= state.since + self._profile.device_seconds):
            return PreBindFailed(PreBindStep.DEVICES, _failure(devices, self._profile.device_seconds))
        return PreBindAwaited(volumes, devices) if volumes or devices else None

    def take_back(self, state: PreBinding) -> tuple[TakeBack, ...]:
        """Return the writes that undo those of *state*."""
        return (*self._volumes.take_back(state), *self._devices.take_back(state))

    def left_over(self, pods: Iterable[LivePod]) -> tuple[TakeBack, ...]:
        """Return the writes that take back what was written for unplaced *pods* and what no other pod uses."""
        pods = tuple(pods)
        return (*self._volumes.left_over(pods), *self._devices.left_over(pods))

    def unused(self, claim: ClaimName) -> tuple[ClearSelectedNode, ...]:
        """Return the write that takes back the node that was selected for *claim*, if no pod waits for it there."""
        return self._volumes.unused(claim, self._field_manager)

    def ended(self, write: PreBindWrite | Release, outcome: WriteOutcome, *, awaited: bool) -> tuple[Release, ...]:
        """Handle the result of *write*, for which a root waits if *awaited*, and return the next writes."""
        return () if isinstance(write, VolumeWrite) else self._devices.ended(write, outcome, awaited=awaited)


def _failure(unbound: tuple[Name, ...] | VolumeFailure | DeviceFailure, limit: float) -> TimedOut | VolumeFailure | DeviceFailure:
    return TimedOut(unbound, limit) if isinstance(unbound, tuple) else unbound


def _step(target: Ref) -> PreBindStep:
    """Return the step that writes *target*."""
    return PreBindStep.VOLUMES if target.kind in _OF_VOLUMES else PreBindStep.DEVICES
