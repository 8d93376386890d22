"""Every direct child of a template with disruption mode All has mode All too."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.releases import Since
from kubeapi.workloads import CompositePodGroupTemplate
from validators import field
from validators.field import FieldError
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
                yield field.invalid(
                    context.templates.path(child) / "disruptionMode",
                    "single",
                    'must have "all" disruption mode when parent compositePodGroupTemplate has "all" disruption mode: '
                    f"the parent is {parent.name!r}, and a template without a mode counts as `single`",
                )


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
        Example("""\
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
      schedulingPolicy: {gang: {minCount: 4}}
      disruptionMode: {all: {}}
"""),
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {basic: {}}
    disruptionMode: {single: {}}
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 4}}
      disruptionMode: {all: {}}
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
    schedulingPolicy: {gang: {minGroupCount: 1}}
    disruptionMode: {all: {}}
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 4}}
      disruptionMode: {single: {}}
""",
            at=("spec.compositePodGroupTemplates[0].podGroupTemplates[0].disruptionMode",),
        ),
    ),
)
