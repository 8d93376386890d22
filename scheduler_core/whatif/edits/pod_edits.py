"""Changes of pending pods: tolerations, selectors, affinities, scheduling gates."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from kubeapi.affinity import Affinity
from kubeapi.base_structs import Record, replaced
from kubeapi.nodes import Taint
from scheduler_core.causes.changes import DroppedPodRules, DroppedSelectors, Relaxation, RemovedGates, ToleratedTaint
from scheduler_core.causes.domains import PodRule
from scheduler_core.model.decision import Step
from scheduler_core.model.names import Name
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.edits import RELAXED, Both, Edit, Weight, combine
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book

_RULES = (PodRule.AFFINITY, PodRule.ANTI_AFFINITY, PodRule.SPREAD)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Respecified(Record, frozen=True):
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
            return replaced(edit, pods=kept) if kept else None
    return edit


def tolerating(pods: Sequence[str], taint: Taint, owner: Name) -> Respecified:
    """Return the edit that makes pods tolerate one taint."""

    def respecify(spec: Content) -> None:
        toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration | ({"value": taint.value} if taint.value else {})]

    return Respecified(tuple(pods), ToleratedTaint(taint, owner), respecify)


def selects_nodes(shape: PodShape) -> tuple[bool, bool]:
    """Return whether a pod has a node selector, and whether it requires node affinity."""
    affinity = shape.affinity.node_affinity if shape.affinity else None
    return bool(shape.node_selector), bool(affinity and affinity.required_during_scheduling_ignored_during_execution)


def unselecting(pods: Sequence[PodRecord], owner: Name) -> Respecified:
    """Return the edit that drops node selector and required node affinity of pods."""
    selectors, affinities = map(any, zip(*(selects_nodes(pod.shape) for pod in pods), strict=True))

    def respecify(spec: Content) -> None:
        spec.pop("nodeSelector", None)
        section(section(spec, "affinity"), "nodeAffinity").pop(_REQUIRED, None)

    return Respecified(tuple(pod.key for pod in pods), DroppedSelectors(owner, selectors, affinities), respecify, 1)


def rules_about_pods(shape: PodShape) -> frozenset[PodRule]:
    """Return which requirements a pod has on other pods."""
    affinity = shape.affinity or Affinity()
    rules = {PodRule.SPREAD} if any(each.when_unsatisfiable != "ScheduleAnyway" for each in shape.spread) else set()
    for rule, side in ((PodRule.AFFINITY, affinity.pod_affinity), (PodRule.ANTI_AFFINITY, affinity.pod_anti_affinity)):
        if side is not None and side.required_during_scheduling_ignored_during_execution:
            rules.add(rule)
    return frozenset(rules)


def unrelated(pods: Sequence[PodRecord], owner: Name) -> Respecified:
    """Return the edit that drops requirements on other pods: required affinity and anti-affinity, spread."""
    rules = frozenset[PodRule]().union(*(rules_about_pods(pod.shape) for pod in pods))

    def respecify(spec: Content) -> None:
        for side in ("podAffinity", "podAntiAffinity"):
            section(section(spec, "affinity"), side).pop(_REQUIRED, None)
        spread = spec.get("topologySpreadConstraints") or ()
        spec["topologySpreadConstraints"] = [each for each in spread if each.get("whenUnsatisfiable") == "ScheduleAnyway"]

    dropped = DroppedPodRules(owner, tuple(rule for rule in _RULES if rule in rules))
    return Respecified(tuple(pod.key for pod in pods), dropped, respecify, 2)


def ungated(pods: Sequence[str], owner: Name) -> Respecified:
    """Return the edit that removes scheduling gates of pods."""

    def respecify(spec: Content) -> None:
        spec.pop("schedulingGates", None)

    return Respecified(tuple(pods), RemovedGates(owner), respecify, 3)
