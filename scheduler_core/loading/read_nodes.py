"""Nodes as placement reads them."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Container, Hashable, Iterable, Mapping

from kubeapi import pod_requests
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.nodes import ContainerImage, Node, Taint
from scheduler_core.loading import object_errors
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.model.nodes import Image
from scheduler_core.plugins import registry


@dataclasses.dataclass(slots=True)
class NodeRead:
    """A node, not changed once it is read, but not frozen, which is slow; equal nodes may have different images.

    Attributes:
        labels: its labels.
        taints: its taints, without those of ``wrong``.
        unschedulable: whether it is cordoned.
        allocatable: amounts by resource, CPU in millicores, all else in units.
        kept: values that plugins keep of it, in order.
        images: its images.
        wrong: errors of its taints.

    """

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Mapping[str, int]
    kept: tuple[Hashable, ...]
    images: tuple[ContainerImage, ...] = dataclasses.field(compare=False)
    wrong: tuple[object_errors.FieldProblem, ...] = ()


def images_among(listed: Iterable[ContainerImage], names: Container[str]) -> tuple[Image, ...]:
    """Return the images of a node whose name is in *names*."""
    return tuple((name, image.size_bytes) for image in listed for name in image.names or () if name in names)


def _misspelt(gathered: GatheredObjects) -> str:
    """Return the clause about a field of the status with a name like allocatable; empty if there is none."""
    status = gathered.content().get("status")
    near = difflib.get_close_matches("allocatable", status if isinstance(status, dict) else (), n=1)
    return f": a node has no field status.{near[0]}" if near else ""


def read_node(gathered: GatheredObjects) -> tuple[Name, NodeRead]:
    """Return the name of a node, and the node.

    Raises:
        Unusable: the node cannot be used.

    """
    node = typed(gathered, Node)
    name = name_in(gathered.kind, node.metadata)
    # The API server sets allocatable to capacity by default.
    written, path = node.status.allocatable, "status.allocatable"
    if written is None:
        written, path = node.status.capacity, "status.capacity"
    if written is None:
        raise Unusable(f"status.allocatable is missing{_misspelt(gathered)}")
    try:
        allocatable, kept = pod_requests.amounts(written, path), registry.declared().kept_of_node(node)
    except ValueError as error:
        raise Unusable(str(error)) from None
    taints = node.spec.taints or ()
    wrong = tuple(object_errors.taints(taints)) if taints else ()
    if wrong:
        taints = tuple(each for each in taints if each.effect in object_errors.EFFECTS)
    return name, NodeRead(node.metadata.labels or {}, taints, node.spec.unschedulable, allocatable, kept, node.status.images or (), wrong)
