"""A composite template has at least one child."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import CompositePodGroupTemplate
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the composite."""
    for template in context.templates.composites:
        if (
            isinstance(template, CompositePodGroupTemplate)
            and not template.pod_group_templates
            and not template.composite_pod_group_templates
        ):
            yield field.invalid(
                context.templates.path(template),
                template.name,
                "must have at least one child PodGroupTemplate or CompositePodGroupTemplate",
            )


RULE = Rule(
    id="template-not-empty",
    kinds=WORKLOAD,
    why="A composite template without children has no pods, and no group can be created below it.",
    source="Kubernetes 1.37.1, validation of Workload; KEP-6012, API overview",
    check=check,
    relevant_traits=traits.CHILDLESS,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
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
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {basic: {}}
""",
            at=("spec.compositePodGroupTemplates[0]",),
        ),
    ),
)
