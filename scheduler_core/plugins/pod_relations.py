"""What pods that run say about one that comes, and it about them; kept up to date while pods are tried.

kube-scheduler confines a group cycle to the nodes of a placement as candidates only: the pods that InterPodAffinity and
PodTopologySpread count, and the domains that they compare, are those of the whole snapshot (in 1.37 PreFilter and PreScore are
given every node, and the placement only limits what is filtered).  ``within`` left out does the same; given, it cuts the snapshot
down to those nodes.  Neither plugin looks at pods that are nominated only: whoever counts them assumes them first.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.pod_counts import PodCounts, PodKind
from scheduler_core.plugins.pod_terms import SpreadTerm, Term, says_something, unmodelled
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    census: PodCounts
    affinity: InterPodAffinity
    spreading: PodTopologySpread


class PodRelations:
    """The pods of a snapshot as they constrain each other.

    Every pod that is assumed or removed must be told once it is ``active``, also one that nothing touches: others may count it.
    Nothing is counted before the first pod that says anything about others is met, in the snapshot or later.
    """

    def __init__(self, snapshot: ClusterSnapshot, census: PodCounts | None = None) -> None:
        """Of the pods of *snapshot*; a *census* has counted them already, and is lent until ``give_back``."""
        self._snapshot = snapshot
        self._met = census.mark() if census is not None else 0
        self._ready = _Ready(census, InterPodAffinity(census), PodTopologySpread(census)) if census is not None else None
        self._settled: list[tuple[PodRecord, int, int]] = []
        self._journal: list[tuple[PodRecord, int, int]] = []
        self._says: dict[PodShape, bool] = {}
        self._unmodelled: dict[PodShape, tuple[str, ...]] = {}
        self._binds: dict[tuple[PodKind, PodKind], bool] = {}
        if census is None and any(self._speaks(pod) for pod in snapshot.pods):
            self._counted()

    @property
    def active(self) -> bool:
        """Whether any pod of the snapshot, or told since, says anything about others.

        While none does nothing touches any pod, and whoever places only pods of the snapshot need not tell where they go.
        """
        return self._ready is not None

    def mark(self) -> int:
        """A point to rewind to."""
        return len(self._journal)

    def assume(self, pod: PodRecord, node: int) -> None:
        """*pod* runs on *node* for now."""
        self._move(pod, node, 1)

    def remove(self, pod: PodRecord, node: int) -> None:
        """*pod*, which runs on *node*, does not for now."""
        self._move(pod, node, -1)

    def rewind(self, mark: int) -> None:
        """Undo everything since *mark*, in reverse."""
        while len(self._journal) > mark:
            pod, node, amount = self._journal.pop()
            if self._ready:
                self._ready.census.put(pod, node, -amount)

    def forget(self) -> None:
        """Let what is assumed and removed stand for good."""
        self._settled += self._journal
        self._journal.clear()

    def give_back(self) -> None:
        """Undo all there is, also what stands for good: a census that was lent is as it was."""
        self._journal[:0] = self._settled
        self._settled.clear()
        self.rewind(0)
        if self._ready:
            self._ready.census.rewind(self._met)

    def touches(self, pod: PodRecord) -> bool:
        """Whether ``filter`` or ``score`` can have anything to say about *pod*.

        It says something itself, or a term of a pod that is known (running, assumed or pending) selects it: a required or
        preferred one, near or far.  Who is False here goes where it would go alone.
        """
        if not self._ready and not self._speaks(pod):
            return False
        census = self._counted().census
        kind = census.kind(pod)
        return bool(kind.terms) or bool(census.claims_on(kind.crowd))

    def filter(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> list[tuple[str, Bools]]:
        """The filters that bind *pod*, in upstream's order: why not, and a mask of *nodes*' shape, True where it may run.

        A node that fails several fails by the first of them, as upstream reports it.

        Args:
            pod: the pod that comes; it must not count as running.
            nodes: indices of the candidates.
            within: the only nodes (ascending) whose pods and domains count; None for all of the snapshot, as upstream.

        """
        if not self._ready and not self._speaks(pod):
            return []
        ready = self._counted()
        kind = ready.census.kind(pod)
        return [*ready.spreading.filters(kind, nodes, within), *ready.affinity.filters(kind, nodes, within)]

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Shape of *nodes*: what affinity makes of each, before ``normalise``.  Arguments as for ``filter``."""
        if not self._ready and not self._speaks(pod):
            return np.zeros(len(nodes), dtype=np.int64)
        ready = self._counted()
        return ready.affinity.score(ready.census.kind(pod), nodes, within)

    def normalise(self, raw: Ints) -> Ints:
        """See the function ``normalise``."""
        return normalise(raw)

    def unmodelled(self, pod: PodRecord) -> tuple[str, ...]:
        """Field paths of what *pod* says that cannot be told from what is known, in wire names.

        As ``spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector``: the labels of
        namespaces are not known.  Filters and scores take such a selector to select no namespace.
        """
        if (found := self._unmodelled.get(pod.shape)) is None:
            found = self._unmodelled[pod.shape] = unmodelled(pod.shape)
        return found

    def bind(self, pod: PodRecord, other: PodRecord) -> bool:
        """Whether it can decide where *other* may run that *pod* is where it is: by a requirement of one of them, or by counting."""
        if self._ready is None:
            return False
        one, two = self._ready.census.kind(pod), self._ready.census.kind(other)
        if (found := self._binds.get((one, two))) is None:
            crowd = one.crowd
            counted: tuple[Term | SpreadTerm, ...] = (*two.terms.near, *two.terms.far, *two.terms.spread)
            found = any(each.pods.has(crowd.namespace, crowd.labels) for each in counted)
            found = found or any(term.pods.has(two.crowd.namespace, two.crowd.labels) for term in one.terms.far)
            self._binds[one, two] = found
        return found

    def _move(self, pod: PodRecord, node: int, amount: int) -> None:
        if self._ready or self._speaks(pod):
            self._counted().census.put(pod, node, amount)
        self._journal.append((pod, node, amount))

    def _speaks(self, pod: PodRecord) -> bool:
        if (says := self._says.get(pod.shape)) is None:
            says = self._says[pod.shape] = says_something(pod.shape)
        return says

    def _counted(self) -> _Ready:
        """Everything so far is counted when it first matters."""
        if self._ready is None:
            census = PodCounts(self._snapshot.nodes)
            for pod in self._snapshot.pods:
                if pod.node >= 0:
                    census.put(pod, pod.node)
                elif self._speaks(pod):
                    census.kind(pod)
            for pod, node, amount in (*self._settled, *self._journal):
                census.put(pod, node, amount)
            self._ready = _Ready(census, InterPodAffinity(census), PodTopologySpread(census))
        return self._ready


def normalise(raw: Ints) -> Ints:
    """Scores of the feasible nodes spread over 0 to 100, as InterPodAffinity does: in float64, cut off; all 0 where they are equal."""
    if not len(raw):
        return raw
    least = int(raw.min())
    extent = int(raw.max()) - least
    if not extent:
        return np.zeros_like(raw)
    return (100.0 * ((raw - least).astype(np.float64) / float(extent))).astype(np.int64)
