"""Sentences of a reason: a beginning, and clauses that the forms of a text join, list or select."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.domains import AttemptFailed, NodeCause
from scheduler_core.causes.node_count import NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """Clause of a sentence.

    Attributes:
        text: the clause.
        nodes: the nodes that it is about; None if it is not about some of the nodes.
        is_condition: True if it says without which cause the pods would fit.
        cause: the cause that it states; None if it states several, or another fact.

    """

    text: str
    nodes: NodeCount | None = None
    is_condition: bool = False
    cause: NodeCause | AttemptFailed | None = None

    @property
    def part(self) -> float:
        """Return the part of the nodes that it is about, 1 for all."""
        return self.nodes.count / self.nodes.total if self.nodes is not None else 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """Sentence without the point at its end: *lead*, and after a colon the clauses if there are any."""

    lead: str
    clauses: tuple[Clause, ...] = ()

    @property
    def text(self) -> str:
        """Return the whole sentence."""
        return f"{self.lead}: {'; '.join(each.text for each in self.clauses)}" if self.clauses else self.lead
