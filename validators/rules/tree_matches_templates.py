"""The template of a group exists, is a child of the parent's template, and has the same spec as the group."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.groups import CompositePodGroup
from kubeapi.meta import Empty, deep_equal
from kubeapi.pods import PodResourceClaim
from kubeapi.priority import PriorityClass
from kubeapi.workloads import CompositePodGroupTemplate, Constraints, DisruptionMode, LeafShape, Shape, Template, Workload
from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC, Templates
from validators.rules import checks
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity

_REFERENCE = SPEC / "workloadRef"
_PARENT = SPEC / "parentCompositePodGroupName"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``workloadRef`` (no such Workload or template), at the parent (wrong position) and at fields that differ."""
    return _errors(context, counts=True)


def at_run_time(context: Context) -> Iterator[FieldError]:
    """Yield the errors of ``check`` without ``minCount`` and ``minGroupCount``, which may change in a running group or its template."""
    return _errors(context, counts=False)


def _errors(context: Context, *, counts: bool) -> Iterator[FieldError]:
    group, reference = context.group, context.group.spec.workload_ref
    if not context.node.depth or reference is None or context.lookup.list_kind("Workload") is None:
        return
    workload = context.lookup.get("Workload", context.namespace, reference.workload_name)
    if workload is None:
        detail = f"there must be a Workload of this name in namespace {context.namespace}"
        yield checks.missing(context, _REFERENCE / "workloadName", "Workload", reference.workload_name, detail)
        return
    if not isinstance(workload, Workload):
        return  # it exists, but cannot be read
    template, above = context.tree.templates_of(workload).find(reference.template_name)
    if template is None:
        detail = f"there must be a template of this name in Workload {workload.metadata.name}"
        error = field.not_found(_REFERENCE / "templateName", reference.template_name, detail)
        near = field.nearest(reference.template_name, Templates(workload, None).names)
        yield dataclasses.replace(error, fix=checks.unsafe(near))
    elif isinstance(template, CompositePodGroupTemplate) is not isinstance(group, CompositePodGroup):
        detail = f"must name a {group.kind}Template; in Workload {workload.metadata.name}, this is a {type(template).__name__}"
        yield field.invalid(_REFERENCE / "templateName", reference.template_name, detail)
    else:
        yield from _position(context, template, above)
        yield from _difference(context, template, counts=counts)


def _position(context: Context, template: Template, above: Template | None) -> Iterator[FieldError]:
    spec, node = context.group.spec, context.node
    if node.orphan and context.lookup.list_kind("CompositePodGroup") is not None:
        return  # a missing parent is reported by its own rule
    if above is None:
        if spec.parent_composite_pod_group_name is not None:
            detail = f"must be absent: template {template.name!r} is at the top of its Workload"
            yield field.invalid(_PARENT, spec.parent_composite_pod_group_name, detail)
    elif spec.parent_composite_pod_group_name is None:
        yield field.required(_PARENT, f"must be a group of template {above.name!r}, the parent of template {template.name!r}")
    elif node.parent is not None and (parent := node.parent.group.spec.workload_ref) is not None and spec.workload_ref is not None:
        if parent.workload_name == spec.workload_ref.workload_name and parent.template_name != above.name:
            detail = (
                f"must be a group of template {above.name!r}, the parent of template {template.name!r}; "
                f"this is a group of template {parent.template_name!r}"
            )
            yield field.invalid(_PARENT, spec.parent_composite_pod_group_name, detail)


def _difference(context: Context, template: Template, *, counts: bool) -> Iterator[FieldError]:
    group = context.group.spec
    policies = (group.scheduling_policy, template.scheduling_policy)
    gangs = [each.gang is not None for each in policies]
    differences = [
        ("schedulingPolicy", not deep_equal(*policies) if counts else gangs[0] is not gangs[1]),
        ("schedulingConstraints", _keys(group.scheduling_constraints) != _keys(template.scheduling_constraints)),
        ("resourceClaims", isinstance(group, LeafShape) and _claims(group) != _claims(template)),
        ("disruptionMode", not deep_equal(_mode(group.disruption_mode), _mode(template.disruption_mode))),
        ("priorityClassName", _other_class(context, template)),
        # The API server fills in what the template does not set: not a difference.
        ("priority", template.priority is not None and group.priority != template.priority),
        ("preemptionPolicy", template.preemption_policy is not None and group.preemption_policy != template.preemption_policy),
    ]
    for name, differs in differences:
        if differs:
            yield field.invalid_struct(
                SPEC / name, f"must be equal to that of template {template.name!r}, from which the group was created"
            )


def _keys(constraints: Constraints | None) -> list[str]:
    return [each.key for each in (constraints.topology if constraints else None) or ()]


def _claims(shape: Shape) -> dict[str, PodResourceClaim]:
    """Return the claims by name: their order does not matter."""
    return {claim.name: claim for claim in (shape.resource_claims if isinstance(shape, LeafShape) else None) or ()}


def _mode(mode: DisruptionMode | None) -> DisruptionMode:
    return mode if mode is not None else DisruptionMode(single=Empty())


def _other_class(context: Context, template: Template) -> bool:
    name = context.group.spec.priority_class_name
    if template.priority_class_name or not name:
        return name != template.priority_class_name
    # Without a class in the template, the API server fills in the global default class.
    priority_class = context.lookup.get("PriorityClass", "", name)
    return isinstance(priority_class, PriorityClass) and not priority_class.global_default


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 4}}
"""

RULE = Rule(
    id="tree-matches-templates",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    why="People and tools read the Workload to see how a job is scheduled, but the scheduler acts on the groups.",
    source="KEP-6012, Runtime validation in Beta; Workload reference; CompositePodGroup API, Spec (fields are copied from the template)",
    check=check,
    good=(Example(_TREE),),
    bad=(
        Example(_TREE.replace("templateName: workers", "templateName: drivers"), at=("spec.workloadRef.templateName",)),
        Example(_TREE.replace("templateName: workers", "templateName: worker"), at=("spec.workloadRef.templateName",), fixed=_TREE),
        Example(
            _TREE.replace("{workloadName: train, templateName: workers", "{workloadName: trains, templateName: workers"),
            at=("spec.workloadRef.workloadName",),
            fixed=_TREE,
        ),
        Example(_TREE.replace("minCount: 4", "minCount: 2", 1), at=("spec.schedulingPolicy",)),
        Example(_TREE.replace("  parentCompositePodGroupName: replica-0\n", ""), at=("spec.parentCompositePodGroupName",)),
    ),
)
