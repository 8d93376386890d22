"""What a cycle says should happen."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


class Status(enum.StrEnum):
    """What became of a root, or of a group below it."""

    SUCCESS = "Success"
    WAIT = "Wait"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    INVALID = "Invalid"
    ERROR = "Error"


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """A group, or a pod that is a root of its own."""

    kind: str
    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """One value of a topology key."""

    key: str
    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupCondition:
    """A status condition as the cluster would hold it; *status* is ``True`` or ``False``."""

    type: str
    status: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDecision:
    """What became of one group of a tree."""

    group: Name
    status: Status
    message: str = ""
    domain: Domain | None = None
    conditions: tuple[GroupCondition, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """How the answer was found: ``outcome`` is placed, infeasible (proved), budget (spent) or not-searched."""

    strategy: str
    outcome: str
    explored: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of a change, as ``kubectl`` takes it: exactly one of the two is there.

    Attributes:
        apply: a full object that replaces the one of the same name, or is added.
        delete: ``apiVersion``, ``kind``, ``namespace`` and ``name`` of an object that goes away.

    """

    apply: Mapping[str, Any] | None = None
    delete: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Remedy:
    """A change that was tried: with all *steps* applied to the input, the root comes to *then*."""

    change: str
    """In words."""
    steps: tuple[Step, ...]
    then: Status = Status.SUCCESS


@dataclasses.dataclass(frozen=True, slots=True)
class Eviction:
    """How good the choice of victims is; strategy ``complete`` only.

    Attributes:
        units: preemption units that are broken.
        lower: no plan breaks fewer; without breaking a disruption budget where this one breaks none.
        violating: pods whose eviction breaks a disruption budget.
        proved: whether it is proved that no plan is better, in units, pods, priorities and age together.

    """

    units: int
    lower: int
    violating: int = 0
    proved: bool = False

    @property
    def gap(self) -> int:
        """How many units fewer a plan might do with; 0: proved that there is none."""
        return self.units - self.lower


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What became of one root in one cycle.  Pods are ``namespace/name``, nodes are names."""

    root: Name
    status: Status
    message: str = ""
    assignments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nominations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    victims: tuple[str, ...] = ()
    groups: tuple[GroupDecision, ...] = ()
    search: Search = Search("greedy", "not-searched")
    pending: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Why, for each pod of the root that is not placed."""
    remedies: tuple[Remedy, ...] = ()
    """What would help, the smallest change first; of roots that are not placed, and only where it was looked for."""
    conflict: tuple[str, ...] = ()
    """Constraints, in words, that cannot hold together, while any of them could be kept without the others."""
    remedies_note: str = ""
    """How far remedies were looked for, where that was not to the end."""
    preemption: Eviction | None = None
    """None where nobody is told to leave, and in strategy ``greedy``."""
