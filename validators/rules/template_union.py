"""Exactly one of ``podGroupTemplates`` and ``compositePodGroupTemplates`` of a Workload is not empty."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import Workload, WorkloadSpec
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import COMPOSITES, LEAVES, SPEC
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``spec``; on an update, only if the members of the union change."""
    if not isinstance(context.new, Workload):
        return
    spec = context.new.spec
    if bool(spec.pod_group_templates) is not bool(spec.composite_pod_group_templates):
        return
    if isinstance(context.old, Workload) and _choice(spec) == _choice(context.old.spec):
        return
    yield from checks.union(SPEC, {LEAVES: spec.pod_group_templates or None, COMPOSITES: spec.composite_pod_group_templates or None})


def _choice(spec: WorkloadSpec) -> tuple[bool, bool]:
    return bool(spec.pod_group_templates), bool(spec.composite_pod_group_templates)


RULE = Rule(
    id="template-union",
    kinds=WORKLOAD,
    why="A flat Workload and a tree are scheduled differently; with both lists, or with none, it is ambiguous which one is meant.",
    source="KEP-6012, Changes to the Workload API",
    check=check,
    relevant_traits=traits.INVALID_LISTS,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
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
  podGroupTemplates:
  - name: driver
    schedulingPolicy: {basic: {}}
  compositePodGroupTemplates:
  - name: replicas
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - name: workers
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
  podGroupTemplates: []
""",
            at=("spec",),
        ),
    ),
)
