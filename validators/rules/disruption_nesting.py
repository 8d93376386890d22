"""Every direct child of a template with disruption mode All has mode All too."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import Since
from kubeapi.workloads import CompositePodGroupTemplate, Template
from validators import field
from validators.field import FieldError, Fix, Repair
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Profile, Rule

_STORED = Since(38, "a Workload that was stored with the contradiction refuses every update, also the removal of a finalizer")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's ``disruptionMode``; a template without a mode counts as Single."""
    if not context.creating and context.settings.minor < _STORED:
        return
    for parent in context.templates.composites:
        if parent.disruption_mode is None or parent.disruption_mode.all is None or not isinstance(parent, CompositePodGroupTemplate):
            continue
        for child in parent.children:
            if child.disruption_mode is None or child.disruption_mode.all is None:
                error = field.invalid(
                    context.templates.path(child) / "disruptionMode",
                    "single",
                    'must have "all" disruption mode when parent compositePodGroupTemplate has "all" disruption mode: '
                    f"the parent is {parent.name!r}, and a template without a mode counts as `single`",
                )
                yield dataclasses.replace(error, fix=_fix(context, parent, child))


def _fix(context: Context, parent: CompositePodGroupTemplate, child: Template) -> Fix | None:
    """Return mode All for *child*: as it is disrupted with its parent.  None if one of both has no gang, and so cannot have the mode."""
    if parent.scheduling_policy.gang is None or child.scheduling_policy.gang is None:
        return None
    is_enforced, mode = context.settings.minor >= _STORED, child.disruption_mode
    if mode is None:
        return Fix(Repair.ADD, {"all": {}}, is_safe=is_enforced, before="schedulingPolicy")
    return Fix(Repair.RENAME, "all", is_safe=is_enforced, below=("single",)) if mode.single is not None else None


_WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {gang: {minGroupCount: 1}}
    disruptionMode: {all: {}}
    podGroupTemplates:
    - name: workers
      disruptionMode: {all: {}}
      schedulingPolicy: {gang: {minCount: 4}}
"""
_PATH = "spec.compositePodGroupTemplates[0].podGroupTemplates[0].disruptionMode"

RULE = Rule(
    id="disruption-nesting",
    kinds=WORKLOAD,
    why="If the parent may only be disrupted as a whole, a child whose members may be disrupted one by one contradicts it.",
    source="KEP-6012, Disruption mode, priority class name and priority; Kubernetes 1.38.0-beta.0, validation of Workload",
    check=check,
    relevant_traits=traits.MIXED_MODES,
    profile=Profile.KEP,
    upstream_since=38,
    changes=(_STORED,),
    on=CREATE_AND_UPDATE,
    good=(
        Example(_WORKLOAD),
        Example(_WORKLOAD.replace("{gang: {minGroupCount: 1}}", "{basic: {}}").replace("{all: {}}", "{single: {}}", 1)),
    ),
    bad=(
        Example(_WORKLOAD.replace("      disruptionMode: {all", "      disruptionMode: {single"), at=(_PATH,), fixed=_WORKLOAD),
        Example(_WORKLOAD.replace("      disruptionMode: {all: {}}\n", ""), at=(_PATH,), kubernetes="1.38", fixed=_WORKLOAD),
    ),
)
