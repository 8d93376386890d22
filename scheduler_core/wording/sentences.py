"""Sentences of a reason: a beginning, and clauses that the forms of a text join, list or select."""

from __future__ import annotations

from kubeapi.base_structs import Record
from scheduler_core.causes.domains import AttemptFailed, NodeCause, PodRule
from scheduler_core.causes.groups import GroupCause
from scheduler_core.causes.node_count import NodeCount


class ClauseDomains(Record, frozen=True):
    """Number of the domains of *key* that a clause is about, and the most pods that one of them holds; None if it does not say."""

    number: int
    key: str
    most: int | None = None


class Clause(Record, frozen=True):
    """Clause of a sentence.

    Attributes:
        text: the clause.
        nodes: the nodes that it is about; None if it is not about some of the nodes.
        is_condition: True if it says without which filter more pods would fit.
        causes: causes that it states.
        is_further: True if only a verdict has it, and only if it decides.
        domains: domains that it is about, of several of one level; None for others.
        is_rest: True if it counts the domains that no other clause is about.

    """

    text: str
    nodes: NodeCount | None = None
    is_condition: bool = False
    causes: tuple[NodeCause | AttemptFailed | PodRule, ...] = ()
    is_further: bool = False
    domains: ClauseDomains | None = None
    is_rest: bool = False

    @property
    def part(self) -> float:
        """Return the part of the nodes that it is about, 1 for all."""
        return self.nodes.count / self.nodes.total if self.nodes is not None else 1.0


class Sentence(Record, frozen=True):
    """Sentence without the point at its end: *lead*, and after a colon the clauses if there are any; clauses only if *lead* is empty.

    *cause* is the cause of a group that it states last: with the sentences before it, all of it is stated.
    """

    lead: str
    clauses: tuple[Clause, ...] = ()
    cause: GroupCause | None = None

    @property
    def text(self) -> str:
        """Return the whole sentence."""
        clauses = "; ".join(each.text for each in self.clauses if not each.is_further)
        return ": ".join(filter(None, (self.lead, clauses)))


def ended(text: str) -> str:
    """Return *text* with a mark at its end, which texts of other programs can have already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
