"""Changes of the pods that wait: what they tolerate and select, and what holds them back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from scheduler_core.model.decision import Step
from scheduler_core.model.pods import PodShape
from scheduler_core.model.wire import Affinity, NodeAffinity, PodAffinity, Taint, Toleration
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.edits import RELAXED, Weight
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclasses.dataclass(frozen=True, slots=True)
class Respecified:
    """Pods that wait are written otherwise: a taint tolerated, a selector dropped, a gate removed."""

    pods: tuple[str, ...]
    words: str
    change: Callable[[Content], None]
    """Of a pod's spec as it is written; and the same of its shape:"""
    reshape: Callable[[PodShape], PodShape]
    far: int = 0

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return RELAXED, self.far

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        found = []
        for key in self.pods:
            if (pod := pod_of(book, key)) is None:
                return None
            self.change(pod.setdefault("spec", {}))
            found.append(Step(apply=pod))
        return tuple(found)


def tolerating(pods: Sequence[str], taint: Taint, who: str) -> Respecified:
    """Pods tolerate one taint."""
    written = f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"

    def change(spec: Content) -> None:
        more = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), more | ({"value": taint.value} if taint.value else {})]

    def reshape(shape: PodShape) -> PodShape:
        more = Toleration(key=taint.key, operator="Equal" if taint.value else "Exists", effect=taint.effect, value=taint.value)
        return dataclasses.replace(shape, tolerations=(*shape.tolerations, more))

    return Respecified(tuple(pods), f"taint {written} tolerated by the pods of {who}", change, reshape)


def unselecting(pods: Sequence[str], what: str, who: str) -> Respecified:
    """Pods without their node selector and required node affinity."""

    def change(spec: Content) -> None:
        spec.pop("nodeSelector", None)
        section(section(spec, "affinity"), "nodeAffinity").pop(_REQUIRED, None)

    def reshape(shape: PodShape) -> PodShape:
        affinity = shape.affinity
        if affinity is not None and affinity.node_affinity is not None:
            preferred = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
            only = NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
            affinity = Affinity(only, affinity.pod_affinity, affinity.pod_anti_affinity)
        return dataclasses.replace(shape, node_selector=(), affinity=affinity)

    return Respecified(tuple(pods), f"{what} of the pods of {who} dropped", change, reshape, 1)


def unrelated(pods: Sequence[str], who: str) -> Respecified:
    """Pods without what they demand of other pods: required affinity and anti-affinity, spread."""

    def change(spec: Content) -> None:
        for side in ("podAffinity", "podAntiAffinity"):
            section(section(spec, "affinity"), side).pop(_REQUIRED, None)
        spread = spec.get("topologySpreadConstraints") or ()
        spec["topologySpreadConstraints"] = [each for each in spread if each.get("whenUnsatisfiable") == "ScheduleAnyway"]

    def reshape(shape: PodShape) -> PodShape:
        affinity = shape.affinity
        if affinity is not None:
            affinity = Affinity(affinity.node_affinity, _preferring(affinity.pod_affinity), _preferring(affinity.pod_anti_affinity))
        soft = tuple(each for each in shape.spread if each.when_unsatisfiable == "ScheduleAnyway")
        return dataclasses.replace(shape, affinity=affinity, spread=soft)

    return Respecified(tuple(pods), f"pod affinity, anti-affinity and spread of the pods of {who} dropped", change, reshape, 2)


def ungated(pods: Sequence[str], who: str) -> Respecified:
    """Pods without scheduling gates."""

    def change(spec: Content) -> None:
        spec.pop("schedulingGates", None)

    return Respecified(tuple(pods), f"scheduling gates of the pods of {who} removed", change, lambda shape: shape, 3)


def _preferring(side: PodAffinity | None) -> PodAffinity | None:
    if side is None:
        return None
    return PodAffinity(preferred_during_scheduling_ignored_during_execution=side.preferred_during_scheduling_ignored_during_execution)
