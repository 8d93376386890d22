"""Creation of the pods of controllers' objects: what a caller can change about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from expansion.contents import Content
from kubeapi.base_structs import Record, record_field
from kubeapi.versions.kubernetes_releases import TODAY
from validators.gates import ALL_ON, Gates
from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate

POD_NODE_SELECTOR = "PodNodeSelector"
POD_TOLERATION_RESTRICTION = "PodTolerationRestriction"
EXTENDED_RESOURCE_TOLERATION = "ExtendedResourceToleration"
OF_NAMESPACES = frozenset({POD_NODE_SELECTOR, POD_TOLERATION_RESTRICTION})
"""Admission plugins that read annotations of namespaces."""
ADMISSION_PLUGINS = (POD_NODE_SELECTOR, POD_TOLERATION_RESTRICTION, EXTENDED_RESOURCE_TOLERATION)
"""Admission plugins that can be on: those of the API server that are off by default, and change pods so that placement differs."""


class Gang(Record, frozen=True):
    """Gang of all pods; *topology* is the node label of its one domain, empty for no constraint."""

    topology: str = ""

    def spec(self, pods: int) -> Content:
        """Return the spec of the PodGroup of *pods* pods."""
        spec: Content = {"schedulingPolicy": {"gang": {"minCount": pods}}}
        return spec | self.constraints()

    def constraints(self) -> Content:
        """Return the topology constraint as a part of the spec of a group; empty if there is none."""
        return {"schedulingConstraints": {"topology": [{"key": self.topology}]}} if self.topology else {}


class PodCreation(Record, frozen=True):
    """Creation of the pods of the given objects.

    Attributes:
        gang: gang to make of objects that are none; None for no change.
        levels: node labels by the names of other schedulers' topology levels.
        without_pods: unknown kinds that create no pods, as ``KIND`` or ``KIND.GROUP``.
        pod_templates: pod templates of further kinds, as ``KIND`` or ``KIND.GROUP``.
        kubernetes: minor version of Kubernetes whose controllers create them.
        gates: feature gates of the controllers.
        admission_plugins: those of ``ADMISSION_PLUGINS`` that are on.
        platform: key of ``MANAGED_CLUSTERS``, whose plugins are on too unless the cluster shows its API server; empty for none.

    """

    gang: Gang | None = None
    levels: Mapping[str, str] = record_field(default_factory=dict)
    without_pods: Collection[str] = frozenset()
    pod_templates: Mapping[str, Sequence[DeclaredTemplate]] = record_field(default_factory=dict)
    kubernetes: int = TODAY
    gates: Gates = ALL_ON
    admission_plugins: frozenset[str] = frozenset()
    platform: str = ""

    def creates_none(self, group: str, kind: str) -> bool:
        """Return whether objects of a kind are said to create no pods."""
        return kind in self.without_pods or f"{kind}.{group}" in self.without_pods


UNCHANGED = PodCreation()
"""As their controllers create them."""
