"""No group or pod is created in a group that is being deleted (objects that exist already are not judged)."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.objects import Object
from validators.model.views import Pod
from validators.object_lookup import parent_of
from validators.rules.base import GROUPS, PODS, About, Context, Example, Profile, Rule

_FIELDS = {
    "Pod": ("PodGroup", FieldPath("spec", "schedulingGroup", "podGroupName")),
    "Job": ("PodGroup", FieldPath("spec", "template", "spec", "schedulingGroup", "podGroupName")),
    "PodGroup": ("CompositePodGroup", FieldPath("spec", "parentCompositePodGroupName")),
    "CompositePodGroup": ("CompositePodGroup", FieldPath("spec", "parentCompositePodGroupName")),
}


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the field that names the group.  In files of a cluster, a group that is being deleted has pods until they end."""
    new: Object = context.new
    if context.settings.linting and _exists(new):
        return
    name = parent_of(new)
    kind, path = _FIELDS[new.kind]
    parent = context.lookup.get(kind, context.namespace, name) if name else None
    if parent is not None and parent.metadata.deletion_timestamp is not None:
        noun = "pod" if new.kind in PODS else "group"
        yield field.forbidden(path, f"cannot create a {noun} referencing {kind} {name!r} because it is being deleted")


def _exists(item: Object) -> bool:
    """Return whether an object of a file has fields that it gets when it is created, or a pod has a node."""
    meta = item.metadata
    is_bound = isinstance(item, Pod) and bool(item.spec.node_name)
    return bool(meta.uid or meta.creation_timestamp or meta.deletion_timestamp) or is_bound


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
"""

RULE = Rule(
    id="parent-not-deleting",
    kinds=GROUPS | PODS,
    about=About.TREE,
    profile=Profile.KEP,
    why="Groups are deleted from the leaves to the root; a new member would block the deletion or lose its parent.",
    source="KEP-6012, Object ownership and garbage collection",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(
        Example(_TREE),
        Example(
            _TREE.replace("{name: workers-0}", '{name: workers-0, uid: 5d1c, creationTimestamp: "2026-01-01T00:00:00Z"}').replace(
                "{name: replica-0}", '{name: replica-0, deletionTimestamp: "2026-01-01T00:00:00Z"}'
            )
        ),
    ),
    bad=(
        Example(
            _TREE.replace("metadata: {name: replica-0}", 'metadata: {name: replica-0, deletionTimestamp: "2026-01-01T00:00:00Z"}'),
            at=("spec.parentCompositePodGroupName",),
        ),
    ),
)
