"""The PodGroup of a pod exists in the pod's namespace."""

from __future__ import annotations

from collections.abc import Iterator

from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the name of the PodGroup.  No errors if no PodGroup at all is known."""
    for pods in context.pods:
        name = pods.group
        if name and context.lookup.list_kind("PodGroup") is not None and context.lookup.get("PodGroup", context.namespace, name) is None:
            detail = f"there must be a PodGroup of this name in namespace {context.namespace}"
            yield checks.missing(context, pods.group_path, "PodGroup", name, detail)


_PAIR = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""

RULE = Rule(
    id="scheduling-group-exists",
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    why="A pod whose PodGroup does not exist is never scheduled.",
    source="KEP-4671, Associating Pod into PodGroups",
    check=check,
    good=(Example(_PAIR),),
    bad=(Example(_PAIR.replace("podGroupName: workers", "podGroupName: worker"), at=("spec.schedulingGroup.podGroupName",), fixed=_PAIR),),
)
