"""Enabled plugins over the nodes of a snapshot, compiled for each pod shape; the fast paths of placement read nothing else."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.model.nodes import Bools, Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import NO_REFUSAL, Filters, NamedFilter, NodeLocalPlugin, Refusal, StaticPlugin, StaticScore
from scheduler_core.plugins.unmodelled_fields import UnmodelledFields


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ShapeProfile:
    """Verdict of the plugins on pods of one shape.

    Attributes:
        mask: shape (nodes,): nodes that pass the static filters; None if all do.
        scores: normalised static scores; their normalisation depends on the set of feasible nodes.
        local: node-local plugin: pods that fit on a node, and their scores.
        one_by_one: True if a ledger plugin applies, so that the pods are placed one by one.
        rows: ``local.rows``: rows of NodeTable.resources that a pod requests.
        amounts: ``local.amounts``, shape (rows, 1): how much of each, above 0.
        bonus: shape (nodes,): weighted sum of the static scores that are not normalised; None if they do not distinguish nodes.

    """

    mask: Bools | None
    scores: tuple[StaticScore, ...]
    local: NodeLocalPlugin
    one_by_one: bool
    rows: Ints
    amounts: Ints
    bonus: Ints | None = None

    def bonus_at(self, nodes: Nodes) -> Ints | None:
        """Return ``bonus`` of *nodes* (indices)."""
        return None if self.bonus is None else self.bonus[nodes]

    @property
    def plain(self) -> bool:
        """Return whether the score of a node is independent of the set of feasible nodes."""
        return not self.scores


class Profile:
    """Enabled plugins over the nodes of a snapshot; each shape is compiled once."""

    def __init__(self, nodes: NodeTable, ignore: Iterable[str] = ()) -> None:
        """Prepare the plugins; fields in *ignore* do not refuse a pod although they are not modelled."""
        self.nodes = nodes
        self._fields = UnmodelledFields(nodes, ignore)
        self._static: tuple[StaticPlugin, ...] = (self._fields, *(plugin(nodes) for plugin in registry.STATIC))
        self._without_claims = tuple(plugin for plugin in self._static if type(plugin) not in registry.OF_CLAIMS)
        self._compiled: dict[int, ShapeProfile] = {}

    def compile(self, shape: PodShape) -> ShapeProfile:
        """Return the verdict of the plugins on *shape*."""
        if (compiled := self._compiled.get(shape.serial)) is None:
            compiled = self._compiled[shape.serial] = self._compile(shape)
        return compiled

    def forget(self, serials: Iterable[int]) -> None:
        """Compile the shapes with these serials again on their next use."""
        for each in serials:
            self._compiled.pop(each, None)

    def _compile(self, shape: PodShape) -> ShapeProfile:
        mask: Bools | None = None
        for _, each in self.filters(shape):
            mask = each if mask is None else mask & each
        scores = tuple(self._scores(shape))
        fixed = [score.weight * score.raw for score in scores if score.fixed]
        scores = tuple(score for score in scores if not score.fixed)
        bonus = np.sum(fixed, axis=0) if fixed else None
        local = registry.NODE_LOCAL(shape, self.nodes.scored)
        return ShapeProfile(mask, scores, local, registry.one_by_one(shape), local.rows, local.amounts, bonus)

    def _scores(self, shape: PodShape) -> Iterator[StaticScore]:
        for plugin in self._concerning(shape):
            weight = shape.profile.weight(plugin.name, plugin.weight)
            if weight and (score := plugin.score(shape)) is not None:
                yield score if score.weight == weight else dataclasses.replace(score, weight=weight)

    def pre_filter(self, shape: PodShape) -> str:
        """Return the reason that excludes all nodes without a look at them (PreFilter); empty if there is none."""
        return self.pre_filter_by_plugin(shape).reason

    def pre_filter_by_plugin(self, shape: PodShape) -> Refusal:
        """Return the same with the name of its plugin."""
        if self._concerning(shape) is self._without_claims:
            return NO_REFUSAL
        shape = self._fields.without_ignored(shape)
        refusals = (Refusal(plugin.name, plugin.pre_filter(shape)) for plugin in self._filtering(shape))
        return next((each for each in refusals if each.reason), NO_REFUSAL)

    def reaches(self, plugin: str, shape: PodShape) -> bool:
        """Return whether the PreFilter of *plugin* is called: no plugin before it excludes all nodes."""
        shape = self._fields.without_ignored(shape)
        before = itertools.takewhile(lambda each: each.name != plugin, self._filtering(shape))
        return len(self.nodes) > 0 and not any(each.pre_filter(shape) for each in before)

    def filters(self, shape: PodShape, *, last: bool | None = None) -> Filters:
        """Return the static filters that can refuse a node to *shape*, in kube-scheduler's order.

        Only those of plugins that filter before the plugins of other kinds (*last* False), or after them (*last* True); None: all.
        """
        return [(refusal.reason, mask) for refusal, mask in self.filters_by_plugin(shape, last=last)]

    def filters_by_plugin(self, shape: PodShape, *, last: bool | None = None) -> list[NamedFilter]:
        """Return the same with the name of each filter's plugin."""
        if (refusal := self.pre_filter_by_plugin(shape)).reason:
            return [] if last else [(refusal, np.zeros(len(self.nodes), dtype=bool))]
        shape = self._fields.without_ignored(shape)
        enabled = (plugin for plugin in self._filtering(shape) if last in (None, plugin.last))
        return [(Refusal(plugin.name, reason), mask) for plugin in enabled for reason, mask in plugin.filters(shape)]

    def _filtering(self, shape: PodShape) -> Sequence[StaticPlugin]:
        plugins = self._concerning(shape)
        return [plugin for plugin in plugins if shape.profile.filters(plugin.name)] if shape.profile.disabled else plugins

    def _concerning(self, shape: PodShape) -> Sequence[StaticPlugin]:
        """Return the plugins that can have a verdict on *shape*."""
        return self._static if shape.volumes or shape.devices else self._without_claims

    def refused(self, fields: Iterable[str]) -> UnmodelledField | None:
        """Return the reason to refuse every node to a pod with *fields*, which are not modelled; None if all of them are ignored."""
        return self._fields.refused(fields)
