"""All templates of a Workload have the same priority class, priority and preemption policy; an absent value differs from any other."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from kubeapi.priority import PREEMPT_LOWER_PRIORITY
from kubeapi.versions.kubernetes_releases import Since
from kubeapi.workloads import CompositeShape, LeafShape, Workload
from validators import field
from validators.field import FieldError, Fix, Repair
from validators.model import traits
from validators.model.templates import SPEC, Templates
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule

_POLICIES = Since(38, "a new Workload has one preemption policy too; one that was stored with several can be updated")


def check(context: Context) -> Iterator[FieldError]:
    """Yield one error at ``spec``.  Values are compared before classes are resolved; absent differs from any value."""
    if not isinstance(context.new, Workload):
        return
    templates, since_policies = context.templates, context.settings.minor >= _POLICIES
    with_policy = since_policies and context.creating
    values = {_values(each, with_policy=with_policy) for shapes in (templates.leaves, templates.composites) for each in shapes}
    if len(values) < 2:
        return
    listed = ", ".join(sorted(f"({', '.join(each)})" for each in values))
    leaves = {_values(each, with_policy=False) for each in context.new.spec.pod_group_templates or ()}
    if since_policies:
        detail = "all priority, priorityClassName, and preemptionPolicy values must be identical, detected multiple values: "
    elif len(leaves) > 1:
        detail = "detected multiple priority configurations: all templates must have one (class, number), found "
    else:
        detail = "all priority and priorityClassName values must be identical, detected multiple values: "
    yield dataclasses.replace(field.invalid_struct(SPEC, detail + listed), fix=_fix(templates, values) if with_policy else None)


def _fix(templates: Templates, values: Collection[tuple[str, ...]]) -> Fix | None:
    """Return PreemptLowerPriority, the default of groups, for all templates without a policy; None if more than that differs."""
    shapes: list[LeafShape | CompositeShape] = [*templates.leaves, *templates.composites]
    if len({each[:-1] for each in values}) > 1 or {each.preemption_policy for each in shapes} != {None, PREEMPT_LOWER_PRIORITY}:
        return None
    paths = [(*templates.path(each).parts[1:], "preemptionPolicy") for each in shapes if each.preemption_policy is None]
    first, *others = [Fix(Repair.ADD, PREEMPT_LOWER_PRIORITY, is_safe=True, below=each, before="schedulingPolicy") for each in paths]
    return dataclasses.replace(first, also=tuple(others))


def _values(shape: LeafShape | CompositeShape, *, with_policy: bool) -> tuple[str, ...]:
    """Return priority class, number and, if wanted, preemption policy in words."""
    values = shape.priority_class_name or "no class", "no number" if shape.priority is None else str(shape.priority)
    policy = "no policy" if shape.preemption_policy is None else shape.preemption_policy or "an empty policy"
    return (*values, policy) if with_policy else values


_POLICY = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    preemptionPolicy: PreemptLowerPriority
    schedulingPolicy: {basic: {}}
  - name: workers
    preemptionPolicy: PreemptLowerPriority
    schedulingPolicy: {gang: {minCount: 4}}
"""

RULE = Rule(
    id="priority-uniform",
    kinds=WORKLOAD,
    why="A tree has one priority, which decides its order in the queue and its protection from preemption.",
    source="KEP-6012, Disruption mode, priority class name and priority; Kubernetes 1.38.0-beta.0, validation of Workload",
    check=check,
    relevant_traits=traits.SEVERAL_PRIORITY_CLASSES | traits.PRIORITY | traits.PREEMPTION_POLICY,
    changes=(_POLICIES,),
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    priorityClassName: high
    schedulingPolicy: {basic: {}}
  - name: workers
    priorityClassName: high
    schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    schedulingPolicy: {basic: {}}
  - name: workers
    priorityClassName: high
    schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec",),
        ),
        Example(_POLICY.replace("    preemptionPolicy: PreemptLowerPriority\n", "", 1), at=("spec",), kubernetes="1.38", fixed=_POLICY),
    ),
)
