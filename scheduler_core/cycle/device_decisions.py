"""Devices of a decision: of each claim; of pods that wait for their devices; faults of kube-scheduler with claims that pods share."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence

from scheduler_core.causes.claims import (
    BindingConditionsAwaited,
    BoundOtherwise,
    DevicesExchanged,
    PodsAwaitDevices,
    ReservationRefused,
    SelectorNotEvaluated,
    SelectorsNotEvaluated,
    SharedClaims,
    WaitingPod,
)
from scheduler_core.causes.plugin_failures import AttemptEnded
from scheduler_core.cycle.claim_consumers import ClaimConsumers, lacks_members, only
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import DeviceClaim, DeviceNeed, claim_of
from scheduler_core.model.devices import Allocation
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.plugins.base import StatefulPlugin
from scheduler_core.plugins.dynamic_resources import DeviceAllocation, device_allocation

Assigned = tuple[PodRecord, int]
_LISTED = 3
"""Maximum number of faults in a message."""


def allocate(
    pods: Sequence[Assigned], plugins: Sequence[StatefulPlugin], options: PlacingOptions
) -> tuple[dict[DeviceClaim, Allocation], BoundOtherwise | SelectorsNotEvaluated | None]:
    """Return the devices of the placed *pods*, and, unless *options* are sparing, the faults of kube-scheduler 1.37.1.

    If they are, in place of faults the selectors with which kube-scheduler ends the attempt with an error.
    """
    allocation = device_allocation(plugins)
    devices = _devices_of(pods, allocation)
    # Pods whose devices are counted share no claim, and no selector is evaluated for them.
    picking = [pod for pod, _ in pods if pod.shape.picks_devices]
    if allocation is None or not picking:
        return devices, None
    return devices, _left_out(picking, allocation) if options.sparing else _device_faults(picking, allocation)


def without_unbound_pods(
    decision: Decision, entity: Entity, pods: Sequence[PodRecord], options: PlacingOptions, consumers: ClaimConsumers
) -> Decision:
    """Return *decision*, which places *pods* of *entity* with their devices, without the pods that are not bound now because of their claims."""
    if options.leaves_waiting:
        decision = _with_waiting_pods(decision, pods)
    return decision if options.sparing else _without_unreserved_pods(decision, entity, pods, consumers)


def attempt_ended(plugins: Sequence[StatefulPlugin]) -> AttemptEnded | None:
    """Return what the error that ended an attempt means; None if it is not about devices."""
    allocation = device_allocation(plugins)
    return None if allocation is None else allocation.attempt_ended()


def with_waiting_pods_placed(decision: Decision) -> Decision:
    """Return *decision* as it was made, before its pods that wait for binding conditions were only nominated."""
    if decision.status is not Status.WAIT or not decision.devices:
        return decision
    waiting = decision.nominations
    return dataclasses.replace(
        decision,
        status=Status.SUCCESS,
        assignments={**decision.assignments, **waiting},
        nominations={},
        pending={pod: reason for pod, reason in decision.pending.items() if pod not in waiting},
    )


def devices_beyond_requests(decision: Decision, pods: Sequence[Assigned], nodes: NodeTable) -> Counter[tuple[int, int]]:
    """Return how many devices of a row and node *decision* gives to claims of its *pods* that do not request that row."""
    return nodes.devices_beyond_requests(
        (need, decision.devices[claim])
        for pod, _ in pods
        for claim, need in (zip(pod.device_claims, pod.shape.devices, strict=False) if pod.shape.picks_devices else ())
        if need.allocates and claim in decision.devices
    )


def chosen_devices(pods: Sequence[Assigned], plugins: Sequence[StatefulPlugin]) -> dict[DeviceClaim, Allocation]:
    """Return the devices of the claims of the placed *pods*; of a claim of several pods, as the first of them wrote it."""
    return _devices_of(pods, device_allocation(plugins))


def _devices_of(pods: Sequence[Assigned], allocation: DeviceAllocation | None) -> dict[DeviceClaim, Allocation]:
    """Return the devices of the claims of *pods* in the order of their labels: those allocated before, and those that *allocation* has."""
    pairs: list[tuple[DeviceClaim, Allocation]] = []
    for pod, _ in pods:
        needs = zip(pod.device_claims, pod.shape.devices, strict=False)
        pairs += [(claim, need.allocated) for claim, need in needs if need.allocated is not None]
        if allocation is not None:
            pairs += allocation.allocations(pod)
    pairs.sort(key=lambda each: each[0].label)
    chosen: dict[DeviceClaim, Allocation] = {}
    for claim, allocated in pairs:
        chosen.setdefault(claim, allocated)
    return chosen


def _device_faults(pods: Sequence[PodRecord], allocation: DeviceAllocation) -> BoundOtherwise | None:
    """Return the claims of the placed *pods* that kube-scheduler 1.37.1 does not bind as decided; None without any."""
    exchanged = [DevicesExchanged(pod.key) for pod in pods if allocation.exchanged(pod)]
    users = Counter(claim for pod in pods for claim, _ in allocation.allocations(pod))
    shared = tuple(claim.named for claim, count in users.items() if count > 1)
    faults = (*exchanged, *((SharedClaims(shared),) if shared else ()))
    return BoundOtherwise(faults[:_LISTED]) if faults else None


def _left_out(pods: Sequence[PodRecord], allocation: DeviceAllocation) -> SelectorsNotEvaluated | None:
    """Return the selectors of the placed *pods* that could not be evaluated for some device; None without any."""
    found: dict[tuple[DeviceNeed, ...], list[SelectorNotEvaluated]] = {}
    for pod in pods:
        if pod.shape.devices not in found:
            found[pod.shape.devices] = [*allocation.unevaluated(pod)]
    selectors = dict.fromkeys(selector for each in found.values() for selector in each)
    return SelectorsNotEvaluated(tuple(selectors)[:_LISTED]) if selectors else None


def _with_waiting_pods(decision: Decision, pods: Sequence[PodRecord]) -> Decision:
    """Return *decision*, which places *pods*, without the pods that wait for binding conditions; they are nominated."""
    if not any(device.waits for allocation in decision.devices.values() for device in allocation.devices):
        return decision
    waits = {claim.key for claim, allocation in decision.devices.items() if any(device.waits for device in allocation.devices)}
    waiting = {pod.key: decision.assignments[pod.key] for pod in pods if waits.intersection(claim.key for claim in pod.device_claims)}
    awaited = sorted(waiting.items())
    return dataclasses.replace(
        decision,
        status=Status.WAIT,
        causes=(*decision.causes, PodsAwaitDevices(tuple(itertools.starmap(WaitingPod, awaited)))),
        assignments={pod: node for pod, node in decision.assignments.items() if pod not in waiting},
        nominations={**decision.nominations, **waiting},
        pending={**decision.pending, **{pod: (BindingConditionsAwaited(node),) for pod, node in awaited}},
    )


def _without_unreserved_pods(decision: Decision, entity: Entity, pods: Sequence[PodRecord], consumers: ClaimConsumers) -> Decision:
    """Return *decision*, which places *pods* of *entity*, without the pods whose claims kube-scheduler 1.37.1 cannot reserve.

    It adds the time to an allocation that another scheduler wrote without it, and further consumers to a claim that has the most already;
    the API server refuses both.  The status is Error if too few pods are left.
    """
    failed = {pod: ReservationRefused(claim_of(claim), too_many=True) for pod, claim in consumers.beyond_limit(pods).items()}
    untimed_shapes = {shape for shape in {pod.shape for pod in pods} if any(need.untimed for need in shape.devices)}
    for pod in pods:
        if pod.shape in untimed_shapes:
            claims = zip(pod.device_claims, pod.shape.devices, strict=False)
            untimed = [claim.key for claim, need in claims if need.untimed]
            failed[pod.key] = ReservationRefused(claim_of(untimed[0]), too_many=False)
    if not failed:
        return decision
    assignments = {pod: node for pod, node in decision.assignments.items() if pod not in failed}
    waiting = {pod: node for pod, node in decision.nominations.items() if pod not in failed}
    return dataclasses.replace(
        decision,
        status=Status.ERROR if lacks_members(only(entity, {*assignments, *waiting})) else decision.status,
        causes=(*decision.causes, *sorted(set(failed.values()), key=_words_order)),
        assignments=assignments,
        nominations=waiting,
        pending={**decision.pending, **{pod: (why,) for pod, why in failed.items()}},
    )


def _words_order(refused: ReservationRefused) -> tuple[str, bool]:
    """Return the key that sorts *refused* as its words, which have a colon after the claim."""
    return f"{refused.claim.full_name}:", not refused.too_many
