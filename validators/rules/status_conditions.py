"""Conditions in a group's status have unique types and are complete, as metav1 requires."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import Condition
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import GROUPS, UPDATE_ONLY, Context, Example, Rule

_STATUSES = ("False", "True", "Unknown")
_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32 * 1024


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at a condition or at its fields."""
    if not isinstance(context.new, (PodGroup, CompositePodGroup)):
        return
    seen: set[str] = set()
    for index, condition in enumerate(context.new.status.conditions or ()):
        path = FieldPath("status", "conditions", index)
        if condition.type in seen:
            yield field.duplicate(path, condition.type, "must be the only condition of its type")
        seen.add(condition.type)
        yield from _condition(path, condition)


def _condition(path: FieldPath, condition: Condition) -> Iterator[FieldError]:
    if condition.type:
        yield from checks.messages(path / "type", condition.type, content.label_key)
    else:
        yield field.required(path / "type", "a condition must have a type")
    if not condition.status:
        yield field.required(path / "status", "must be one of True, False, Unknown")
    elif condition.status not in _STATUSES:
        yield field.not_supported(path / "status", condition.status, _STATUSES)
    if condition.observed_generation < 0:
        yield field.invalid(path / "observedGeneration", condition.observed_generation, "must be greater than or equal to zero")
    if condition.last_transition_time is None:
        yield field.required(path / "lastTransitionTime", "must be the time of the last change of status")
    if not condition.reason:
        yield field.required(path / "reason", "a condition must have a reason")
    else:
        yield from checks.messages(path / "reason", condition.reason, content.condition_reason)
        if len(condition.reason.encode()) > _LONGEST_REASON:
            yield field.too_long(path / "reason", _LONGEST_REASON)
    if len(condition.message.encode()) > _LONGEST_MESSAGE:
        yield field.too_long(path / "message", _LONGEST_MESSAGE)


_GOOD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
status:
  conditions:
  - type: PodGroupInitiallyScheduled
    status: "True"
    reason: Scheduled
    lastTransitionTime: "2026-01-01T00:00:00Z"
"""

RULE = Rule(
    id="status-conditions",
    kinds=GROUPS,
    on=UPDATE_ONLY,
    status=True,
    why="Controllers and users wait for conditions by type; a duplicate or incomplete condition misleads them.",
    source="KEP-6012, Status; Kubernetes 1.37.1, metav1 ValidateConditions",
    check=check,
    relevant_traits=traits.STATUS,
    good=(Example(_GOOD, old=_GOOD, status=True),),
    bad=(
        Example(_GOOD.replace('"True"', '"Yes"'), old=_GOOD, at=("status.conditions[0].status",), status=True),
        Example(_GOOD.replace("reason: Scheduled", "reason: not yet"), old=_GOOD, at=("status.conditions[0].reason",), status=True),
    ),
)
