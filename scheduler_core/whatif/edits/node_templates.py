"""Raw nodes, and the pods that belong to a node: template of a new node of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.model.names import HOSTNAME

Content = dict[str, Any]
_OF_A_MACHINE = ("node.kubernetes.io", "/")
_CORDON = "node.kubernetes.io/unschedulable"
_IDENTITY = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "ownerReferences")
OWNERS = ("DaemonSet", "Node")
"""Kinds of owners whose pods belong to their node."""


def belongs_to_its_node(pod: Content) -> bool:
    """Return whether *pod* belongs to its node: a DaemonSet pod or a static pod."""
    owners = section(pod, "metadata").get("ownerReferences")
    entries = owners if isinstance(owners, list) else []
    return any(isinstance(each, Mapping) and each.get("kind") in OWNERS for each in entries)


def companion(pod: Content, node: str) -> Content:
    """Return a copy of a DaemonSet or static pod for *node*, under a new name."""
    metadata = section(pod, "metadata")
    own = {key: value for key, value in metadata.items() if key not in _IDENTITY}
    owned = {**own, "name": f"{metadata.get('name')}-{node}", "ownerReferences": metadata.get("ownerReferences")}
    return {**pod, "metadata": owned, "spec": {**section(pod, "spec"), "nodeName": node}}


def fresh(node: Content, name: str, others: Mapping[str, str], larger: Mapping[str, str]) -> Content:
    """Return a node of the same kind without its identity, images, and taints that describe the state of a machine.

    It has the labels *others* and the allocatable amounts *larger* in place of its own.
    """
    metadata, spec = section(node, "metadata"), section(node, "spec")
    kept_metadata = {key: value for key, value in metadata.items() if key not in _IDENTITY}
    labels = section(metadata, "labels")
    renamed = {**labels, **({HOSTNAME: name} if HOSTNAME in labels else {}), **others}
    status = {key: value for key, value in section(node, "status").items() if key != "images"}
    if larger:
        status = {**status, "allocatable": {**(status.get("allocatable") or status.get("capacity") or {}), **larger}}
    taints = [each for each in spec.get("taints") or () if not is_of_machine(str(each.get("key")))]
    remaining = {key: value for key, value in spec.items() if key not in ("unschedulable", "taints")}
    return {
        **node,
        "metadata": {**kept_metadata, "name": name, "labels": renamed},
        "spec": {**remaining, "taints": taints},
        "status": status,
    }


def is_of_machine(taint_key: str) -> bool:
    """Return whether a taint with that key describes the state of a machine: kubelet and controllers set it."""
    return taint_key.partition("/")[:2] == _OF_A_MACHINE


def uncordoned(node: Content) -> Content:
    """Return *node* as ``kubectl uncordon`` leaves it, without the taint that the node controller then removes."""
    spec = section(node, "spec")
    kept = {key: value for key, value in spec.items() if key not in ("unschedulable", "taints")}
    if taints := [each for each in spec.get("taints") or () if each.get("key") != _CORDON]:
        kept["taints"] = taints
    return {**node, "spec": kept}


def cordoned(node: Content) -> Content:
    """Return *node* as ``kubectl cordon`` leaves it, with the taint that the node controller then adds."""
    spec = section(node, "spec")
    others = [each for each in spec.get("taints") or () if each.get("key") != _CORDON]
    return {**node, "spec": {**spec, "unschedulable": True, "taints": [*others, {"key": _CORDON, "effect": "NoSchedule"}]}}


def csi_drivers(node: Content, name: str) -> Content:
    """Return a copy of a CSINode for the new node *name*."""
    return {**node, "metadata": {"name": name}}


def section(content: Content, name: str) -> dict[str, Any]:
    """Return a nested object, which may be modified in place; a new empty one, without effect, if there is none."""
    section = content.get(name)
    return section if isinstance(section, dict) else {}
