"""New PersistentVolumeClaims as the cluster treats them before their pods are scheduled.

The API server sets the default class (admission plugin DefaultStorageClass), and a class that binds immediately gets a volume at once.  No
object says where that is, except the ``allowedTopologies`` of the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from expansion.admission.static_volumes import BOUND, CLASS
from expansion.contents import Content, items
from kubeapi.base_structs import Record
from kubeapi.decode import section

_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_DELAYED = "WaitForFirstConsumer"


class StorageClasses(Record, frozen=True):
    """StorageClasses of a cluster by name, and the name of the default one; empty if there is none."""

    by_name: Mapping[str, Content]
    default: str

    @classmethod
    def from_objects(cls, classes: Iterable[Content]) -> StorageClasses:
        """Return *classes*; of several default ones, that which was created last, then the first by name."""
        by_name = {str(section(each, "metadata").get("name")): each for each in classes}
        defaults = [each for each in sorted(by_name) if _is_default(by_name[each])]
        created = {each: str(section(by_name[each], "metadata").get("creationTimestamp") or "") for each in defaults}
        return cls(by_name, max(defaults, key=created.__getitem__, default=""))

    @property
    def delayed(self) -> frozenset[str]:
        """Return the classes whose claims wait for a pod."""
        return frozenset(name for name, each in self.by_name.items() if each.get("volumeBindingMode") == _DELAYED)

    def set_default(self, claim: Content) -> bool:
        """Set the default class in a claim, or the template of one, that names none; return whether it is changed."""
        spec = section(claim, "spec")
        if not self.default or spec.get("storageClassName") is not None or CLASS in section(section(claim, "metadata"), "annotations"):
            return False
        claim["spec"] = {**spec, "storageClassName": self.default}
        return True

    def volume(self, claim: Content) -> Content | None:
        """Bind a new claim to the volume that its class provides at once, and return that; None if it does not."""
        spec, metadata = section(claim, "spec"), section(claim, "metadata")
        provider = self.by_name.get(str(spec.get("storageClassName") or ""), {})
        provisioner = provider.get("provisioner")
        immediate = provider.get("volumeBindingMode") != _DELAYED and provisioner and provisioner != _NO_PROVISIONER
        if not immediate or spec.get("volumeName") or spec.get("selector") or section(claim, "status").get("phase") == "Bound":
            return None
        namespace, name = metadata.get("namespace") or "default", str(metadata.get("name"))
        volume_name = f"pvc-{namespace}-{name}"
        claim["spec"] = {**spec, "volumeName": volume_name}
        claim["metadata"] = {**metadata, "annotations": {**section(metadata, "annotations"), BOUND: "yes"}}
        claim["status"] = {"phase": "Bound"}
        terms = [*_terms(provider)]
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume_name},
            "spec": {
                "capacity": section(section(spec, "resources"), "requests"),
                "accessModes": spec.get("accessModes") or [],
                "storageClassName": spec.get("storageClassName"),
                "claimRef": {"namespace": namespace, "name": name},
                "csi": {"driver": provisioner, "volumeHandle": volume_name},
                **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}),
            },
            "status": {"phase": "Bound"},
        }


def _is_default(storage_class: Content) -> bool:
    annotations = section(section(storage_class, "metadata"), "annotations")
    return any(annotations.get(each) == "true" for each in _DEFAULT)


def _terms(storage_class: Content) -> Iterator[Content]:
    """Yield the allowed topologies of a class as terms of a node selector."""
    for topology in items(storage_class, "allowedTopologies"):
        expressions = [
            {"key": each.get("key"), "operator": "In", "values": each.get("values")} for each in items(topology, "matchLabelExpressions")
        ]
        if expressions:
            yield {"matchExpressions": expressions}
