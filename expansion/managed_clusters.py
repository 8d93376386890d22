"""Presets of managed clusters: the admission plugins that their documentation says are on, with the sources.

A managed cluster does not show the options of its API server.  Only what a public page states is here; plugins that are on in every
cluster, or that change no field of pods that decides on nodes, are left out.  Taints are those of the nodes in the input.
"""

from __future__ import annotations

from collections.abc import Mapping

from expansion.pod_creation import EXTENDED_RESOURCE_TOLERATION, POD_NODE_SELECTOR, POD_TOLERATION_RESTRICTION
from kubeapi.base_structs import Record


class ManagedCluster(Record, frozen=True):
    """Clusters of one provider.

    Attributes:
        title: name of the service.
        plugins: admission plugins, off by default, that are on there.
        source: address of the page that says so.
        as_of: date of the page.

    """

    title: str
    plugins: frozenset[str]
    source: str
    as_of: str


MANAGED_CLUSTERS: Mapping[str, ManagedCluster] = {
    # "GKE runs the ExtendedResourceToleration admission controller."
    "gke": ManagedCluster(
        "GKE", frozenset({EXTENDED_RESOURCE_TOLERATION}), "https://cloud.google.com/kubernetes-engine/docs/how-to/gpus", "2026-04-08"
    ),
    # "The following admission controllers are enabled for all 1.32 platform versions", and for all from 1.23 on.
    "eks": ManagedCluster(
        "EKS",
        frozenset({EXTENDED_RESOURCE_TOLERATION}),
        "https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html",
        "2025-01-17",
    ),
    # "AKS supports the following admission controllers"; nobody can modify the list.
    "aks": ManagedCluster(
        "AKS",
        frozenset({EXTENDED_RESOURCE_TOLERATION, POD_NODE_SELECTOR, POD_TOLERATION_RESTRICTION}),
        "https://learn.microsoft.com/azure/aks/faq",
        "2026-09-15",
    ),
}
"""Presets by their names."""
