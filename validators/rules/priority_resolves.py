"""A priority that is given as a number equals the value of the priority class in the same object."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.priority import PriorityClass
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, PODS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priority``, if the class is known."""
    spec, path = (context.pod_spec, context.pod_path) if context.new.kind in PODS else (context.group.spec, SPEC)
    if spec.priority is None or not spec.priority_class_name:
        return
    priority_class = context.lookup.get("PriorityClass", "", spec.priority_class_name)
    if isinstance(priority_class, PriorityClass) and priority_class.value != spec.priority:
        yield field.invalid(
            path / "priority",
            spec.priority,
            f"must be {priority_class.value}, the value of PriorityClass {priority_class.metadata.name}, or be left out",
        )


_PAIR = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: high
  priority: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""

RULE = Rule(
    id="priority-resolves",
    kinds=GROUPS | PODS,
    about=About.TREE,
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    by_plugin=True,
    why="The API server computes the priority from the class, and refuses an object with a different number.",
    source="KEP-6012, Spec of the CompositePodGroup; Kubernetes 1.37.1, admission plugin Priority",
    check=check,
    relevant_traits=traits.PRIORITY,
    good=(Example(_PAIR),),
    bad=(Example(_PAIR.replace("  priority: 1000", "  priority: 2000"), at=("spec.priority",)),),
)
