"""A PodGroup with a parent has a ``workloadRef``."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the missing ``workloadRef``."""
    if isinstance(context.new, PodGroup):
        spec = context.new.spec
        if spec.parent_composite_pod_group_name is not None and spec.workload_ref is None:
            yield field.required(SPEC / "workloadRef", "must be set when parentCompositePodGroupName is set")


RULE = Rule(
    id="parent-needs-workload-ref",
    kinds=frozenset({"PodGroup"}),
    why="A PodGroup without a Workload cannot be part of a tree: the Workload's templates define the position of each group.",
    source="KEP-6012, Standalone PodGroup objects",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec.workloadRef",),
        ),
    ),
)
