"""Services and controllers of pods as the API encodes them: their selectors (core/v1, apps/v1).  Decoding is typed as in ``wire``."""

from __future__ import annotations

from scheduler_core.model.wire import LabelSelector, Wire


class SelectingMeta(Wire, frozen=True, gc=False):
    """``metadata`` of an object that selects pods."""

    name: str = ""
    namespace: str = ""


class LabelsSpec(Wire, frozen=True, gc=False):
    """``spec`` with a selector that is a map of labels."""

    selector: dict[str, str] | None = None


class Service(Wire, frozen=True, gc=False):
    """core/v1 Service."""

    metadata: SelectingMeta = SelectingMeta()
    spec: LabelsSpec = LabelsSpec()


class ReplicationController(Service, frozen=True, gc=False):
    """core/v1 ReplicationController."""


class SelectorSpec(Wire, frozen=True, gc=False):
    """``spec`` with a label selector."""

    selector: LabelSelector | None = None


class ReplicaSet(Wire, frozen=True, gc=False):
    """apps/v1 ReplicaSet."""

    metadata: SelectingMeta = SelectingMeta()
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(ReplicaSet, frozen=True, gc=False):
    """apps/v1 StatefulSet."""
