"""Where a pod of some shape may run, as far as that does not depend on what runs there already.

The filters of kube-scheduler's default profile that look at the node alone: NodeUnschedulable, TaintToleration, NodeAffinity;
and the scores that need normalising: TaintToleration (PreferNoSchedule) and NodeAffinity (preferred terms).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.nodes import PODS, Bools, Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.wire import Taint, Toleration

UNSCHEDULABLE = "node(s) were unschedulable"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_INDEX = re.compile(r"\[\d+\]")
_HARD = frozenset({"NoSchedule", "NoExecute"})


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StaticFit:
    """What a shape makes of each node, whatever runs there.

    Attributes:
        mask: shape (nodes,): may it run there; None where it may everywhere.
        taints: shape (nodes,): PreferNoSchedule taints it does not tolerate; None where there are none.
        preferred: shape (nodes,): weights of the preferred node affinity terms that match; None without such terms.
        rows: rows of what it requests.
        amounts: shape (rows, 1): how much of each, above 0.

    """

    mask: Bools | None
    taints: Ints | None
    preferred: Ints | None
    rows: Ints
    amounts: Ints

    @property
    def plain(self) -> bool:
        """Whether the score of a node does not depend on which other nodes are feasible."""
        return self.taints is None and self.preferred is None


class StaticFilters:
    """Static fits of a snapshot's nodes, each shape looked at once."""

    def __init__(self, nodes: NodeTable, ignore: Iterable[str] = ()) -> None:
        self.nodes = nodes
        self._ignore = frozenset(ignore)
        self._found: dict[int, StaticFit] = {}
        sets = sorted(set(nodes.taints), key=repr)
        number = {taints: index for index, taints in enumerate(sets)}
        self._taint_sets = sets
        self._taint_ids: Ints = np.array([number[taints] for taints in nodes.taints], dtype=np.int64)
        self._cordoned = bool(nodes.unschedulable.any())
        self._tainted = any(sets)

    def static(self, shape: PodShape) -> StaticFit:
        """What *shape* makes of each node."""
        if (found := self._found.get(shape.serial)) is None:
            found = self._found[shape.serial] = self._static(shape)
        return found

    def _static(self, shape: PodShape) -> StaticFit:
        mask: Bools | None = None
        for _, each in self.filters(shape):
            mask = each if mask is None else mask & each
        rows = np.array([row for row, _ in shape.requests], dtype=np.int64)
        amounts = np.array([[amount] for _, amount in shape.requests], dtype=np.int64)
        return StaticFit(mask, self._untolerated(shape), self._preferred(shape), rows, amounts)

    def filters(self, shape: PodShape) -> list[tuple[str, Bools]]:
        """The filters that keep *shape* off some node, in upstream's order: why, and where it may run."""
        found: list[tuple[str, Bools]] = []
        if refused := self.refused(shape.unmodelled):
            found.append((refused, np.zeros(len(self.nodes), dtype=bool)))
        if self._cordoned and not tolerates(shape.tolerations, _CORDON):
            found.append((UNSCHEDULABLE, ~self.nodes.unschedulable))
        if self._tainted:
            found += self._taint_filters(shape)
        chosen = self._selected(shape)
        if chosen is not None:
            found.append((AFFINITY, chosen))
        return found

    def refused(self, fields: Iterable[str]) -> str:
        """Why a pod with *fields*, which are not modelled, is not placed at all; empty if all of them are to be ignored."""
        kept = [field for field in fields if field not in self._ignore and _INDEX.sub("", field) not in self._ignore]
        if not kept:
            return ""
        return f"{' and '.join(kept)} can keep the pod off a node and is not modelled (to place it all the same: --ignore {_INDEX.sub('', kept[0])})"

    def _taint_filters(self, shape: PodShape) -> list[tuple[str, Bools]]:
        """One filter for each taint that is the first on a node to keep the shape away."""
        first: dict[str, list[int]] = {}
        for index, taints in enumerate(self._taint_sets):
            for taint in taints:
                if taint.effect in _HARD and not tolerates(shape.tolerations, taint):
                    first.setdefault(taint_reason(taint), []).append(index)
                    break
        return [(reason, ~np.isin(self._taint_ids, indices)) for reason, indices in sorted(first.items())]

    def _selected(self, shape: PodShape) -> Bools | None:
        mask: Bools | None = None
        if shape.node_selector:
            mask = selectors.simple_mask(shape.node_selector, self.nodes)
        affinity = shape.affinity.node_affinity if shape.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is not None:
            found = selectors.node_mask(required, self.nodes)
            mask = found if mask is None else mask & found
        return mask

    def _preferred(self, shape: PodShape) -> Ints | None:
        affinity = shape.affinity.node_affinity if shape.affinity else None
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
        return selectors.preferred_scores(terms, self.nodes) if terms else None

    def _untolerated(self, shape: PodShape) -> Ints | None:
        """PreferNoSchedule taints are tolerated by tolerations of that effect or of every effect (TaintToleration's PreScore)."""
        if not self._tainted:
            return None
        soft = [each for each in shape.tolerations if each.effect in {"", "PreferNoSchedule"}]
        counts = [
            sum(1 for taint in taints if taint.effect == "PreferNoSchedule" and not tolerates(soft, taint)) for taints in self._taint_sets
        ]
        return np.array(counts, dtype=np.int64)[self._taint_ids] if any(counts) else None


def tolerates(tolerations: list[Toleration] | tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether one of *tolerations* covers *taint* (core/v1 Toleration; ``Lt`` and ``Gt`` compare numbers)."""
    return any(_covers(each, taint) for each in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" as operator:
            return _compares(operator, toleration.value, taint.value)
        case _:
            return False


def _compares(operator: str, limit: str, value: str) -> bool:
    """Taint value against toleration value, both whole numbers (KEP-5471, numeric tolerations)."""
    number, bound = selectors.parse_integer(value), selectors.parse_integer(limit)
    if number is None or bound is None:
        return False
    return number < bound if operator == "Lt" else number > bound


def taint_reason(taint: Taint) -> str:
    """As kube-scheduler words it."""
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


def resource_reason(nodes: NodeTable, row: int) -> str:
    """As kube-scheduler words it."""
    return TOO_MANY_PODS if row == PODS else f"Insufficient {nodes.resources[row]}"
