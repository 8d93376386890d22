"""Causes about the attempt as a whole: what a search has proved, what greedy may have missed, and what kube-scheduler overlooks."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.model.names import Name


class NoPlacementExists(Record, frozen=True):
    """Search that has proved in *explored* steps that there is no placement."""

    explored: int


class SearchStopped(Record, frozen=True):
    """Search that spent its budget of *explored* steps without a result."""

    explored: int


class PlacementMissed(Record, frozen=True):
    """Reasons why greedy may have missed a placement."""

    limits: tuple[GreedyLimit, ...]


class PlacementsSampled(Record, frozen=True):
    """Group with *feasible* placements, of which kube-scheduler compares only *compared*, in random order.

    *key* is the topology key of the placements; empty for those of a plugin.
    """

    group: Name
    feasible: int
    compared: int
    key: str = ""


class AttemptNote(enum.StrEnum):
    """Notes on an attempt that need no figures."""

    CONFLICTS_OVERLOOKED = "conflicts-overlooked"
    """kube-scheduler does not evict the pods in conflict with the group."""
    FAILED_BEFORE_DEVICES = "failed-before-devices"
    """kube-scheduler ends the attempt with an error, because no pod reached the plugin DynamicResources."""
    REST_POSTPONED = "rest-postponed"
    """The pod waits until the nominated pods of its root are placed."""


class ProofObstacle(enum.StrEnum):
    """Reason why there is no certificate of a proof that a root has no placement."""

    TOO_LONG = "too-long"
    """The proof is too long."""
    OTHER_FACTS = "other-facts"
    """The proof needs facts that a certificate cannot express."""
    VOLUMES = "volumes"
    """The proof needs the volumes of the pods, or other such facts."""
    DEVICES = "devices"
    """The proof needs more than the numbers of devices by node, or other such facts."""


class ProofNotFound(Record, frozen=True):
    """Proof that was not found within *steps* steps."""

    steps: int


ProofMissing = ProofObstacle | ProofNotFound
"""Why there is no certificate."""
SearchVerdict = NoPlacementExists | SearchStopped
SearchCause = SearchVerdict | PlacementMissed | PlacementsSampled | AttemptNote
