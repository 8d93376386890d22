"""Volumes of in-tree plugins that a CSI driver serves (Kubernetes 1.37.1, csi-translation-lib): driver, and node affinity.

On a node whose CSINode says that the plugin is migrated, the node affinity of the volume is about the node labels of the CSI driver.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from kubeapi.volumes import PersistentVolumeSpec
from scheduler_core.model.migrated_volumes import MIGRATED_DRIVERS, MigratedVolume

_PLUGINS = {
    "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
    "gce_persistent_disk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
    "azure_disk": ("kubernetes.io/azure-disk", ""),
    "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
    "portworx_volume": ("kubernetes.io/portworx-volume", ""),
}
"""Plugin, and node label with the zone of its CSI driver (empty: the node affinity stays the same), by source."""
_REGION = "topology.kubernetes.io/region"
_LABELS = (
    ("topology.kubernetes.io/zone", _REGION),
    ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"),
)
_DELIMITER = "__"


def migrated_volume(spec: PersistentVolumeSpec, labels: Mapping[str, str]) -> MigratedVolume | None:
    """Return the driver and node affinity of a volume with an in-tree source; None for other volumes."""
    for source, (plugin, label) in _PLUGINS.items():
        if getattr(spec, source) is not None:
            # The API server sets an absent kind to Shared.
            unmanaged = spec.azure_disk is not None and (spec.azure_disk.kind or "Shared").lower() != "managed"
            affinity = spec.node_affinity.required if spec.node_affinity else None
            driver = "" if unmanaged else MIGRATED_DRIVERS[plugin]
            return MigratedVolume(plugin, driver, _translated(affinity, labels, label) if label else affinity)
    return None


def _translated(affinity: NodeSelector | None, labels: Mapping[str, str], label: str) -> NodeSelector | None:
    """Return the node affinity with *label* instead of the zone label; without any, with the zones that the volume's labels name."""
    terms = (affinity and affinity.node_selector_terms) or ()
    expressions = [each for term in terms for each in term.match_expressions or ()]
    known = [pair for keys in ({each.key for each in expressions}, labels) for pair in _LABELS if pair[0] in keys]
    zone, region = (*known, *_LABELS)[0]
    # A label is replaced in all terms, if one of them has values for it.
    keys = {each.key: {zone: label, region: _REGION}[each.key] for each in expressions if each.key in (zone, region) and each.values}
    zoned = zone in keys
    terms = tuple(_with_keys(each, keys) for each in terms)
    zones = sorted({each.strip() for each in labels.get(zone, "").split(_DELIMITER)} - {""})
    if zones and not zoned:
        added = Requirement(label, "In", tuple(zones))
        terms = tuple(
            NodeSelectorTerm((*(each.match_expressions or ()), added), each.match_fields) for each in terms or (NodeSelectorTerm(),)
        )
    return NodeSelector(terms) if affinity is not None or terms else None


def _with_keys(term: NodeSelectorTerm, keys: Mapping[str, str]) -> NodeSelectorTerm:
    """Return *term* with other *keys* of labels."""
    expressions = (Requirement(keys.get(each.key, each.key), each.operator, each.values) for each in term.match_expressions or ())
    return NodeSelectorTerm(tuple(expressions), term.match_fields)
