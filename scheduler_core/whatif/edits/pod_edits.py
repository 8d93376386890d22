"""Changes of pending pods: tolerations, selectors, affinities, scheduling gates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Sequence

from kubeapi.nodes import Taint
from scheduler_core.causes.changes import DroppedPodRules, DroppedSelectors, Relaxation, RemovedGates, ToleratedTaint
from scheduler_core.model.decision import Step
from scheduler_core.model.names import Name
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.edits import RELAXED, Both, Edit, Weight, combine
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclasses.dataclass(frozen=True, slots=True)
class Respecified:
    """Pending pods with another spec: a taint tolerated, a selector dropped, a gate removed."""

    pods: tuple[str, ...]
    change: Relaxation
    respecify: Callable[[Content], None]
    """The change of a pod's spec."""
    extent: int = 0

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return RELAXED, self.extent

    def steps(self, book: Book) -> tuple[Step, ...]:
        """See Edit."""
        result = []
        for key in self.pods:
            if (pod := pod_of(book, key)) is None:
                return ()
            self.respecify(pod.setdefault("spec", {}))
            result.append(Step(apply=pod))
        return tuple(result)


def restricted(edit: Edit, pods: Container[str]) -> Edit | None:
    """Return *edit* with changes of the specs of *pods* alone; None if it then changes nothing."""
    match edit:
        case Both():
            first, second = restricted(edit.first, pods), restricted(edit.second, pods)
            return first if second is None else combine(first, second)
        case Respecified():
            kept = tuple(pod for pod in edit.pods if pod in pods)
            return dataclasses.replace(edit, pods=kept) if kept else None
    return edit


def tolerating(pods: Sequence[str], taint: Taint, owner: Name) -> Respecified:
    """Return the edit that makes pods tolerate one taint."""

    def respecify(spec: Content) -> None:
        toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration | ({"value": taint.value} if taint.value else {})]

    return Respecified(tuple(pods), ToleratedTaint(taint, owner), respecify)


def unselecting(pods: Sequence[str], owner: Name) -> Respecified:
    """Return the edit that drops node selector and required node affinity of pods."""

    def respecify(spec: Content) -> None:
        spec.pop("nodeSelector", None)
        section(section(spec, "affinity"), "nodeAffinity").pop(_REQUIRED, None)

    return Respecified(tuple(pods), DroppedSelectors(owner), respecify, 1)


def unrelated(pods: Sequence[str], owner: Name) -> Respecified:
    """Return the edit that drops requirements on other pods: required affinity and anti-affinity, spread."""

    def respecify(spec: Content) -> None:
        for side in ("podAffinity", "podAntiAffinity"):
            section(section(spec, "affinity"), side).pop(_REQUIRED, None)
        spread = spec.get("topologySpreadConstraints") or ()
        spec["topologySpreadConstraints"] = [each for each in spread if each.get("whenUnsatisfiable") == "ScheduleAnyway"]

    return Respecified(tuple(pods), DroppedPodRules(owner), respecify, 2)


def ungated(pods: Sequence[str], owner: Name) -> Respecified:
    """Return the edit that removes scheduling gates of pods."""

    def respecify(spec: Content) -> None:
        spec.pop("schedulingGates", None)

    return Respecified(tuple(pods), RemovedGates(owner), respecify, 3)
