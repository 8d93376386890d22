"""Binding of the volumes and devices of a root before its pods, as kube-scheduler's plugins do in PreBind.

All claims of all pods are written first, then every volume and device must be ready, then the binds of the pods are sent.  If a volume
or device cannot be bound, no pod is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from scheduler_core.causes.live import ClaimUnreserved, StaleExtendedClaim
from scheduler_core.loading.gather import Name
from scheduler_core.model.decision import Decision
from scheduler_core.model.nouns import counted
from scheduler_core.model.scheduler_profile import SchedulerProfile
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.queue.states import Binds, PreBinding
from scheduler_core.sidecar.scheduling.device_binder import DeviceBinder, Release
from scheduler_core.sidecar.scheduling.volume_binder import VolumeBinder
from scheduler_core.sidecar.writes import ClearSelectedNode, PreBindWrite, Ref, VolumeWrite, WriteOutcome

MAX_CLAIMS = 3
"""Maximum number of claims that a message names."""
TakeBack = ClearSelectedNode | Release


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the volumes and devices of a root.

    Attributes:
        volumes: the claims to volumes that are not bound.
        devices: the claims to devices whose binding conditions are not met.
        failure: what failed and why; empty if nothing has failed.

    """

    volumes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    failure: str = ""

    @property
    def done(self) -> bool:
        """Return whether the pods can be bound."""
        return not self.volumes and not self.devices and not self.failure


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
        writes: dict[Ref, PreBindWrite] = {**self._volumes.writes(decision, binds), **self._devices.writes(decision, binds)}
        state = PreBinding(binds, decision, writes, now)
        return state if writes or self._devices.unbound(state) != ([], "") else None

    def progress(self, state: PreBinding, now: float) -> Progress:
        """Return what *state* waits for, or why its pods cannot be bound."""
        if failed := sorted(target for target, outcome in state.outcomes.items() if outcome is not WriteOutcome.DONE):
            target = failed[0]
            return Progress(failure=_failure(f"{_named(target)}: {state.failures[target]}", target))
        for ref, bind in sorted(state.binds.items()):
            pod = self._cache.pod(ref)
            if pod is None or pod.assumed != bind.node:
                gone = f"pod {ref.key} no longer exists, or node {bind.node} does not"
                return Progress(failure=_failure(gone, next(iter(sorted(state.writes)), ref)))
        volumes, failure = self._volumes.unbound(state)
        if failure or (volumes and now >= state.since + (limit := self._profile.volume_seconds)):
            return Progress(failure=f"binding volumes failed: {failure or f'{_listed(volumes)} not bound within {limit:g} s'}")
        devices, failure = self._devices.unbound(state)
        if failure or (devices and now >= state.since + (limit := self._profile.device_seconds)):
            return Progress(failure=f"allocating devices failed: {failure or f'{_listed(devices)} not ready within {limit:g} s'}")
        return Progress(tuple(volumes), tuple(devices))

    def waiting_message(self, progress: Progress) -> str:
        """Return the message about claims that are not bound."""
        volumes = f"volumes: {_listed(progress.volumes)} not bound" if progress.volumes else ""
        devices = f"devices: {_listed(progress.devices)} not ready" if progress.devices else ""
        return f"waiting for {'; '.join(filter(None, (volumes, devices)))}"

    def take_back(self, state: PreBinding) -> tuple[TakeBack, ...]:
        """Return the writes that undo those of *state*."""
        return (*self._volumes.take_back(state), *self._devices.take_back(state))

    def left_over(self, pods: Iterable[LivePod]) -> tuple[TakeBack, ...]:
        """Return the writes that take back what was written for unplaced *pods* and what no other pod uses."""
        pods = tuple(pods)
        return (*self._volumes.left_over(pods), *self._devices.left_over(pods))

    def unused(self, claim: Name) -> tuple[ClearSelectedNode, ...]:
        """Return the write that takes back the node that was selected for *claim*, if no pod waits for it there."""
        return self._volumes.unused(claim, self._field_manager)

    def ended(self, write: PreBindWrite | Release, outcome: WriteOutcome, *, awaited: bool) -> tuple[Release, ...]:
        """Handle the result of *write*, for which a root waits if *awaited*, and return the next writes."""
        return () if isinstance(write, VolumeWrite) else self._devices.ended(write, outcome, awaited=awaited)


def _failure(why: str, target: Ref) -> str:
    """Return the text about a failed write to *target*."""
    return f"{'binding volumes' if target.kind.startswith('PersistentVolume') else 'allocating devices'} failed: {why}"


def _named(ref: Ref) -> str:
    return f"{'pod' if ref.kind == 'Pod' else 'claim'} {ref.key}" if ref.namespace else f"volume {ref.name}"


def _listed(claims: list[str] | tuple[str, ...]) -> str:
    """Return ``claim a/b is``, or ``5 claims (a/b, a/c, a/d, …) are``."""
    if len(claims) == 1:
        return f"claim {claims[0]} is"
    more = ", …" if len(claims) > MAX_CLAIMS else ""
    return f"{counted(len(claims), 'claim')} ({', '.join(claims[:MAX_CLAIMS])}{more}) are"
