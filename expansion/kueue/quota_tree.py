"""Quota of ClusterQueues and of the Cohorts above them: what a queue has, lends and can borrow.

Amounts are millicores for cpu, and units of every other resource.  Source: Kueue 0.17.0, ``pkg/cache/scheduler/resource_node.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kubeapi.base_structs import Record


class FlavorResource(NamedTuple):
    """Resource of a ResourceFlavor, of which there is a quota."""

    flavor: str
    resource: str


Amounts = Mapping[FlavorResource, int]


class Quota(Record, frozen=True):
    """Quota of one resource of a flavor; None: borrowing, or lending, has no limit."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


_NONE = Quota()


class QuotaNode:
    """ClusterQueue or Cohort with its quotas and its usage; a tree is settled once, from its root, before it is asked.

    Attributes:
        name: of the ClusterQueue or Cohort.
        parent: the Cohort above it, if any.
        queues: the active ClusterQueues in a Cohort.
        inactive: those that admit nothing, but whose quota and usage count.
        cohorts: the Cohorts in a Cohort.
        quotas: its own quotas.
        usage: amounts that count against ``subtree``: of a Cohort, what its children use beyond what they do not lend.
        subtree: its quota with what its children lend.

    """

    __slots__ = ("cohorts", "inactive", "name", "parent", "queues", "quotas", "subtree", "usage")

    def __init__(self, name: str, quotas: Mapping[FlavorResource, Quota]) -> None:
        self.name = name
        self.parent: QuotaNode | None = None
        self.queues: list[QuotaNode] = []
        self.inactive: list[QuotaNode] = []
        self.cohorts: list[QuotaNode] = []
        self.quotas = dict(quotas)
        self.usage: Counter[FlavorResource] = Counter()
        self.subtree: Counter[FlavorResource] = Counter()

    def quota(self, of: FlavorResource) -> Quota:
        """Return the quota of a resource; without a quota it is 0."""
        return self.quotas.get(of, _NONE)

    def settle(self) -> None:
        """Compute the quotas of the tree below, and the usage of its Cohorts from that of their ClusterQueues."""
        self.subtree = Counter({each: quota.nominal for each, quota in self.quotas.items()})
        if not self.children():
            return
        self.usage = Counter()
        for child in self.children():
            child.settle()
            for each, amount in child.subtree.items():
                self.subtree[each] += amount - child.never_lent(each)
            for each, amount in child.usage.items():
                self.usage[each] += max(0, amount - child.never_lent(each))

    def children(self) -> list[QuotaNode]:
        """Return what is directly below a Cohort."""
        return [*self.cohorts, *self.queues, *self.inactive]

    def path_to_root(self) -> Iterator[QuotaNode]:
        """Yield the Cohorts above, the root last."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def never_lent(self, of: FlavorResource) -> int:
        """Return the amount that is never lent to the Cohort above."""
        limit = self.quota(of).lending_limit
        return 0 if limit is None else max(0, self.subtree[of] - limit)

    def kept_and_free(self, of: FlavorResource) -> int:
        """Return how much of the amount that is never lent is not used."""
        return max(0, self.never_lent(of) - self.usage[of])

    def available(self, of: FlavorResource) -> int:
        """Return the amount that can be used now, with what can be borrowed; negative if more is used than there is."""
        if self.parent is None:
            return self.subtree[of] - self.usage[of]
        above = self.parent.available(of)
        if (limit := self.quota(of).borrowing_limit) is not None:
            kept = self.never_lent(of)
            above = min(above, self.subtree[of] - kept - max(0, self.usage[of] - kept) + limit)
        return self.kept_and_free(of) + above

    def most(self, of: FlavorResource) -> int:
        """Return the amount that could be used if nothing else was."""
        if self.parent is None:
            return self.subtree[of]
        amount = self.never_lent(of) + self.parent.most(of)
        limit = self.quota(of).borrowing_limit
        return amount if limit is None else min(amount, self.subtree[of] + limit)

    def add(self, amounts: Amounts) -> None:
        """Use *amounts* more, here and above as far as they are borrowed or lent."""
        for each, amount in amounts.items():
            node, left = self, amount
            while True:
                free = node.kept_and_free(each)
                node.usage[each] += left
                left -= free
                if node.parent is None or left <= 0:
                    break
                node = node.parent

    def remove(self, amounts: Amounts) -> None:
        """Use *amounts* less; the reverse of ``add``."""
        for each, amount in amounts.items():
            node, left = self, amount
            while True:
                above = node.usage[each] - node.never_lent(each)
                node.usage[each] -= left
                if above <= 0 or node.parent is None:
                    break
                left = min(left, above)
                node = node.parent

    def exceeds(self, of: FlavorResource, amount: int) -> bool:
        """Return whether a further *amount* needs more than the quota: the own one of a ClusterQueue, that of all below for a Cohort."""
        return self.usage[of] + amount > self.subtree[of]

    def is_within(self, resources: Iterable[FlavorResource]) -> bool:
        """Return whether the usage of *resources* is at most the quota."""
        return all(self.usage[each] <= self.subtree[each] for each in resources)

    def rest(self, requests: Amounts) -> tuple[bool, dict[FlavorResource, int]]:
        """Return whether *requests* fit in the quota, and what of them the node above must have."""
        fits = all(self.usage[each] + amount <= self.subtree[each] for each, amount in requests.items())
        return fits, {each: max(0, amount - self.kept_and_free(each)) for each, amount in requests.items()}

    def height(self) -> int:
        """Return the distance to the furthest active ClusterQueue or Cohort below."""
        own = 1 if self.queues or self.cohorts else 0
        return max([own, *(each.height() + 1 for each in self.cohorts)])

    def borrowing_height(self, of: FlavorResource, amount: int) -> tuple[int, bool]:
        """Return the height of the lowest Cohort with a quota for *amount*, 0 without borrowing; and whether others are above it.

        If no Cohort has it, the height is that of the root.  Source: ``FindHeightOfLowestSubtreeThatFits``.
        """
        if self.parent is None or not self.exceeds(of, amount):
            return 0, self.parent is not None
        left, node = amount - self.kept_and_free(of), self.parent
        while node.exceeds(of, left):
            if node.parent is None:
                return node.height(), False
            left -= node.kept_and_free(of)
            node = node.parent
        return node.height(), node.parent is not None
