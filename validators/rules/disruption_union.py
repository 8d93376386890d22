"""A disruption mode is exactly one of single and all."""

from __future__ import annotations

from collections.abc import Iterator

from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``disruptionMode``.  The mode may be absent: templates have no default, groups default to Single."""
    for shape in context.templates.with_mode:
        mode = shape.disruption_mode
        if mode is not None and (mode.single is None) is (mode.all is None):
            yield from checks.mode_union(context.templates.path(shape) / "disruptionMode", mode)


RULE = Rule(
    id="disruption-union",
    kinds=SHAPED,
    why="Preemption evicts members either one by one or all together; an empty mode, or both modes, is ambiguous.",
    source="KEP-6012, Disruption mode, priority class name and priority",
    check=check,
    relevant_traits=traits.INVALID_MODE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
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
  disruptionMode: {}
""",
            at=("spec.disruptionMode",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
    disruptionMode: {single: {}, all: {}}
""",
            at=("spec.podGroupTemplates[0].disruptionMode",),
        ),
    ),
)
