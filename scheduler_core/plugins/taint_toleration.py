"""TaintToleration: filters by NoSchedule and NoExecute taints, scores by PreferNoSchedule taints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kubeapi.devices import DeviceTaint
from kubeapi.nodes import Taint
from kubeapi.pods import Toleration
from kubeapi.resource_claims import DeviceToleration
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.selector_clause import parse_integer
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
        tolerations = Tolerations(shape.tolerations)
        for index, taints in enumerate(self._sets):
            for taint in taints:
                if taint.effect in HARD and not tolerations.cover(taint):
                    first.setdefault(taint_reason(taint), []).append(index)
                    break
        return [(reason, ~np.isin(self._ids, indices)) for reason, indices in sorted(first.items())]

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the number of PreferNoSchedule taints that tolerations of this or of every effect do not cover (PreScore)."""
        if not self._tainted:
            return None
        soft = Tolerations(each for each in shape.tolerations if each.effect in {"", "PreferNoSchedule"})
        counts = [sum(1 for taint in taints if taint.effect == "PreferNoSchedule" and not soft.cover(taint)) for taints in self._sets]
        if not any(counts):
            return None
        return StaticScore(np.array(counts, dtype=np.int64)[self._ids], self.weight, reverse=True)


class Tolerations:
    """Tolerations of a pod, or of a request for devices, so that a test takes no longer with many of them.

    ``Lt`` and ``Gt`` of core/v1 Toleration compare numbers.
    """

    def __init__(self, tolerations: Iterable[Toleration | DeviceToleration]) -> None:
        self._whole: set[tuple[str, str]] = set()
        """Keys and effects of which all values are tolerated."""
        self._values: set[tuple[str, str, str]] = set()
        self._below: dict[tuple[str, str], int] = {}
        self._above: dict[tuple[str, str], int] = {}
        for each in tolerations:
            self._add(each)

    def _add(self, toleration: Toleration | DeviceToleration) -> None:
        about = toleration.key, toleration.effect
        bound = parse_integer(toleration.value)
        match toleration.operator or "Equal":
            case "Equal":
                self._values.add((*about, toleration.value))
            case "Exists":
                self._whole.add(about)
            case "Lt" if bound is not None:
                self._below[about] = max(bound, self._below.get(about, bound))
            case "Gt" if bound is not None:
                self._above[about] = min(bound, self._above.get(about, bound))

    def cover(self, taint: Taint | DeviceTaint) -> bool:
        """Return whether one of them covers *taint*; an empty key or effect is that of every taint."""
        return any(self._cover((key, effect), taint.value) for key in {taint.key, ""} for effect in {taint.effect, ""})

    def _cover(self, about: tuple[str, str], value: str) -> bool:
        if about in self._whole or (*about, value) in self._values:
            return True
        if about not in self._below and about not in self._above:
            return False
        number = parse_integer(value)
        return number is not None and (number < self._below.get(about, number) or number > self._above.get(about, number))


def taint_reason(taint: Taint) -> str:
    """Return kube-scheduler's reason for an untolerated taint."""
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
