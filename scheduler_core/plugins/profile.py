"""The plugins in use over the nodes of a snapshot, and what they make of a shape: all that the fast paths of placement read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import Filters, NodeLocalPlugin, StaticScore
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ShapeProfile:
    """What the plugins make of a shape.

    Attributes:
        mask: shape (nodes,): where the static plugins let it run; None where they do everywhere.
        scores: static scores, which depend on which other nodes are feasible.
        local: slots and scores on a node by what runs there.
        one_by_one: whether its pods hang on what other pods have on the node but resources, so that each is placed by itself.
        rows: ``local.rows``, rows of what it requests.
        amounts: ``local.amounts``, shape (rows, 1): how much of each, above 0.

    """

    mask: Bools | None
    scores: tuple[StaticScore, ...]
    local: NodeLocalPlugin
    one_by_one: bool
    rows: Ints
    amounts: Ints

    @property
    def plain(self) -> bool:
        """Whether the score of a node does not depend on which other nodes are feasible."""
        return not self.scores


class Profile:
    """The plugins in use over a snapshot's nodes; each shape is compiled once."""

    def __init__(self, nodes: NodeTable, ignore: Iterable[str] = ()) -> None:
        """Fields in *ignore* are passed over though they are not modelled."""
        self.nodes = nodes
        self._fields = UnmodelledFields(nodes, ignore)
        self._static = (self._fields, *(plugin(nodes) for plugin in registry.STATIC))
        self._compiled: dict[int, ShapeProfile] = {}

    def compile(self, shape: PodShape) -> ShapeProfile:
        """What the plugins make of *shape*."""
        if (found := self._compiled.get(shape.serial)) is None:
            found = self._compiled[shape.serial] = self._compile(shape)
        return found

    def _compile(self, shape: PodShape) -> ShapeProfile:
        mask: Bools | None = None
        for _, each in self.filters(shape):
            mask = each if mask is None else mask & each
        scores = tuple(score for plugin in self._static if (score := plugin.score(shape)) is not None)
        local = registry.NODE_LOCAL(shape)
        return ShapeProfile(mask, scores, local, registry.one_by_one(shape), local.rows, local.amounts)

    def filters(self, shape: PodShape) -> Filters:
        """The static filters that keep *shape* off some node, in upstream's order: why, and where it may run."""
        return [each for plugin in self._static for each in plugin.filters(shape)]

    def refused(self, fields: Iterable[str]) -> str:
        """Why a pod with *fields*, which are not modelled, is not placed at all; empty if all of them are to be ignored."""
        return self._fields.refusal(fields)
