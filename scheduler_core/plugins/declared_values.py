"""Values that a plugin keeps of each node and of each pod, as it declares them in ``node_values`` and ``pod_values``.

Whatever reads nodes and pods fills them in ``NodeTable.kept`` and ``PodShape.kept``: files, events and changed objects.  A pod that differs in
them has another shape.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kubeapi.base_structs import Record
from kubeapi.nodes import Node
from kubeapi.pods import Pod
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape

H = TypeVar("H", bound=Hashable)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeValue(Generic[H]):
    """Value that a plugin keeps of each node.

    Attributes:
        name: its name in ``NodeTable.kept``: that of the plugin, or one that begins with it.
        read: returns the value of a node; a node counts as changed only if a value differs.

    """

    name: str
    read: Callable[[Node], H]

    def by_node(self, nodes: NodeTable) -> Sequence[H]:
        """Return the value of each of *nodes*."""
        return typing.cast("Sequence[H]", nodes.kept[self.name])


@dataclasses.dataclass(frozen=True, slots=True)
class PodValue(Generic[H]):
    """Value that a plugin keeps of each pod, in its shape.

    Attributes:
        name: its name in ``PodShape.kept``: that of the plugin, or one that begins with it.
        read: returns the value of a pod, which msgspec can encode; it depends on ``spec`` and ``status`` alone.
        default: the value of most pods, which is not kept.
        of_requests: True if *read* depends on nothing but containers, ``hostNetwork`` and ``hostUsers``, so that it is called only once for pods
            with the same requests.

    """

    name: str
    read: Callable[[Pod], H]
    default: H
    of_requests: bool = False

    def of_shape(self, shape: PodShape) -> H:
        """Return the value of the pods of *shape*."""
        found = next((value for name, value in shape.kept if name == self.name), self.default)
        return typing.cast("H", found)


class DeclaredValues(Record, frozen=True):
    """Values that plugins declare."""

    of_nodes: tuple[NodeValue[Any], ...]
    of_pods: tuple[PodValue[Any], ...]
    _apart: tuple[PodValue[Any], ...]

    @classmethod
    def collected(cls, of_nodes: Iterable[NodeValue[Any]], of_pods: Iterable[PodValue[Any]]) -> DeclaredValues:
        """Return the values; raises ValueError if two have one name."""
        of_nodes, of_pods = tuple(of_nodes), tuple(of_pods)
        for values in (of_nodes, of_pods):
            if len({value.name for value in values}) < len(values):
                raise ValueError(f"two plugins declare a value of one name: {', '.join(value.name for value in values)}")
        return cls(of_nodes, of_pods, tuple(each for each in of_pods if not each.of_requests))

    def kept_of_node(self, node: Node) -> tuple[Hashable, ...]:
        """Return the values of *node*, in order."""
        # Faster than a generator: there are thousands of nodes.
        return tuple([each.read(node) for each in self.of_nodes])

    def kept_of_pod(self, pod: Pod) -> tuple[tuple[str, Hashable], ...]:
        """Return the names and values of *pod* that are not the defaults."""
        values = ((each, each.read(pod)) for each in self.of_pods)
        return tuple((each.name, value) for each, value in values if value != each.default)

    def distinguishing(self, pod: Pod) -> tuple[Hashable, ...]:
        """Return the values of *pod* that pods with the same requests can differ in."""
        return tuple(each.read(pod) for each in self._apart) if self._apart else ()
