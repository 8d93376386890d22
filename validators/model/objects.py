"""All kinds that rules judge or look up, by name."""

from __future__ import annotations

from validators.model.cluster import Node, PriorityClass
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.jobset import JobSet
from validators.model.meta import ObjectMeta, Struct
from validators.model.pod import Job, Pod
from validators.model.workload import Workload


class Named(Struct, frozen=True, gc=False):
    """An object of which only the name is known: it is there, and more cannot be said of it."""

    kind: str
    metadata: ObjectMeta = ObjectMeta()


Object = Workload | PodGroup | CompositePodGroup | Pod | Job | JobSet | PriorityClass | Node | Named

KINDS: dict[str, type[Object]] = {
    "Workload": Workload,
    "PodGroup": PodGroup,
    "CompositePodGroup": CompositePodGroup,
    "Pod": Pod,
    "Job": Job,
    "JobSet": JobSet,
    "PriorityClass": PriorityClass,
    "Node": Node,
}
CLUSTER_SCOPED = frozenset({"PriorityClass", "Node"})


def namespace_of(item: Object) -> str:
    """The namespace an object lives in: empty for kinds that have none, ``default`` where none is written."""
    return "" if item.kind in CLUSTER_SCOPED else item.metadata.namespace or "default"
