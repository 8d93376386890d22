"""The template of a group exists, is a child of the parent's template, and has the same spec as the group (else a warning)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from kubeapi.groups import CompositePodGroup, Group
from kubeapi.meta import Empty, deep_equal
from kubeapi.pods import PodResourceClaim
from kubeapi.priority import PriorityClass
from kubeapi.workloads import CompositePodGroupTemplate, Constraints, DisruptionMode, LeafShape, Shape, Template, Workload
from validators import field
from validators.field import FieldError
from validators.model.objects import namespace_of
from validators.model.templates import SPEC, Templates, TemplatesByName
from validators.object_lookup import Lookup
from validators.rules import checks
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity

_REFERENCE = SPEC / "workloadRef"
_PARENT = SPEC / "parentCompositePodGroupName"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``workloadRef`` (no such Workload or template) and at the parent (wrong position), and warnings at fields that differ."""
    yield from references(context)
    template = template_of(context.group, context.lookup, context.tree.templates_of) if context.node.depth else None
    if template is None:
        return
    for name in differing_fields(context.group, template, context.lookup):
        detail = f"must be equal to that of template {template.name!r}, from which the group was created"
        # The API server accepts such a group, and kube-scheduler does not compare it with its template.
        yield field.as_warning(field.invalid_struct(SPEC / name, detail))


def references(context: Context) -> Iterator[FieldError]:
    """Yield the errors of ``check``: those about objects and templates that the group refers to, not about its values."""
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


def template_of(group: Group, lookup: Lookup, templates_of: Callable[[Workload], TemplatesByName] = TemplatesByName) -> Template | None:
    """Return the template from which *group* was created; None if it is not known, or is one for the other kind of group."""
    reference = group.spec.workload_ref
    workload = lookup.get("Workload", namespace_of(group), reference.workload_name) if reference is not None else None
    if reference is None or not isinstance(workload, Workload):
        return None
    template, _ = templates_of(workload).find(reference.template_name)
    is_composite = isinstance(group, CompositePodGroup)
    return template if template is not None and isinstance(template, CompositePodGroupTemplate) is is_composite else None


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


def differing_fields(group: Group, template: Template, lookup: Lookup) -> list[str]:
    """Return the fields of the spec of *group* with other values than in its *template*."""
    spec = group.spec
    differences = [
        ("schedulingPolicy", not deep_equal(spec.scheduling_policy, template.scheduling_policy)),
        ("schedulingConstraints", _keys(spec.scheduling_constraints) != _keys(template.scheduling_constraints)),
        ("resourceClaims", isinstance(spec, LeafShape) and _claims(spec) != _claims(template)),
        ("disruptionMode", not deep_equal(_mode(spec.disruption_mode), _mode(template.disruption_mode))),
        ("priorityClassName", _other_class(spec, template, lookup)),
        # The API server fills in what the template does not set: not a difference.
        ("priority", template.priority is not None and spec.priority != template.priority),
        ("preemptionPolicy", template.preemption_policy is not None and spec.preemption_policy != template.preemption_policy),
    ]
    return [name for name, differs in differences if differs]


def _keys(constraints: Constraints | None) -> list[str]:
    return [each.key for each in (constraints.topology if constraints else None) or ()]


def _claims(shape: Shape) -> dict[str, PodResourceClaim]:
    """Return the claims by name: their order does not matter."""
    return {claim.name: claim for claim in (shape.resource_claims if isinstance(shape, LeafShape) else None) or ()}


def _mode(mode: DisruptionMode | None) -> DisruptionMode:
    return mode if mode is not None else DisruptionMode(single=Empty())


def _other_class(spec: Shape, template: Template, lookup: Lookup) -> bool:
    name = spec.priority_class_name
    if template.priority_class_name or not name:
        return name != template.priority_class_name
    # Without a class in the template, the API server fills in the global default class.
    priority_class = lookup.get("PriorityClass", "", name)
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
    why="People and tools read the Workload to see how a job is scheduled, but the scheduler acts on the groups. A value that differs is a "
    "warning: the API server accepts it, and kube-scheduler takes that of the group.",
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
