"""Nodes that were written by hand without ``allocatable.pods``: they are taken to have as many pod slots as the kubelet's default.

The kubelet always states the number. A node of a cluster has a ``metadata.uid``, and is never changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubeapi import decode
from kubeapi.gathered import GatheredObjects, Given, Unusable
from kubeapi.names import Name
from kubeapi.problem import Problem
from muster.render.file_notes import PodSlotsAssumed

SLOTS = 110
"""Default of the kubelet's maxPods."""
_STATED, _IDENTITY = b'"pods"', b'"uid"'


def with_pod_slots(objects: Iterable[Given], notes: list[Problem]) -> list[Given]:
    """Return gathered *objects* with pod slots of each node that was written by hand without them; *notes* gets one about these nodes.

    Stored objects are those of a large cluster, which nobody writes by hand.
    """
    assumed: list[Name] = []
    changed = [_with_slots(each, assumed) if isinstance(each, GatheredObjects) and each.kind == "Node" else each for each in objects]
    if assumed:
        notes.append(Problem(PodSlotsAssumed(SLOTS), tuple(assumed)))
    return changed


def _with_slots(node: GatheredObjects, assumed: list[Name]) -> GatheredObjects:
    text = bytes(node.text)
    if _STATED in text and _IDENTITY in text:
        # A cluster has many nodes, and decoding them takes time.
        return node
    try:
        content = node.content()
    except Unusable:
        return node
    metadata, status = content.get("metadata"), content.get("status")
    if not (isinstance(metadata, dict) and isinstance(status, dict)) or metadata.get("uid"):
        return node
    field = "allocatable" if "allocatable" in status else "capacity"
    amounts = status.get(field)
    if not isinstance(amounts, dict) or "pods" in amounts:
        return node
    assumed.append(Name("Node", "", str(metadata.get("name", ""))))
    status = {**status, field: {**amounts, "pods": str(SLOTS)}}
    return GatheredObjects(node.kind, node.api_version, decode.ENCODER.encode({**content, "status": status}))
