"""TaintToleration: filters by NoSchedule and NoExecute taints, scores by PreferNoSchedule taints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.wire import Taint, Toleration
from scheduler_core.plugins.base import Filters, StaticPlugin, StaticScore

HARD = frozenset({"NoSchedule", "NoExecute"})
"""Effects that refuse a node."""


class TaintToleration(StaticPlugin):
    """Taints of nodes; each distinct set of taints is evaluated once for a shape."""

    name = "TaintToleration"
    weight = 3

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._sets = sorted(set(nodes.taints), key=repr)
        number = {taints: index for index, taints in enumerate(self._sets)}
        self._ids: Ints = np.array([number[taints] for taints in nodes.taints], dtype=np.int64)
        self._tainted = any(self._sets)

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter for each taint that is the first on a node to refuse *shape*."""
        first: dict[str, list[int]] = {}
        for index, taints in enumerate(self._sets):
            for taint in taints:
                if taint.effect in HARD and not tolerates(shape.tolerations, taint):
                    first.setdefault(taint_reason(taint), []).append(index)
                    break
        return [(reason, ~np.isin(self._ids, indices)) for reason, indices in sorted(first.items())]

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the number of PreferNoSchedule taints that tolerations of this or of every effect do not cover (PreScore)."""
        if not self._tainted:
            return None
        soft = [each for each in shape.tolerations if each.effect in {"", "PreferNoSchedule"}]
        counts = [sum(1 for taint in taints if taint.effect == "PreferNoSchedule" and not tolerates(soft, taint)) for taints in self._sets]
        if not any(counts):
            return None
        return StaticScore(np.array(counts, dtype=np.int64)[self._ids], self.weight, reverse=True)


def tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Return whether one of *tolerations* covers *taint* (core/v1 Toleration; ``Lt`` and ``Gt`` compare numbers)."""
    return any(_covers(each, taint) for each in tolerations)


def taint_reason(taint: Taint) -> str:
    """Return kube-scheduler's reason for an untolerated taint."""
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


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
    """Compare taint value and toleration value, both whole numbers (KEP-5471, numeric tolerations)."""
    number, bound = selectors.parse_integer(value), selectors.parse_integer(limit)
    if number is None or bound is None:
        return False
    return number < bound if operator == "Lt" else number > bound
