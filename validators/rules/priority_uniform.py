"""All templates of a Workload have the same priority class and the same priority; an absent value differs from any other."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield one error at ``spec``.  Pairs are compared before classes are resolved; absent differs from any value."""
    if not isinstance(context.new, Workload):
        return
    templates = context.templates
    pairs = {(each.priority_class_name, each.priority) for each in templates.leaves + templates.composites}
    if len(pairs) < 2:
        return
    values = ", ".join(sorted(f"({name or 'no class'}, {'no number' if number is None else number})" for name, number in pairs))
    flat = {(each.priority_class_name, each.priority) for each in context.new.spec.pod_group_templates or ()}
    if len(flat) > 1:
        yield field.invalid_struct(
            SPEC, f"detected multiple priority configurations: all templates must have one (class, number), found {values}"
        )
    else:
        yield field.invalid_struct(SPEC, f"all priority and priorityClassName values must be identical, detected multiple values: {values}")


RULE = Rule(
    id="priority-uniform",
    kinds=WORKLOAD,
    why="A tree has one priority, which decides its order in the queue and its protection from preemption.",
    source="KEP-6012, Disruption mode, priority class name and priority",
    check=check,
    relevant_traits=traits.SEVERAL_PRIORITY_CLASSES | traits.PRIORITY,
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
    ),
)
