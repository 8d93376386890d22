"""Trials of scaling an object at PATH: the largest number with which it fits, and what is missing for one more."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.contents import Content, parsed
from expansion.expanded import Expanded
from expansion.scaling import AUTOSCALERS, ScaledField, scaled_fields, with_number
from kubeapi.decode import encode
from kubeapi.gather import gather
from kubeapi.gathered import GatheredObjects, Given, ObjectList
from kubeapi.names import Name
from muster.commands.fit import verdict
from muster.commands.fit.judged import Judged, Scale
from muster.commands.simulate import own_objects, simulation
from muster.commands.simulate.completed_input import ClusterInput
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import SimulationRequest
from muster.render.answer import Answer
from muster.render.object_results import Kind
from muster.render.tree_rows import Kinship
from scheduler_core.cycle.run_cycle import run_cycles
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.raw_objects import Book
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS


class ScaleTrials:
    """Trials with other numbers in the objects at PATH; *snapshot* was loaded from ``inputs.objects``."""

    def __init__(self, inputs: ClusterInput, snapshot: ClusterSnapshot, request: SimulationRequest, kinship: Kinship) -> None:
        self._inputs, self._snapshot, self._request, self._kinship = inputs, snapshot, request, kinship
        self._cluster = Book(inputs.objects).cluster(snapshot)
        self._given, self._kinds = _opened(inputs.given)

    def scales(self, judge: Callable[[ClusterInput], Judged]) -> Iterator[Scale]:
        """Yield how far each object can be scaled; *judge* returns the result of other inputs."""
        autoscalers = [content for each in (*self._kinds, *_opened(self._inputs.known)[1]) if (content := _autoscaler(each)) is not None]
        for index, manifest in enumerate(self._given):
            for field in scaled_fields(manifest, autoscalers):
                yield self._scale(index, field, judge)

    def _scale(self, index: int, field: ScaledField, judge: Callable[[ClusterInput], Judged]) -> Scale:
        most = MAX_PODS if field.most is None else field.most
        largest = self._largest(index, field, most)
        if largest is None or largest >= most:
            return Scale(field, largest, is_limit=largest is not None)
        expanded = self._expanded(index, field, largest + 1)
        return Scale(field, largest, is_limit=False, more=judge(self._inputs.rescaled(expanded)))

    def _largest(self, index: int, field: ScaledField, most: int) -> int | None:
        """Return the largest number that fits, found by doubling and bisection; None if not even the smallest one does."""
        low, high = -1, most + 1
        step = max(1, min(field.now, most))
        while step <= most and low < most:
            if not self._fits(index, field, step):
                high = step
                break
            low, step = step, min(step * 2, most) if step < most else most + 1
        while high - max(low, field.least - 1, 0) > 1:
            middle = (max(low, field.least - 1, 0) + high) // 2
            if self._fits(index, field, middle):
                low = middle
            else:
                high = middle
        return None if low < 0 else low

    def _fits(self, index: int, field: ScaledField, number: int) -> bool:
        expanded = self._expanded(index, field, number)
        if expanded.refused or expanded.skipped:
            return False
        base = self._inputs.own or Own(frozenset(), frozenset())
        own = Own.from_names(expanded.names, (), expanded.origins)
        if own is None:
            return False
        created = [each for each in expanded.objects if isinstance(each, dict) and own.origins.get(_name(each)) == field.owner]
        fork, kept = self._cluster.fork(), {*map(_name, created)}
        for name, origin in base.origins.items():
            if origin == field.owner and name not in kept:
                fork.remove(name.kind, name.namespace, name.name)
        fork.apply(*created)
        changed, cycle = fork.snapshot(), dataclasses.replace(self._request.cycle, progress=None)
        result = run_cycles(changed, cycle, simulation.unsettled(own), most=simulation.most_cycles(changed))
        mine = own_objects.restricted(Answer.from_decisions(result.decisions, result.pending), changed, own)
        return verdict.judge(mine, own, self._kinship).kind is Kind.FITS

    def _expanded(self, index: int, field: ScaledField, number: int) -> Expanded:
        # As text, fields keep their order, on which the names of pods depend.
        changed = (with_number(each, field.path, number) if place == index else each for place, each in enumerate(self._given))
        return self._inputs.expand_again(map(encode, changed))


def _opened(objects: Sequence[Given]) -> tuple[list[Content], list[GatheredObjects]]:
    """Return the objects of all kinds as parsed JSON, and those that are of no kind that placement reads."""
    others = ObjectList()
    kinds, _ = gather(objects, others)
    listed: Iterable[GatheredObjects] = (each for several in (*kinds.values(), others) for each in several)
    return [content for each in listed if (content := parsed(each)) is not None], [*others]


def _autoscaler(gathered: GatheredObjects) -> Content | None:
    return parsed(gathered) if gathered.kind in AUTOSCALERS else None


def _name(content: Content) -> Name:
    metadata = content["metadata"]
    return Name(content["kind"], str(metadata.get("namespace") or "default"), str(metadata["name"]))
