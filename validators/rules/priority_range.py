"""The priority of a template or group is at most 1000000000."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import MAX_PRIORITY
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priority``."""
    for shape in context.templates.validated:
        if shape.priority is not None and shape.priority > MAX_PRIORITY:
            yield field.invalid(context.templates.path(shape) / "priority", shape.priority, f"must be less than or equal to {MAX_PRIORITY}")


RULE = Rule(
    id="priority-range",
    kinds=SHAPED,
    why="Higher values are reserved for the built-in classes, which groups cannot use.",
    source="KEP-6012, Spec of the CompositePodGroup",
    check=check,
    relevant_traits=traits.PRIORITY,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priority: 1000000000
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
  priority: 1000000001
""",
            at=("spec.priority",),
        ),
    ),
)
