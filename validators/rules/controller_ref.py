"""``controllerRef`` has an API group without a version, and a kind and a name that are valid in a URL path."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.workloads import Workload
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules import checks
from validators.rules.base import WORKLOAD, Context, Example, Rule

_PATH = SPEC / "controllerRef"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at fields of ``controllerRef``."""
    reference = context.new.spec.controller_ref if isinstance(context.new, Workload) else None
    if reference is None:
        return
    if reference.api_group and content.subdomain(reference.api_group):
        yield from checks.messages(_PATH / "apiGroup", reference.api_group, content.subdomain)
    for name, value in (("kind", reference.kind), ("name", reference.name)):
        if value and content.path_segment(value):
            yield from checks.messages(_PATH / name, value, content.path_segment)


RULE = Rule(
    id="controller-ref",
    kinds=WORKLOAD,
    why="Job controllers and dashboards follow the reference to the object that the Workload describes.",
    source="KEP-4671, API: TypedLocalObjectReference",
    check=check,
    relevant_traits=traits.INVALID_NAME,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  controllerRef: {apiGroup: batch, kind: Job, name: train}
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
  controllerRef: {apiGroup: batch/v1, kind: Job, name: train}
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("spec.controllerRef.apiGroup",),
        ),
    ),
)
