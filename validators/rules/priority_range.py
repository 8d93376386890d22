"""The priority of a template or group is at most 1000000000, as the built-in priority classes are for components of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.workloads import MAX_PRIORITY
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import SHAPED, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priority`` and, in profile kep, at ``priorityClassName``: the API server sees the value of the class only."""
    by_name = SYSTEM_CLASSES if context.settings.profile is Profile.KEP else {}
    for shape in context.templates.validated:
        path, detail = context.templates.path(shape), f"must be less than or equal to {MAX_PRIORITY}"
        if shape.priority is not None and shape.priority > MAX_PRIORITY:
            yield field.invalid(path / "priority", shape.priority, detail)
        elif shape.priority_class_name in by_name:
            value = by_name[shape.priority_class_name].value
            yield field.invalid(path / "priorityClassName", shape.priority_class_name, f"its value is {value}, and {detail}")


RULE = Rule(
    id="priority-range",
    kinds=SHAPED,
    until=37,
    why="Higher values are reserved for the components that keep the cluster running: a group with such a value preempts all others. "
    "Kubernetes 1.38 withdrew the limit.",
    source="KEP-6012, Spec of the CompositePodGroup; Kubernetes 1.37.1 and 1.38.0-beta.0, validation of groups",
    check=check,
    relevant_traits=traits.PRIORITY | traits.SYSTEM_CLASS,
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
