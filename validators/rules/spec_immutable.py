"""References, constraints, claims, disruption mode and priority do not change after creation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import deep_equal
from kubeapi.workloads import CompositeShape, LeafShape, Workload
from validators import field, gates
from validators.field import FieldError
from validators.model.objects import KINDS
from validators.model.templates import LEAVES, SPEC
from validators.rules import checks
from validators.rules.base import UPDATE_ONLY, Context, Example, Rule

_FIELDS = (
    ("schedulingConstraints", "scheduling_constraints"),
    ("resourceClaims", "resource_claims"),
    ("disruptionMode", "disruption_mode"),
    ("priorityClassName", "priority_class_name"),
    ("priority", "priority"),
    ("preemptionPolicy", "preemption_policy"),
)
_REFERENCES = (("parentCompositePodGroupName", "parent_composite_pod_group_name"), ("workloadRef", "workload_ref"))
_GATED = {
    "schedulingConstraints": gates.TOPOLOGY,
    "preemptionPolicy": gates.PREEMPTION_POLICY,
    "parentCompositePodGroupName": gates.COMPOSITE,
}


def check(context: Context) -> Iterator[FieldError]:
    """Yield one error for each changed field.

    If its gate is off, a field that is in use may stay but not change: a change is also Forbidden.
    """
    yield from _metadata(context)
    new, old = context.new, context.old
    if isinstance(new, Workload) and isinstance(old, Workload) and new.spec.controller_ref != old.spec.controller_ref:
        yield field.invalid_struct(SPEC / "controllerRef", checks.FIXED)
    if isinstance(new, Workload) and isinstance(old, Workload) and context.form.templates_fixed:
        if not deep_equal(new.spec.pod_group_templates, old.spec.pod_group_templates):
            yield field.invalid_struct(SPEC / LEAVES, checks.FIXED)
    elif isinstance(new, (Workload, PodGroup, CompositePodGroup)):
        for shape in context.templates.validated:
            before = context.templates.old(shape)
            if before is not None:
                yield from _shape(context, shape, before)


def _metadata(context: Context) -> Iterator[FieldError]:
    if context.old is None:
        return
    new, old = context.new.metadata, context.old.metadata
    for name in ("name", "namespace"):
        if getattr(new, name) != getattr(old, name) and not (name == "namespace" and context.namespace == ""):
            yield field.invalid(FieldPath("metadata", name), getattr(new, name), checks.FIXED)
    if new.uid and old.uid and new.uid != old.uid:
        yield field.invalid(FieldPath("metadata", "uid"), new.uid, checks.FIXED)


def _shape(context: Context, new: LeafShape | CompositeShape, old: LeafShape | CompositeShape) -> Iterator[FieldError]:
    fields = _FIELDS if isinstance(context.new, Workload) else (*_REFERENCES, *_FIELDS)
    if context.policy_is_fixed and not deep_equal(new.scheduling_policy, old.scheduling_policy):
        yield field.invalid_struct(context.templates.path(new) / "schedulingPolicy", checks.FIXED)
    for wire, name in fields:
        value = getattr(new, name, None)
        if deep_equal(value, getattr(old, name, None)):
            continue
        off = _gate_off(context, new, wire)
        if off and value is not None:
            yield field.forbidden(context.templates.path(new) / wire, f"may not change while the feature gate {_GATED[wire]} is off")
        if not (off and wire == "schedulingConstraints" and isinstance(context.new, PodGroup)):
            yield field.invalid_struct(context.templates.path(new) / wire, checks.FIXED)


def _gate_off(context: Context, shape: LeafShape | CompositeShape, wire: str) -> bool:
    # The constraints of a composite and the parent of a CompositePodGroup have no gate.
    if isinstance(shape, CompositeShape) and wire != "preemptionPolicy":
        return False
    return wire in _GATED and not context.settings.gates.enabled(_GATED[wire])


_BEFORE: Sequence[str] = (
    """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
  priorityClassName: high
""",
)

RULE = Rule(
    id="spec-immutable",
    kinds=frozenset(KINDS) - {"Node"},
    why="The scheduler has acted on these fields or is about to; after a change, running pods would not match them.",
    source="KEP-6012, Spec; KEP-4671, API; Kubernetes 1.37.1 (the fields, and the form of the errors)",
    check=check,
    on=UPDATE_ONLY,
    good=(Example(_BEFORE[0].replace("minCount: 4", "minCount: 3"), old=_BEFORE[0]),),
    bad=(
        Example(_BEFORE[0].replace("{all: {}}", "{single: {}}"), old=_BEFORE[0], at=("spec.disruptionMode",)),
        Example(_BEFORE[0].replace("high", "low"), old=_BEFORE[0], at=("spec.priorityClassName",)),
    ),
)
