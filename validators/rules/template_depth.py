"""A tree of templates is at most 4 levels deep: three of composites and one of leaves."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import MAX_DEPTH, CompositePodGroupTemplate, Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import COMPOSITES, SPEC
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the root entry of a tree that is too deep, as the API server does."""
    if isinstance(context.new, Workload):
        for index, root in enumerate(context.new.spec.composite_pod_group_templates or ()):
            if _levels_of_composites(root) >= MAX_DEPTH:
                yield field.invalid_struct(
                    SPEC.join((COMPOSITES, index)),
                    f"must be at most {MAX_DEPTH} levels deep: maximum template hierarchy depth is {MAX_DEPTH}",
                )


def _levels_of_composites(root: CompositePodGroupTemplate) -> int:
    levels, level = 0, [root]
    while level:
        levels += 1
        level = [child for each in level for child in each.composite_pod_group_templates or ()]
    return levels


RULE = Rule(
    id="template-depth",
    kinds=WORKLOAD,
    why="The cost of scheduling grows with the depth of the tree, so the depth is limited.",
    source="KEP-6012, Notes/Constraints/Caveats; API validation: Workload",
    check=check,
    relevant_traits=traits.NESTED,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: superslice
    schedulingPolicy: {basic: {}}
    compositePodGroupTemplates:
    - name: slice
      schedulingPolicy: {basic: {}}
      compositePodGroupTemplates:
      - name: cube
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
  - name: superslice
    schedulingPolicy: {basic: {}}
    compositePodGroupTemplates:
    - name: slice
      schedulingPolicy: {basic: {}}
      compositePodGroupTemplates:
      - name: cube
        schedulingPolicy: {basic: {}}
        compositePodGroupTemplates:
        - name: host
          schedulingPolicy: {basic: {}}
          podGroupTemplates:
          - name: workers
            schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec.compositePodGroupTemplates[0]",),
        ),
    ),
)
