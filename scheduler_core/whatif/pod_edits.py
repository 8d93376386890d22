"""Changes of the pods that wait: what they tolerate and select, and what holds them back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from scheduler_core.decision import Step
from scheduler_core.whatif.book import Book, Content
from scheduler_core.whatif.edits import RELAXED, Weight
from scheduler_core.whatif.writing import pod_of, section
from scheduler_core.wire import Taint

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclasses.dataclass(frozen=True, slots=True)
class Respecified:
    """Pods that wait are written otherwise: a taint tolerated, a selector dropped, a gate removed."""

    pods: tuple[str, ...]
    words: str
    change: Callable[[Content], None]
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

    return Respecified(tuple(pods), f"taint {written} tolerated by the pods of {who}", change)


def unselecting(pods: Sequence[str], what: str, who: str) -> Respecified:
    """Pods without their node selector and required node affinity."""

    def change(spec: Content) -> None:
        spec.pop("nodeSelector", None)
        section(section(spec, "affinity"), "nodeAffinity").pop(_REQUIRED, None)

    return Respecified(tuple(pods), f"{what} of the pods of {who} dropped", change, 1)


def unrelated(pods: Sequence[str], who: str) -> Respecified:
    """Pods without what they demand of other pods: required affinity and anti-affinity, spread."""

    def change(spec: Content) -> None:
        for side in ("podAffinity", "podAntiAffinity"):
            section(section(spec, "affinity"), side).pop(_REQUIRED, None)
        spread = spec.get("topologySpreadConstraints") or ()
        spec["topologySpreadConstraints"] = [each for each in spread if each.get("whenUnsatisfiable") == "ScheduleAnyway"]

    return Respecified(tuple(pods), f"pod affinity, anti-affinity and spread of the pods of {who} dropped", change, 2)


def ungated(pods: Sequence[str], who: str) -> Respecified:
    """Pods without scheduling gates."""
    return Respecified(tuple(pods), f"scheduling gates of the pods of {who} removed", lambda spec: spec.pop("schedulingGates", None), 3)
