"""All templates of a Workload have the same priority class, priority and preemption policy; an absent value differs from any other."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.releases import Since
from kubeapi.workloads import CompositeShape, LeafShape, Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
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
    yield field.invalid_struct(SPEC, detail + listed)


def _values(shape: LeafShape | CompositeShape, *, with_policy: bool) -> tuple[str, ...]:
    """Return priority class, number and, if wanted, preemption policy in words."""
    values = shape.priority_class_name or "no class", "no number" if shape.priority is None else str(shape.priority)
    return (*values, shape.preemption_policy or "no policy") if with_policy else values


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
    preemptionPolicy: PreemptLowerPriority
    schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec",),
            kubernetes="1.38",
        ),
    ),
)
