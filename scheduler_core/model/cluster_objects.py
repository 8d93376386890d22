"""Nodes and disruption budgets as the API encodes them, as far as placement reads them; ``wire`` has pods and the base class."""

from __future__ import annotations

from kubeapi.meta import ObjectMeta, Struct
from scheduler_core.model.wire import Amounts, Int32, Int64, LabelSelector, Taint


class NodeSpec(Struct, frozen=True, gc=False):
    """``spec`` of a node."""

    taints: tuple[Taint, ...] | None = None
    unschedulable: bool = False


class ContainerImage(Struct, frozen=True, gc=False):
    """An image on a node, with all its names."""

    names: tuple[str, ...] | None = None
    size_bytes: Int64 = 0


class NodeStatus(Struct, frozen=True, gc=False):
    """``status`` of a node."""

    allocatable: Amounts | None = None
    capacity: Amounts | None = None
    declared_features: tuple[str, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None


class Node(Struct, frozen=True, gc=False):
    """core/v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(Struct, frozen=True, gc=False):
    """core/v1 Namespace, of which only the labels are read."""

    metadata: ObjectMeta = ObjectMeta()


class BudgetSpec(Struct, frozen=True, gc=False):
    """``spec`` of a PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class BudgetStatus(Struct, frozen=True, gc=False):
    """``status`` of a PodDisruptionBudget."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    disrupted_pods: dict[str, str] | None = None


class PodDisruptionBudget(Struct, frozen=True, gc=False):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


def has_tag(image: str) -> bool:
    """Return whether the name of an image has a tag or a digest; kube-scheduler adds ``:latest`` to other names in pods, but not in nodes."""
    return image.rfind(":") > image.rfind("/")
