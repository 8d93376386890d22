"""Nodes by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.base_structs import Record
from kubeapi.gather import Name
from kubeapi.problem import Problem
from scheduler_core.cluster.store import Store
from scheduler_core.loading.read_nodes import NodeRead, read_node
from scheduler_core.model.names import Name as ObjectName


class NodeChange(Record, frozen=True):
    """Effect of a changed node.

    Attributes:
        name: the node.
        differs: whether a field changed that placement reads, other than images.
        added: whether there was no such node that can be used.
        removed: whether there is none any more.

    """

    name: str
    differs: bool
    added: bool
    removed: bool


class NodeStore(Store[NodeChange]):
    """Nodes.

    Attributes:
        nodes: the usable nodes by name.

    """

    readers = {"Node": read_node}

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, NodeRead] = {}

    def problems(self) -> Iterator[Problem]:
        """Yield the errors of taints."""
        for name, node in self.nodes.items():
            yield from (Problem.about(ObjectName("Node", "", name), error) for error in node.wrong)

    def _add_all(self, kind: str, values: Mapping[Name, Any]) -> None:  # noqa: ARG002 - there is one
        self.nodes.update({name: node for (_, name), node in values.items()})

    def _set(self, kind: str, name: Name, value: Any) -> NodeChange:  # noqa: ARG002 - there is one
        before = self.nodes.get(name[1])
        if value is None:
            self.nodes.pop(name[1], None)
        else:
            self.nodes[name[1]] = value
        return NodeChange(name[1], before != value, before is None and value is not None, before is not None and value is None)
