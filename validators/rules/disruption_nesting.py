"""Every direct child of a template with disruption mode All has mode All too."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import CompositePodGroupTemplate, Template
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import WORKLOAD, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's ``disruptionMode``; a template without a mode counts as Single."""
    for parent in context.templates.with_mode:
        if parent.disruption_mode is None or parent.disruption_mode.all is None or not isinstance(parent, CompositePodGroupTemplate):
            continue
        children: list[Template] = [*(parent.pod_group_templates or ()), *(parent.composite_pod_group_templates or ())]
        for child in children:
            if child.disruption_mode is None or child.disruption_mode.all is None:
                yield field.invalid(
                    context.templates.path(child) / "disruptionMode",
                    "single",
                    f"must be `all`, as the mode of its parent template {parent.name!r} is (a template without a mode counts as `single`)",
                )


RULE = Rule(
    id="disruption-nesting",
    kinds=WORKLOAD,
    why="If the parent may only be disrupted as a whole, a child whose members may be disrupted one by one contradicts it.",
    source="KEP-6012, Disruption mode, priority class name and priority",
    check=check,
    relevant_traits=traits.MIXED_MODES,
    profile=Profile.KEP,
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
