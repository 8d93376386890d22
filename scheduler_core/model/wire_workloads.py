"""Services and controllers of pods as the API encodes them: their selectors (core/v1, apps/v1).  Decoding is typed as in ``wire``."""

from __future__ import annotations

from kubeapi.meta import Struct
from scheduler_core.model.wire import LabelSelector


class SelectingMeta(Struct, frozen=True, gc=False):
    """``metadata`` of an object that selects pods."""

    name: str = ""
    namespace: str = ""


class LabelsSpec(Struct, frozen=True, gc=False):
    """``spec`` with a selector that is a map of labels."""

    selector: dict[str, str] | None = None


class Service(Struct, frozen=True, gc=False):
    """core/v1 Service."""

    metadata: SelectingMeta = SelectingMeta()
    spec: LabelsSpec = LabelsSpec()


class ReplicationController(Service, frozen=True, gc=False):
    """core/v1 ReplicationController."""


class SelectorSpec(Struct, frozen=True, gc=False):
    """``spec`` with a label selector."""

    selector: LabelSelector | None = None


class ReplicaSet(Struct, frozen=True, gc=False):
    """apps/v1 ReplicaSet."""

    metadata: SelectingMeta = SelectingMeta()
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(ReplicaSet, frozen=True, gc=False):
    """apps/v1 StatefulSet."""
