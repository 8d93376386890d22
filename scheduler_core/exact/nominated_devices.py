"""Devices that nominated pods hold, because requests do not count them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kubeapi.base_structs import replaced
from scheduler_core.exact.devices.device_constraints import DeviceConstraints, claims_of
from scheduler_core.exact.packing.device_search import choose_devices
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.model.devices import Allocation
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.state import PlacementState

if TYPE_CHECKING:
    from scheduler_core.plugins.devices.assumed_claims import AssumedClaims

NO_DEVICES: Mapping[str, Allocation] = {}
_STEPS = 2_000
"""Search steps for the devices of all nominated pods."""
_Nominated = Sequence[tuple[PodRecord, int]]


def hold_nominated_devices(state: PlacementState, pods: Iterable[PodRecord]) -> None:
    """Hold devices for all nominated pods of *pods*, the more important first; terminating pods will have left theirs."""
    if picking := [(pod, node) for pod, node in state.nominations.pods() if pod.shape.picks_devices]:
        nominate(state, picking, devices_of_nominated(state, picking, (pod for pod in pods if pod.terminating)))


def nominate(state: PlacementState, pods: _Nominated, devices: Mapping[str, Allocation] = NO_DEVICES) -> None:
    """Nominate *pods* for their nodes, where their claims are to have *devices*, by key; the first pod of a claim holds them."""
    left = dict(devices)
    if left and (claims := claims_of(state)) is not None:
        state.ledger.devices = claims.found.usage
    for pod, node in pods:
        state.nominations.nominate(pod, node, [_held(left.pop(claim.key)) for claim in pod.device_claims if claim.key in left])


def devices_of_nominated(
    state: PlacementState, pods: _Nominated, without: Iterable[PodRecord] = (), planned: Mapping[str, Allocation] = NO_DEVICES
) -> dict[str, Allocation]:
    """Return the devices that the claims of *pods* can have on their nodes, by key, if requests do not count them.

    They are those *planned*.  The pods *without* have left theirs.
    """
    picking = [(pod, node) for pod, node in pods if pod.shape.picks_devices]
    if not picking or (claims := claims_of(state)) is None:
        return {}
    left = [pod for pod in without if pod.node >= 0]
    for pod in left:
        claims.evict(pod)
    found, fitting = _assumed(claims, picking, planned)
    if not fitting and (chosen := _chosen(state, claims, picking)):
        found, _ = _assumed(claims, picking, chosen)
    for pod in reversed(left):
        claims.restore_pod(pod)
    rows = state.nodes.device_rows
    counted = {
        claim.key
        for pod, _ in picking
        for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False)
        if rows is not None and rows.counts([need]) and not rows.one_by_one([need])
    }
    return {key: each for key, each in found.items() if key not in counted}


def _held(allocation: Allocation) -> Allocation:
    """Return *allocation*, where shares with admin access count too: they take nothing from others, but others must leave capacity for them."""
    return replaced(allocation, devices=tuple(replaced(each, admin=each.admin and not each.shared) for each in allocation.devices))


def _assumed(claims: AssumedClaims, pods: _Nominated, planned: Mapping[str, Allocation]) -> tuple[dict[str, Allocation], bool]:
    """Return the devices that the claims of *pods* get one after the other, by key, and whether all pods get theirs."""
    claims.planned, fitting = planned, True
    for pod, node in pods:
        fitting &= not any(claims.reasons(pod, np.array([node], dtype=np.int64)))
        claims.assume(pod, node)
    found = {claim.key: each for pod, _ in pods for claim, each in claims.allocations(pod)}
    for pod, _ in reversed(pods):
        claims.forget(pod)
    claims.planned = NO_DEVICES
    return found, fitting


def _chosen(state: PlacementState, claims: AssumedClaims, pods: _Nominated) -> Mapping[str, Allocation]:
    """Return devices for all claims of *pods* together; none if there are none, or if that is hard to find."""
    try:
        return choose_devices(DeviceConstraints(claims, (), len(state.nodes)), pods, StepBudget(_STEPS)) or NO_DEVICES
    except StepsSpentError:
        return NO_DEVICES
