"""Priority of a pod or group on creation, as the API server's Priority plugin sets it (Kubernetes 1.37.1; KEP-6012, Spec).

Priority, class name and preemption policy come from the named PriorityClass, or from the global default.  The raw spec is
changed in place; values that contradict the class are a Refusal.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from kubeapi.priority import PREEMPT_LOWER_PRIORITY, PREEMPTION_POLICIES, PriorityClass
from validators.gates import PREEMPTION_POLICY, Gates
from validators.object_lookup import Lookup

_SUBJECT = {"PodGroup": "pod group", "CompositePodGroup": "composite pod group", "Pod": "pod"}


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal with code 403: the plugin's message, and the id of the rule with the same requirement."""

    text: str
    rule: str


@dataclasses.dataclass(frozen=True, slots=True)
class Priority:
    """Values that a PriorityClass gives to a spec."""

    name: str
    value: int
    policy: str


def resolve(kind: str, spec: dict[str, Any], lookup: Lookup, gates: Gates) -> Refusal | None:
    """Set priority, class name and preemption policy in a raw *spec*; leave it unchanged if no PriorityClass is known."""
    classes = lookup.list_kind("PriorityClass")
    if classes is None:
        return None
    priority = _computed(spec.get("priorityClassName") or "", lookup, [each for each in classes if isinstance(each, PriorityClass)])
    if isinstance(priority, Refusal):
        return priority
    given = spec.get("priority")
    if given is not None and given != priority.value:
        return Refusal(_number_text(kind, given, priority.value), "priority-resolves")
    if priority.name or "priorityClassName" in spec:
        spec["priorityClassName"] = priority.name
    spec["priority"] = priority.value
    return _set_policy(kind, spec, priority, gates)


def _computed(name: str, lookup: Lookup, classes: list[PriorityClass]) -> Priority | Refusal:
    if name:
        named = lookup.get("PriorityClass", "", name)
        if not isinstance(named, PriorityClass):
            return Refusal(f"no PriorityClass with name {name} was found", "priority-class-exists")
        return Priority(name, named.value, named.preemption_policy or PREEMPT_LOWER_PRIORITY)
    defaults = sorted((each for each in classes if each.global_default), key=lambda each: (each.value, each.metadata.name))
    if not defaults:
        return Priority("", 0, PREEMPT_LOWER_PRIORITY)
    lowest = defaults[0]
    return Priority(lowest.metadata.name, lowest.value, lowest.preemption_policy or PREEMPT_LOWER_PRIORITY)


def _set_policy(kind: str, spec: dict[str, Any], priority: Priority, gates: Gates) -> Refusal | None:
    subject = _SUBJECT[kind]
    if kind != "Pod":
        if not gates.enabled(PREEMPTION_POLICY):
            return None
        if priority.policy not in PREEMPTION_POLICIES:
            text = (
                f"preemptionPolicy set in the PriorityClass object ({priority.policy}) must match one of the allowed values of "
                f"PreemptionPolicy type in {subject}"
            )
            return Refusal(text, "priority-resolves")
    given = spec.get("preemptionPolicy")
    if given is not None and given != priority.policy:
        text = (
            f"the string value of PreemptionPolicy ({given}) must not be provided in {subject} spec; "
            f"priority admission controller computed {priority.policy} from the given PriorityClass name"
        )
        return Refusal(text, "priority-resolves")
    spec["preemptionPolicy"] = priority.policy
    return None


def _number_text(kind: str, given: object, computed: int) -> str:
    if kind == "Pod":
        return (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {computed} from the given PriorityClass name"
        )
    return (
        f"priority set in the {_SUBJECT[kind]} ({given}) must match the priority computed ({computed}) "
        "based on the priority class set in the spec"
    )
