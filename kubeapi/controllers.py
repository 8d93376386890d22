"""Services and controllers of pods, with their selectors."""

from __future__ import annotations

from kubeapi.meta import NamespacedName, Struct
from kubeapi.redaction import Labels
from kubeapi.selectors import LabelSelector

CONTROLLERS = {
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
"""apiVersion of the controllers whose selectors are used, by kind."""


class LabelsSpec(Struct, frozen=True, gc=False):
    """``spec`` with a selector that is a map of labels."""

    selector: Labels | None = None


class Service(Struct, frozen=True, gc=False):
    """core/v1 Service."""

    metadata: NamespacedName = NamespacedName()
    spec: LabelsSpec = LabelsSpec()


class ReplicationController(Service, frozen=True, gc=False):
    """core/v1 ReplicationController."""


class SelectorSpec(Struct, frozen=True, gc=False):
    """``spec`` with a label selector."""

    selector: LabelSelector | None = None


class ReplicaSet(Struct, frozen=True, gc=False):
    """apps/v1 ReplicaSet."""

    metadata: NamespacedName = NamespacedName()
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(ReplicaSet, frozen=True, gc=False):
    """apps/v1 StatefulSet."""
