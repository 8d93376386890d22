"""A PodGroup with a parent has a ``workloadRef``."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Rule

_UPDATES = Since(38, "the API server also reports it for an update, in addition to the change of an immutable field")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the missing ``workloadRef``; not if it was missing before."""
    if isinstance(context.new, PodGroup) and _misses(context.new):
        is_judged = context.creating or (
            context.settings.minor >= _UPDATES and isinstance(context.old, PodGroup) and not _misses(context.old)
        )
        if is_judged:
            yield field.required(SPEC / "workloadRef", "must be set when parentCompositePodGroupName is set")


def _misses(group: PodGroup) -> bool:
    return group.spec.parent_composite_pod_group_name is not None and group.spec.workload_ref is None


RULE = Rule(
    id="parent-needs-workload-ref",
    kinds=frozenset({"PodGroup"}),
    why="A PodGroup without a Workload cannot be part of a tree: the Workload's templates define the position of each group.",
    source="KEP-6012, Standalone PodGroup objects",
    check=check,
    changes=(_UPDATES,),
    on=CREATE_AND_UPDATE,
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
