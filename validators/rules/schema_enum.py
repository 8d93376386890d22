"""A preemption policy is Never or PreemptLowerPriority; the kind and its API version exist."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.priority import PREEMPTION_POLICIES, PriorityClass
from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import PODS, SHAPED, About, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``preemptionPolicy``.  The pipeline reports unknown kinds and versions, at ``kind`` and ``apiVersion``."""
    new = context.new
    if isinstance(new, (Workload, PodGroup, CompositePodGroup)):
        for shape in context.templates.validated:
            policy = shape.preemption_policy
            if policy is not None and policy not in PREEMPTION_POLICIES:
                yield field.not_supported(context.templates.path(shape) / "preemptionPolicy", policy, PREEMPTION_POLICIES)
    elif isinstance(new, PriorityClass):
        yield from _policy(FieldPath("preemptionPolicy"), new.preemption_policy)
    elif new.kind in PODS:
        yield from _policy(context.pod_path / "preemptionPolicy", context.pod_spec.preemption_policy)


def _policy(path: FieldPath, policy: str | None) -> Iterator[FieldError]:
    if policy == "":
        yield field.required(path)
    elif policy is not None and policy not in PREEMPTION_POLICIES:
        yield field.not_supported(path, policy, PREEMPTION_POLICIES)


RULE = Rule(
    id="schema-enum",
    kinds=SHAPED | PODS | {"PriorityClass"},
    about=About.SHAPE,
    why="An unknown value is refused or has no effect.",
    source="KEP-6012, Spec; Kubernetes 1.37.1 (CompositePodGroup exists in v1alpha3 only)",
    check=check,
    relevant_traits=traits.PREEMPTION_POLICY,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  preemptionPolicy: Never
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  preemptionPolicy: never
""",
            at=("spec.preemptionPolicy",),
            fixed="""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  preemptionPolicy: Never
""",
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
""",
            at=("apiVersion",),
            fixed="""\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
""",
        ),
    ),
)
