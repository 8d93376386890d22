"""Nodes and namespaces."""

from __future__ import annotations

from typing import Annotated, ClassVar

from kubeapi.meta import Int64, ObjectMeta, Struct
from kubeapi.quantity import Amounts
from kubeapi.redaction import Mark, Name


class Taint(Struct, frozen=True, gc=False):
    """core/v1 Taint: repels pods that do not tolerate it."""

    key: str
    effect: str = ""
    value: Name = ""


class NodeSpec(Struct, frozen=True, gc=False):
    """core/v1 NodeSpec."""

    taints: tuple[Taint, ...] | None = None
    unschedulable: bool = False


class ContainerImage(Struct, frozen=True, gc=False):
    """core/v1 ContainerImage: an image on a node, with all its names."""

    names: tuple[Annotated[str, Mark.NODE_IMAGE], ...] | None = None
    size_bytes: Int64 = 0


class NodeStatus(Struct, frozen=True, gc=False):
    """core/v1 NodeStatus."""

    allocatable: Amounts | None = None
    capacity: Amounts | None = None
    declared_features: tuple[str, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None


class Node(Struct, frozen=True, gc=False):
    """core/v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
    kind: ClassVar[str] = "Node"


class Namespace(Struct, frozen=True, gc=False):
    """core/v1 Namespace, of which only the labels are read."""

    metadata: ObjectMeta = ObjectMeta()
