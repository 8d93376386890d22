"""What the API server's Priority plugin does with a pod or group that is created (Kubernetes 1.37.1; KEP-6012, Spec).

Class to value and name, the global default where none is named, and the preemption policy of the class.  It works on
the raw spec and changes it in place; a contradiction is a Refusal.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from validators.gates import PREEMPTION_POLICY, Gates
from validators.lookup import Lookup
from validators.model.cluster import PREEMPT_LOWER_PRIORITY, PREEMPTION_POLICIES, PriorityClass

_SUBJECT = {"PodGroup": "pod group", "CompositePodGroup": "composite pod group", "Pod": "pod"}


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why the plugin would answer 403, and the rule that says the same."""

    text: str
    rule: str


@dataclasses.dataclass(frozen=True, slots=True)
class Priority:
    """What a spec's class comes to."""

    name: str
    value: int
    policy: str


def resolve(kind: str, spec: dict[str, Any], lookup: Lookup, gates: Gates) -> Refusal | None:
    """Fill in priority, class and preemption policy of a raw *spec*; with no classes known, leave it as it is."""
    known = lookup.list_kind("PriorityClass")
    if known is None:
        return None
    found = _established(spec.get("priorityClassName") or "", lookup, [each for each in known if isinstance(each, PriorityClass)])
    if isinstance(found, Refusal):
        return found
    given = spec.get("priority")
    if given is not None and given != found.value:
        return Refusal(_number_text(kind, given, found.value), "priority-resolves")
    if found.name or "priorityClassName" in spec:
        spec["priorityClassName"] = found.name
    spec["priority"] = found.value
    return _policy(kind, spec, found, gates)


def _established(name: str, lookup: Lookup, known: list[PriorityClass]) -> Priority | Refusal:
    if name:
        found = lookup.get("PriorityClass", "", name)
        if not isinstance(found, PriorityClass):
            return Refusal(f"no PriorityClass with name {name} was found", "priority-class-exists")
        return Priority(name, found.value, found.preemption_policy or PREEMPT_LOWER_PRIORITY)
    defaults = sorted((each for each in known if each.global_default), key=lambda each: (each.value, each.metadata.name))
    if not defaults:
        return Priority("", 0, PREEMPT_LOWER_PRIORITY)
    lowest = defaults[0]
    return Priority(lowest.metadata.name, lowest.value, lowest.preemption_policy or PREEMPT_LOWER_PRIORITY)


def _policy(kind: str, spec: dict[str, Any], found: Priority, gates: Gates) -> Refusal | None:
    subject = _SUBJECT[kind]
    if kind != "Pod":
        if not gates.enabled(PREEMPTION_POLICY):
            return None
        if found.policy not in PREEMPTION_POLICIES:
            text = f"preemptionPolicy set in the PriorityClass object ({found.policy}) must match one of the allowed values of PreemptionPolicy type in {subject}"
            return Refusal(text, "priority-resolves")
    given = spec.get("preemptionPolicy")
    if given is not None and given != found.policy:
        text = (
            f"the string value of PreemptionPolicy ({given}) must not be provided in {subject} spec; "
            f"priority admission controller computed {found.policy} from the given PriorityClass name"
        )
        return Refusal(text, "priority-resolves")
    spec["preemptionPolicy"] = found.policy
    return None


def _number_text(kind: str, given: object, computed: int) -> str:
    if kind == "Pod":
        return (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {computed} from the given PriorityClass name"
        )
    return f"priority set in the {_SUBJECT[kind]} ({given}) must match the priority computed ({computed}) based on the priority class set in the spec"
