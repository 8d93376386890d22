"""Affinity terms of known pods, seen from the pods that they select."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.plugins.affinity_terms import Term
from scheduler_core.plugins.topology_counts import Ids, PodTally


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TermClaim:
    """Affinity term of known pods, seen from the pods it selects; its owners are counted."""

    term: Term
    forbids: bool
    """True for required anti-affinity; otherwise the term's weight is a score."""
    owners: PodTally


class ForbiddenDomains:
    """Number of the owners of many claims by domain, for each topology key; one test of nodes is independent of the number of claims.

    Attributes:
        claims: the claims whose owners are counted.
        owners: number of all owners, also of those on a node without the topology key.
        changes: number of changes of claims, of any, that are known.

    """

    __slots__ = ("_sums", "changes", "claims", "owners")

    def __init__(self) -> None:
        self.claims: set[TermClaim] = set()
        self.owners = self.changes = 0
        self._sums: dict[str, tuple[Ids, Ints]] = {}
        """Domain of each node, and number of owners in each domain, by topology key."""

    def add(self, claims: Iterable[TermClaim]) -> None:
        """Count the owners of *claims* too."""
        found: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for claim in claims:
            self.claims.add(claim)
            if claim.term.key not in self._sums:
                self._sums[claim.term.key] = claim.owners.ids, claim.owners.none()
            nodes, amounts = found[claim.term.key]
            nodes += claim.owners.by_node.keys()
            amounts += claim.owners.by_node.values()
        for key, (nodes, amounts) in found.items():
            ids, sums = self._sums[key]
            self.owners += sum(amounts)
            domains = ids[nodes]
            np.add.at(sums, domains[domains >= 0], np.array(amounts, dtype=np.int64)[domains >= 0])

    def change(self, claim: TermClaim, node: int, amount: int) -> None:
        """Count *amount* more owners of *claim* on *node*."""
        if claim in self.claims:
            ids, sums = self._sums[claim.term.key]
            self.owners += amount
            if (domain := ids[node]) >= 0:
                sums[domain] += amount

    def allow(self, nodes: Nodes) -> Bools:
        """Return which of *nodes* are in no domain with an owner, shape (nodes,)."""
        allowed: Bools = np.ones(len(nodes), dtype=bool)
        for ids, sums in self._sums.values():
            allowed &= sums[ids[nodes]] == 0
        return allowed

    def any(self) -> bool:
        """Return whether a domain has an owner."""
        return bool(self.owners) and any(bool(sums.any()) for _, sums in self._sums.values())


class SelectingClaims:
    """Claims that select certain pods.

    Attributes:
        forbidding: those that forbid the pods the domain of an owner.
        scoring: the others.
        domains: the domains of the owners of ``forbidding``; None before they are first needed.
        asked: number of known claims of which these are those that select the pods.

    """

    __slots__ = ("asked", "domains", "forbidding", "scoring")

    def __init__(self) -> None:
        self.forbidding: list[TermClaim] = []
        self.scoring: list[TermClaim] = []
        self.domains: ForbiddenDomains | None = None
        self.asked = 0
