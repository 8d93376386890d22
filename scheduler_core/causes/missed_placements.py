"""Reasons why greedy placement may have missed a placement (KEP-4671, Algorithm Limitations; KEP-6012)."""

from __future__ import annotations

import enum
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name, NamedClaim


class Dependency(enum.StrEnum):
    """Rule by which pods depend on other pods."""

    TAKEN_VOLUMES = "taken-volumes"
    TAKEN_DEVICES = "taken-devices"
    SPREAD = "topology-spread"
    AFFINITY = "pod-affinity"
    SHARED_VOLUMES = "shared-volumes"
    ANTI_AFFINITY = "pod-anti-affinity"
    OTHER_ANTI_AFFINITY = "anti-affinity-of-other-pods"
    OTHER_PLUGIN = "other-plugin"


class UnequalPods(Record, frozen=True):
    """PodGroup whose pods differ, so that their order matters."""

    group: Name


class DependentPods(Record, frozen=True):
    """PodGroup whose pods depend on other pods."""

    group: Name
    dependencies: tuple[Dependency, ...]


class UnexaminedDomains(Record, frozen=True):
    """Domains of *key* in which *group* was not examined."""

    group: Name
    key: str
    number: int


class UnsharedClaims(Record, frozen=True):
    """Claims to devices that groups of one tree do not share because they are not allocated yet."""

    claims: tuple[NamedClaim, ...]


class ExtraPods(NamedTuple):
    """Number of pods that a group has placed above its minimum."""

    group: Name
    pods: int


class OptionalPods(Record, frozen=True):
    """Groups that placed pods above their minimum before their siblings were placed."""

    extra_pods: tuple[ExtraPods, ...]


class KeptPlacements(Record, frozen=True):
    """Groups that keep their placement, although a sibling may need the capacity."""

    groups: tuple[Name, ...]


class FeasibilityChecks(Record, frozen=True):
    """A plugin that decides what is feasible."""


GreedyLimit = UnequalPods | DependentPods | UnexaminedDomains | UnsharedClaims | OptionalPods | KeptPlacements | FeasibilityChecks
