"""Wording of what the sidecar reports about binding and preemption, in events and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from scheduler_core.causes.binding_failures import (
    ClaimGone,
    DeviceAllocatedTwice,
    DevicesNotBound,
    OtherDevices,
    PodOrNodeGone,
    PreBindAwaited,
    PreBindFailed,
    PreBindStep,
    ReservationLost,
    TimedOut,
    VolumeNotCreated,
    VolumeOutOfReach,
    WriteFailed,
)
from scheduler_core.model.names import Domain, Name
from scheduler_core.wording.nouns import counted

_CLAIMS = 3
"""Maximum number of claims that a message names."""
_STEPS = {PreBindStep.VOLUMES: "binding volumes", PreBindStep.DEVICES: "allocating devices"}
_OPEN = {PreBindStep.VOLUMES: "not bound", PreBindStep.DEVICES: "not ready"}
_RETRIED = "it is retried"


def pre_bind_failed(failure: PreBindFailed) -> str:
    """Return that volumes or devices could not be bound, and why."""
    return f"{_STEPS[failure.step]} failed: {_why(failure)}; {_RETRIED}"


def pre_bind_awaited(awaited: PreBindAwaited) -> str:
    """Return which claims pods wait for."""
    volumes = f"volumes: {_listed(awaited.volumes)} {_OPEN[PreBindStep.VOLUMES]}" if awaited.volumes else ""
    devices = f"devices: {_listed(awaited.devices)} {_OPEN[PreBindStep.DEVICES]}" if awaited.devices else ""
    return f"waiting for {'; '.join(filter(None, (volumes, devices)))}"


def bind_failed(pod: str, node: str, why: str) -> str:
    """Return that the bind of *pod* failed; *why* is the reply of the API server."""
    return f"binding {pod} to {node} failed: {why}"


def partly_bound(done: int, pods: int, failure: str) -> str:
    """Return how many pods of a root are bound; *failure* is that of a bind."""
    return f"{done} of {_pods(pods)} bound; {failure}; {_RETRIED}"


def not_completed(root: Name, why: str) -> str:
    """Return that a gang is undone."""
    return f"{root.kind} {root.name} is partially bound and cannot be completed: {why}"


def undone(message: str, deleted: int) -> str:
    """Return *message* about a gang, and how many of its pods are deleted."""
    return f"{message}; {_pods(deleted)} deleted"


def bound(pods: int, domain: Domain | None) -> str:
    """Return how many pods of a root are bound, and in which domain."""
    return f"{_pods(pods)} bound{f', in {domain.key} {domain.value}' if domain is not None else ''}"


def assigned(pod: str, node: str) -> str:
    """Return kube-scheduler's text about a pod that is bound."""
    return f"Successfully assigned {pod} to {node}"


def preempting(scheduler_name: str, kind: str) -> str:
    """Return for what pods are evicted; *kind* is that of the root."""
    return f"{preempting_prefix(scheduler_name)}to accommodate a higher priority {kind.lower()}"


def preempting_prefix(scheduler_name: str) -> str:
    """Return the beginning of ``preempting``, by which a condition is known as that of this scheduler."""
    return f"{scheduler_name}: preempting "


def preempted_by(root: Name) -> str:
    """Return for which root a group is evicted."""
    return f"Preempted by {root.kind} {root.namespace}/{root.name}"


def pods_preempted_by(root: Name, pods: int) -> str:
    """Return for which root *pods* of a group are evicted."""
    return f"{preempted_by(root)}: {pods} of its pods"


def pod_preempted_by(root: Name, node: str) -> str:
    """Return for which root a pod on *node* is evicted."""
    return f"{preempted_by(root)} on node {node}"


def _why(failure: PreBindFailed) -> str:  # noqa: C901, PLR0911 - one case for each kind of failure
    match why := failure.because:
        case WriteFailed():
            return f"{_target(why.target)}: {why.error}"
        case PodOrNodeGone():
            return f"pod {_key(why.pod)} no longer exists, or node {why.node} does not"
        case ClaimGone():
            return f"claim {_key(why.claim)} no longer exists"
        case VolumeOutOfReach():
            return f"volume {why.volume} of claim {_key(why.claim)} cannot be used on node {why.node}"
        case VolumeNotCreated():
            return f"the provisioner of claim {_key(why.claim)} created no volume for node {why.node}"
        case ReservationLost():
            return f"claim {_key(why.claim)} is no longer reserved for pod {_key(why.pod)}"
        case OtherDevices():
            return f"claim {_key(why.claim)} has other devices than those that were chosen"
        case DeviceAllocatedTwice():
            return f"device {why.device} of claim {_key(why.claim)} is also allocated to claim {_key(why.other)}"
        case DevicesNotBound():
            return f"the devices of claim {_key(why.claim)} could not be bound to node {why.node}"
        case TimedOut():
            return f"{_listed(why.claims)} {_OPEN[failure.step]} within {why.seconds:g} s"
    assert_never(why)


def _target(target: Name) -> str:
    return f"{'pod' if target.kind == 'Pod' else 'claim'} {_key(target)}" if target.namespace else f"volume {target.name}"


def _key(name: Name) -> str:
    return f"{name.namespace}/{name.name}"


def _pods(count: int) -> str:
    """Return ``1 pod is``, ``2 pods are``."""
    return f"{counted(count, 'pod')} {'is' if count == 1 else 'are'}"


def _listed(claims: Sequence[Name]) -> str:
    """Return ``claim a/b is``, or ``5 claims (a/b, a/c, a/d, …) are``."""
    if len(claims) == 1:
        return f"claim {_key(claims[0])} is"
    more = ", …" if len(claims) > _CLAIMS else ""
    return f"{counted(len(claims), 'claim')} ({', '.join(map(_key, claims[:_CLAIMS]))}{more}) are"
