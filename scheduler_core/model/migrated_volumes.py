"""In-tree volume plugins whose volumes a CSI driver serves (Kubernetes 1.37.1, csi-translation-lib)."""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.selectors import NodeSelector

MIGRATED_DRIVERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""CSI drivers by plugin."""
_NOT_COUNTED = ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")
"""Plugins that can migrate, but whose volumes kube-scheduler does not count."""


class MigratedVolume(Record, frozen=True):
    """A volume of an in-tree plugin that a CSI driver serves on nodes where the plugin is migrated.

    Attributes:
        plugin: the in-tree plugin.
        driver: the CSI driver; empty if it cannot serve the volume.
        affinity: its required node affinity there.

    """

    plugin: str
    driver: str
    affinity: NodeSelector | None


def driver_of_provisioner(name: str) -> str:
    """Return the CSI driver whose volumes are counted for the provisioner *name*; empty if they are not counted."""
    return "" if name in _NOT_COUNTED else MIGRATED_DRIVERS.get(name, name)
