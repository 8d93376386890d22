"""Nodes as they are written, and the pods that belong to one: what a fresh node of the same kind is, and runs from the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Content = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
_OF_A_MACHINE = "node.kubernetes.io/"
_IDENTITY = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "ownerReferences")
OWNERS = ("DaemonSet", "Node")
"""Kinds of owners whose pods belong to their node."""


def belongs_to_its_node(pod: Content) -> bool:
    """Whether every node has one of its kind, or it is that node's own: pods of DaemonSets, and static ones."""
    owners = section(pod, "metadata").get("ownerReferences")
    listed = owners if isinstance(owners, list) else []
    return any(isinstance(each, Mapping) and each.get("kind") in OWNERS for each in listed)


def companion(pod: Content, node: str) -> Content:
    """The like of a pod that belongs to its node, on *node* and under a name of its own."""
    metadata = section(pod, "metadata")
    own = {key: value for key, value in metadata.items() if key not in _IDENTITY}
    owned = {**own, "name": f"{metadata.get('name')}-{node}", "ownerReferences": metadata.get("ownerReferences")}
    return {**pod, "metadata": owned, "spec": {**section(pod, "spec"), "nodeName": node}}


def fresh(node: Content, name: str, others: Mapping[str, str], larger: Mapping[str, str]) -> Content:
    """A node of the same kind without its identity, and without taints that tell of a machine's state."""
    metadata, spec = section(node, "metadata"), section(node, "spec")
    own = {key: value for key, value in metadata.items() if key not in _IDENTITY}
    labels = {**section(metadata, "labels"), **others}
    renamed = {**labels, HOSTNAME: name} if HOSTNAME in labels else labels
    status = section(node, "status")
    if larger:
        status = {**status, "allocatable": {**(status.get("allocatable") or status.get("capacity") or {}), **larger}}
    lasting = [each for each in spec.get("taints") or () if not str(each.get("key")).startswith(_OF_A_MACHINE)]
    kept = {key: value for key, value in spec.items() if key not in ("unschedulable", "taints")}
    return {**node, "metadata": {**own, "name": name, "labels": renamed}, "spec": {**kept, "taints": lasting}, "status": status}


def section(content: Content, name: str) -> dict[str, Any]:
    """An object inside another, to be changed in place; an empty one, of no effect, where there is none."""
    section = content.get(name)
    return section if isinstance(section, dict) else {}
