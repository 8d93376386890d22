"""The priority class of a template, group or pod exists (a warning, unless all classes are known)."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import PODS, SHAPED, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priorityClassName``.  No errors if no class at all is known; the built-in classes always exist."""
    if context.lookup.list_kind("PriorityClass") is None:
        return
    if context.new.kind in PODS:
        yield from _missing(context, context.pod_path, context.pod_spec.priority_class_name)
        return
    templates = context.templates
    missing = {name for name in templates.priority_classes if context.lookup.get("PriorityClass", "", name) is None}
    for shape in templates.validated if missing else ():
        if shape.priority_class_name in missing:
            yield from _missing(context, context.templates.path(shape), shape.priority_class_name)


def _missing(context: Context, path: FieldPath, name: str) -> Iterator[FieldError]:
    if name and context.lookup.get("PriorityClass", "", name) is None:
        detail = f"no PriorityClass with name {name} was found"
        yield checks.missing_class(
            context, "PriorityClass", checks.missing(context, path / "priorityClassName", "PriorityClass", name, detail)
        )


_PAIR = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: high
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""

_AGENT = """\
apiVersion: v1
kind: Pod
metadata: {name: agent}
spec:
  priorityClassName: system-node-critical
  containers: [{name: main, image: agent}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""

RULE = Rule(
    id="priority-class-exists",
    kinds=SHAPED | PODS,
    about=About.TREE,
    profile=Profile.KEP,
    by_plugin=True,
    why="The API server refuses groups and pods with an unknown class, so no group can be created from such a template. Files rarely have all "
    "classes of a cluster: this is an error of `muster lint` only with `--cluster` or `--objects`.",
    source="KEP-6012, Spec of the CompositePodGroup; Kubernetes 1.37.1, admission plugin Priority",
    check=check,
    relevant_traits=traits.PRIORITY_CLASS,
    good=(Example(_PAIR), Example(_AGENT)),
    bad=(Example(_PAIR.replace("priorityClassName: high", "priorityClassName: higher"), at=("spec.priorityClassName",), fixed=_PAIR),),
)
