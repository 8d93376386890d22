"""Pods with fields that can keep them off a node and are not modelled: they pass nowhere, unless the field is to be ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin

_INDEX = re.compile(r"\[\d+\]")


class UnmodelledFields(StaticPlugin):
    """No plugin of kube-scheduler's: the limit of what is modelled of it.  *ignore* are field paths, with or without indices."""

    name = "UnmodelledFields"

    def __init__(self, nodes: NodeTable, ignore: Iterable[str] = ()) -> None:
        super().__init__(nodes)
        self._ignore = frozenset(ignore)

    def filters(self, shape: PodShape) -> Filters:
        """One that no node passes, where there is such a field."""
        refusal = self.refusal(shape.unmodelled)
        return [(refusal, np.zeros(len(self.nodes), dtype=bool))] if refusal else []

    def refusal(self, fields: Iterable[str]) -> str:
        """Why a pod with *fields*, which are not modelled, is not placed at all; empty if all of them are to be ignored."""
        kept = [field for field in fields if field not in self._ignore and _INDEX.sub("", field) not in self._ignore]
        if not kept:
            return ""
        return f"{' and '.join(kept)} can keep the pod off a node and is not modelled (to place it all the same: --ignore {_INDEX.sub('', kept[0])})"
