"""Facts that trials find about drained nodes and later updates; ``problem_words`` has their text."""

from __future__ import annotations

from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.names import Name
from kubeapi.problem import ProblemKind


class DrainedPods(Record, frozen=True):
    """Pods of the drained nodes that their controllers create again.

    Attributes:
        evicted: number of the pods.
        placed: number of those that get another node.
        bare: pods without a controller, which nobody creates again.

    """

    problem_kind: ClassVar = ProblemKind.DRAIN
    evicted: int
    placed: int
    bare: tuple[Name, ...] = ()


class EvictionsRefused(Record, frozen=True):
    """Evictions of pods of the drained nodes that a PodDisruptionBudget refuses at first.

    Attributes:
        evicted: number of the pods that it protects.
        at_once: number of them that it lets go at once.

    """

    problem_kind: ClassVar = ProblemKind.DRAIN
    evicted: int
    at_once: int


class GroupDisrupted(Record, frozen=True):
    """Group with the disruption mode All, of which a drain evicts some pods.

    Attributes:
        evicted: number of these pods.
        others: number of its pods on other nodes.

    """

    problem_kind: ClassVar = ProblemKind.DRAIN
    evicted: int
    others: int


class LaterUpdateHangs(Record, frozen=True):
    """New object that fits, but whose next update to the same resources would hang; it was played.

    Attributes:
        old: number of old pods that run on.
        waiting: number of new pods that wait for a node.
        refused: number of new pods that a quota refuses.
        field: field of the object with whose *value* the update is finished; empty if none helps, or none was tried.
        value: the value.
        like: node of which *more* further ones help, if no field does; empty if none is known.
        more: how many of them.

    """

    problem_kind: ClassVar = ProblemKind.LATER_UPDATE_HANGS
    old: int
    waiting: int
    refused: int = 0
    field: str = ""
    value: str = ""
    like: str = ""
    more: int = 0


DrainFact = DrainedPods | EvictionsRefused | GroupDisrupted
"""What is said about the nodes that are drained."""
