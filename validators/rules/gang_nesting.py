"""Every direct child of a template with a gang policy has a gang policy too."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.workloads import CompositePodGroupTemplate
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule
from validators.rules.checks import gang_of_one


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's ``schedulingPolicy``, also for a Workload that was stored before: it must be deleted."""
    for parent in context.templates.composites:
        if parent.scheduling_policy.gang is None or not isinstance(parent, CompositePodGroupTemplate):
            continue
        for child in parent.children:
            if child.scheduling_policy.gang is None:
                error = field.invalid_struct(
                    context.templates.path(child) / "schedulingPolicy",
                    'must have "gang" scheduling policy when parent compositePodGroupTemplate has "gang" scheduling policy: '
                    f"the parent is {parent.name!r}",
                )
                yield dataclasses.replace(error, fix=gang_of_one(child.scheduling_policy))


_WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {gang: {minGroupCount: 2}}
    podGroupTemplates:
    - name: driver
      schedulingPolicy: {gang: {minCount: 1}}
    - name: workers
      schedulingPolicy: {gang: {minCount: 4}}
"""
_BASIC = _WORKLOAD.replace("{gang: {minCount: 1}}", "{basic: {}}")
_PATH = "spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy"

RULE = Rule(
    id="gang-nesting",
    kinds=WORKLOAD,
    since=38,
    on=CREATE_AND_UPDATE,
    why="A gang counts its scheduled children, and a basic child has no number of pods from which on it counts as scheduled. Kubernetes "
    "1.37 accepts such a Workload; from 1.38 on it refuses every update of it, also the removal of a finalizer.",
    source="Kubernetes 1.38.0-beta.0, validation of Workload",
    check=check,
    relevant_traits=traits.GANG_ABOVE_BASIC,
    good=(Example(_WORKLOAD, kubernetes="1.38"),),
    bad=(
        Example(_BASIC, at=(_PATH,), kubernetes="1.38", fixed=_WORKLOAD),
        Example(_BASIC.replace("{name: train}", "{name: train, labels: {a: b}}"), old=_BASIC, at=(_PATH,), kubernetes="1.38"),
    ),
)
