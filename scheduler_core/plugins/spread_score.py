"""Score of PodTopologySpread: constraints with ``ScheduleAnyway``.

The raw score of a node is the sum over its constraints of: matching pods in its domain * weight + maxSkew - 1, in float64, rounded.
The weight is ln(2 + number of domains among the feasible nodes).  A constraint on the hostname counts the pods on the node itself;
others count the pods of all nodes of the cluster that the constraint's policies admit.  The node with the smallest raw score is the best.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.base import StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.spread_constraints import NO_DEFAULTS, DefaultSpread, SpreadTerm
from scheduler_core.plugins.topology_counts import Ids, NodeTally

WORST, BEST = 0, 100
"""Bounds of a normalised score."""
IGNORED = -1
"""Raw score of a node without one of the topology keys."""
_FEW_DOMAINS = 16
"""Number of domains up to which their nodes are listed."""


class DomainMembers:
    """Nodes by domain; the result for the last nodes is kept, as equal pods are placed on the same nodes again and again."""

    __slots__ = ("_ids", "_last")

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._last: tuple[Nodes, list[Ints] | None] | None = None

    def of_nodes(self, nodes: Nodes) -> list[Ints] | None:
        """Return the positions in *nodes*, which must not be modified later, of the nodes of each domain; None if there are many domains."""
        if self._last is None or self._last[0] is not nodes:
            ids = self._ids[nodes]
            domains = np.bincount(ids).nonzero()[0].tolist()
            self._last = nodes, [(ids == each).nonzero()[0] for each in domains] if len(domains) <= _FEW_DOMAINS else None
        return self._last[1]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SoftRule:
    """One constraint.

    Attributes:
        term: the constraint.
        tally: number of matching pods by node.
        hostname: True if each node is a domain of its own.
        ids: shape (nodes,): the domain of each node; nodes without the topology key are in the domain of the empty value.
        size: number of domains.
        labelled: shape (nodes,): nodes with the topology key; None if all have it.
        eligible: shape (nodes,): nodes whose pods are counted for the domain; None if all are.
        members: nodes by domain.

    """

    term: SpreadTerm
    tally: NodeTally
    hostname: bool
    ids: Ids
    size: int
    labelled: Bools | None
    eligible: Bools | None
    members: DomainMembers

    def sums(self, counts: Ints) -> Ints:
        """Return the number in each domain, shape (domains,); *counts* has the shape (nodes,)."""
        sums: Ints = np.zeros(self.size, dtype=np.int64)
        nodes = counts.nonzero()[0]
        if self.eligible is not None:
            nodes = nodes[self.eligible[nodes]]
        np.add.at(sums, self.ids[nodes], counts[nodes])
        return sums


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SoftSpread:
    """Constraints of equal pods.

    Attributes:
        rules: the constraints, at least one, in the order of the pod.
        scored: shape (nodes,): nodes with all topology keys, or None; other nodes are ignored.
        weight: factor of the normalised score.

    """

    rules: tuple[SoftRule, ...]
    scored: Bools | None
    weight: int

    def raw(self, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the raw scores of *nodes*: the indices of all feasible nodes.  *within* as for ``StatefulPlugin.filters``."""
        scored: Bools = np.ones(len(nodes), dtype=bool) if self.scored is None else self.scored[nodes]
        kept = nodes[scored]
        total = np.zeros(len(nodes))
        for rule in self.rules:
            counts = rule.tally.domains(within)[:-1]
            if rule.hostname:
                size, found = len(kept), counts[nodes]
            else:
                size, found = len(np.unique(rule.ids[kept])), rule.sums(counts)[rule.ids[nodes]]
            part = found * weight_of(size) + float(rule.term.skew - 1)
            total += part if rule.labelled is None else np.where(rule.labelled[nodes], part, 0.0)
        whole = np.floor(total)
        raw = (whole + (total - whole >= 0.5)).astype(np.int64)
        raw[~scored] = IGNORED
        return raw


class SpreadScoring(StatefulPlugin):
    """Mixin of a stateful plugin that scores nodes only by ``SoftSpread``: pods that it only scores are not placed one by one."""

    def __init__(self, counts: PodCounts, defaults: DefaultSpread = NO_DEFAULTS) -> None:
        """Prepare; *defaults* are the default spread constraints of pods."""
        super().__init__(counts)
        self.defaults = defaults

    @abc.abstractmethod
    def soft(self, pod: PodRecord) -> SoftSpread | None:
        """Return the constraints by which ``score`` scores nodes for *pod*, the same object for equal ones; None if it does not."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SpreadKind:
    """Pods that have the same constraints and that constraints with ScheduleAnyway count alike."""

    soft: SoftSpread | None
    counted_by: frozenset[NodeTally]


def normalise(raw: Ints) -> Ints:
    """Return the raw scores of all feasible nodes normalised to 0-100; a node with IGNORED gets 0."""
    kept = raw[raw != IGNORED]
    if not len(kept):
        return np.full_like(raw, WORST)
    least, most = int(kept.min()), int(kept.max())
    scaled = np.full_like(raw, BEST) if not most else BEST * (most + least - raw) // most
    return np.where(raw == IGNORED, WORST, scaled)


@functools.cache
def weight_of(size: int) -> float:
    """Return ln(*size* + 2), to the last bit as Go computes it (math.Log on amd64); C libraries differ in one of a hundred values."""
    fraction, exponent = math.frexp(size + 2)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_L[0] + s4 * (_L[2] + s4 * (_L[4] + s4 * _L[6])))
    even = s4 * (_L[1] + s4 * (_L[3] + s4 * _L[5]))
    half = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half - (s * (half + (odd + even)) + exponent * _LN2_LOW)) - f)


# Coefficients of the series (FreeBSD, e_log.c).
_L = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
