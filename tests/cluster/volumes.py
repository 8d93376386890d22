"""Claims, volumes and classes for the tests of this folder, as manifests, and a provisioner that stands in for a CSI driver."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from tests.cluster.api import Api, ApiError
from tests.cluster.follower import Follower
from tests.cluster.resources import Manifest

DRIVER = "csi.example.com"
STATIC = "kubernetes.io/no-provisioner"
DELAYED, AT_ONCE = "WaitForFirstConsumer", "Immediate"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


def storage_class(name: str, provisioner: str = DRIVER, mode: str = DELAYED, topologies: Sequence[Manifest] = ()) -> Manifest:
    """A StorageClass; *topologies* are its allowedTopologies."""
    content: Manifest = {"provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": "Delete"}
    if topologies:
        content["allowedTopologies"] = list(topologies)
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **content}


def claim(name: str, namespace: str, storage: str, size: int, *, volume: str = "", mode: str = "ReadWriteOnce") -> Manifest:
    """A claim of *size* Gi of the class *storage*; with *volume* one that asks for this volume."""
    spec: Manifest = {"accessModes": [mode], "storageClassName": storage, "resources": {"requests": {"storage": f"{size}Gi"}}}
    if volume:
        spec["volumeName"] = volume
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def volume(
    name: str,
    storage: str,
    size: int,
    *,
    labels: Mapping[str, str] | None = None,
    nodes: Mapping[str, Sequence[str]] | None = None,
    reference: tuple[str, str] | None = None,
    mode: str = "ReadWriteOnce",
    driver: str = DRIVER,
) -> Manifest:
    """A volume of *size* Gi on nodes with these label values, for the claim (namespace, name) of *reference*."""
    spec: Manifest = {
        "accessModes": [mode],
        "storageClassName": storage,
        "capacity": {"storage": f"{size}Gi"},
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if nodes:
        wanted = [{"key": key, "operator": "In", "values": list(values)} for key, values in nodes.items()]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}
    if reference:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": reference[0], "name": reference[1]}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec}


def mount(name: str) -> Manifest:
    """A pod's volume that is the claim *name*."""
    return {"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}}


def completed(found: Manifest) -> bool:
    """Return true if the claim is bound to its volume from both sides."""
    return bool(found["spec"].get("volumeName")) and BIND_COMPLETED in (found["metadata"].get("annotations") or {})


class Provisioner(Follower):
    """The provisioners of all classes: they make a volume on the selected node of each claim; a context manager.

    ``failing`` is the set of nodes on which it never makes one.  What fails is tried again with the next list.
    """

    kind = "PersistentVolumeClaim"
    list_seconds = 1.0

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.failing: set[str] = set()

    def saw(self, what: str, each: Manifest) -> None:
        """Create the volume of a claim, unless the claim is gone."""
        if what != "DELETED":
            self.provision(each)

    def provision(self, each: Manifest) -> None:
        """Create the volume of a claim if a node is selected for it."""
        metadata, spec = each["metadata"], each["spec"]
        on = (metadata.get("annotations") or {}).get(SELECTED_NODE)
        if not on or on in self.failing or spec.get("volumeName"):
            return
        driver = self._api.get("StorageClass", spec["storageClassName"])["provisioner"]
        size = int(spec["resources"]["requests"]["storage"].removesuffix("Gi"))
        made = volume(
            f"pvc-{metadata['uid']}",
            spec["storageClassName"],
            size,
            nodes={"kubernetes.io/hostname": [on]},
            reference=(metadata["namespace"], metadata["name"]),
            driver=driver,
        )
        made["metadata"]["annotations"] = {PROVISIONED_BY: driver}
        made["spec"]["claimRef"]["uid"] = metadata["uid"]
        with contextlib.suppress(ApiError):
            self._api.create(made)
