"""Refusal of pods with fields that can restrict the nodes of a pod and are not modelled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.options import is_ignored
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin


class UnmodelledFields(StaticPlugin):
    """Not a plugin of kube-scheduler.  *ignore* are field paths that do not refuse a pod, with or without indices."""

    name = "UnmodelledFields"

    def __init__(self, nodes: NodeTable, ignore: Iterable[str] = ()) -> None:
        super().__init__(nodes)
        self._ignore = frozenset(ignore)

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter that no node passes if *shape* has such a field."""
        refused = self.refused(shape.unmodelled)
        return [(refused.key, np.zeros(len(self.nodes), dtype=bool))] if refused is not None else []

    def refused(self, fields: Iterable[str]) -> UnmodelledField | None:
        """Return the reason to refuse every node to a pod with *fields*; None if all of them are ignored."""
        kept = tuple(field for field in fields if not is_ignored(field, self._ignore))
        return UnmodelledField(kept) if kept else None

    def without_ignored(self, shape: PodShape) -> PodShape:
        """Return *shape* without the requirements of ignored volumes."""
        if not shape.volumes or not self._ignore:
            return shape
        return dataclasses.replace(shape, volumes=tuple(each for each in shape.volumes if not is_ignored(each.field, self._ignore)))
