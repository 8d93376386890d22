"""Volumes and devices that a search chooses for the claims of the pods of a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from scheduler_core.exact.devices.device_constraints import DeviceConstraints, claims_of
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.device_search import choose_devices
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.model.devices import Allocation
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volumes import ClaimName
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.dynamic_resources import device_allocation
from scheduler_core.plugins.volume_binding import VolumeMatching

PlannedLeaf = tuple[PlacementRequest, PlacementOutcome]


class ClaimsOfPlan:
    """Choice of volumes and devices within *capacity*."""

    def __init__(self, state: PlacementState, capacity: Capacity, budget: StepBudget) -> None:
        self._state = state
        self._capacity = capacity
        self._budget = budget

    def chosen(self, planned: Sequence[PlannedLeaf]) -> list[PlannedLeaf]:
        """Return the leaves of a plan with volumes and devices that requests do not count.

        Raises:
            StepsSpentError: the budget is spent.

        """
        volumes: dict[ClaimName, int] = {}
        devices: dict[str, Allocation] = {}
        if self._capacity.volumes is not None:
            volumes = self._capacity.volumes.choose(_pods(planned)) or {}
        if self._capacity.devices is not None:
            devices = self._devices(self._capacity.devices, [(pod, node) for pod, node in _pods(planned) if not pod.shape.counts_devices])
        return [(leaf, dataclasses.replace(outcome, volumes=volumes, devices=devices)) for leaf, outcome in planned]

    def taken(self, request: PlacementRequest, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return *outcome* with the volumes and devices that its pods, which are assumed, have taken."""
        if self._capacity.volumes is None and self._capacity.devices is None:
            return outcome
        pods = assigned(request, outcome)
        plugins = self._state.stateful.plugins
        volumes: dict[ClaimName, int] = {}
        for plugin in plugins if self._capacity.volumes is not None else ():
            if isinstance(plugin, VolumeMatching):
                volumes |= {(pod.namespace, pick.claim): pick.volume for pod, _ in pods for pick in plugin.picked(pod)}
        devices: dict[str, Allocation] = {}
        if self._capacity.devices is not None and (allocating := device_allocation(plugins)) is not None:
            devices = {claim.key: allocation for pod, _ in pods for claim, allocation in allocating.allocations(pod)}
        return dataclasses.replace(outcome, volumes=volumes, devices=devices)

    def with_counted_devices(self, request: PlacementRequest, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return *outcome* with devices for the claims that requests count, if it matters which device a claim has.

        Raises:
            StepsSpentError: the budget is spent.

        """
        pods = [(pod, node) for pod, node in assigned(request, outcome) if pod.shape.picks_devices and pod.shape.counts_devices]
        if not pods or (claims := claims_of(self._state)) is None:
            return outcome
        constraints = DeviceConstraints(claims, (), len(self._state.nodes))
        return dataclasses.replace(outcome, devices={**outcome.devices, **self._devices(constraints, pods)})

    def _devices(self, constraints: DeviceConstraints, pods: Sequence[tuple[PodRecord, int]]) -> dict[str, Allocation]:
        return (choose_devices(constraints, pods, self._budget) if pods else None) or {}


def _pods(planned: Sequence[PlannedLeaf]) -> list[tuple[PodRecord, int]]:
    return [pair for leaf, outcome in planned for pair in assigned(leaf, outcome)]
