"""Builders of groups and pods, and a snapshot of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kubeapi.groups import Group
from kubeapi.resource_names import BUILT_IN
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.model import objects
from validators.model.objects import Object, namespace_of
from validators.object_lookup import KnownObjects

SHAPE = PodShape(0, ((3, 1),), (100, 200_000_000))
FIRST = "2026-08-01T00:00:00Z"


def leaf(name: str, parent: str | None = None, *, gang: int = 0, workload: str = "train", **spec: object) -> Group:
    """Return a PodGroup, basic unless *gang* gives a minimum; below *parent* it names the Workload."""
    policy: dict[str, object] = {"gang": {"minCount": gang}} if gang else {"basic": {}}
    return _group("PodGroup", name, parent, policy, workload if parent else "", spec)


def composite(name: str, parent: str | None = None, *, gang: int = 0, workload: str = "train", **spec: object) -> Group:
    policy: dict[str, object] = {"gang": {"minGroupCount": gang}} if gang else {"basic": {}}
    return _group("CompositePodGroup", name, parent, policy, workload, spec)


def _group(kind: str, name: str, parent: str | None, policy: dict[str, object], workload: str, spec: dict[str, object]) -> Group:
    """Return a group; ``namespace`` and ``created`` in *spec* go to the metadata, ``conditions`` to the status."""
    metadata = {"name": name, "namespace": spec.pop("namespace", ""), "creationTimestamp": spec.pop("created", FIRST)}
    status = {"conditions": spec.pop("conditions", None)}
    content: dict[str, object] = {"schedulingPolicy": policy, **spec}
    if parent is not None:
        content["parentCompositePodGroupName"] = parent
    if workload:
        content["workloadRef"] = {"workloadName": workload, "templateName": name}
    created = objects.decode_kind(kind, {"metadata": metadata, "spec": content, "status": status})
    assert isinstance(created, Group)
    return created


def pod(
    name: str,
    group: str = "",
    *,
    node: int = -1,
    priority: int = 0,
    created: str = FIRST,
    scheduler: str = "default-scheduler",
    preempts: bool = True,
    terminating: bool = False,
    gates: tuple[str, ...] = (),
    namespace: str = "default",
) -> PodRecord:
    """Return a pending pod, or with *node* a running one."""
    return PodRecord(
        key=f"{namespace}/{name}",
        namespace=namespace,
        shape=SHAPE,
        labels={},
        priority=priority,
        node=node,
        group=group,
        scheduler=scheduler,
        preempts=preempts,
        created=created,
        started="",
        terminating=terminating,
        gates=gates,
        nominated=-1,
    )


def snapshot(
    groups: Iterable[Group] = (),
    pods: Iterable[PodRecord] = (),
    *,
    others: Iterable[Object] = (),
    desired: dict[tuple[str, str], int] | None = None,
) -> ClusterSnapshot:
    """Return a snapshot with one node; *others* are objects that rules may look up besides the groups."""
    given = tuple(groups)
    nodes = NodeTable(["node-1"], [{}], [()], [False], BUILT_IN, np.zeros((len(BUILT_IN), 1), dtype=np.int64))
    return ClusterSnapshot(
        nodes=nodes,
        pods=tuple(pods),
        groups=given,
        priorities={(each.kind, namespace_of(each), each.metadata.name): each.spec.priority or 0 for each in given},
        desired=desired or {},
        budgets=(),
        known=KnownObjects([*given, *others], complete=False),
    )
