"""Changes of volumes, claims, storage classes, storage capacity and attach limits."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kubeapi.base_structs import Record
from scheduler_core.causes import changes
from scheduler_core.causes.changes import Change
from scheduler_core.causes.node_count import NodeLabel
from scheduler_core.model.delayed_claims import ClaimRequest, written
from scheduler_core.model.names import HOSTNAME, Domain, Name
from scheduler_core.model.volumes import ClaimName
from scheduler_core.whatif.edits.edits import MORE_STORAGE, Rewritten
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book

WAITS = "WaitForFirstConsumer"
"""Binding mode of a class whose claims wait for a pod."""
_ADDED = "-added-"
_NAMESPACE = "default"
"""Namespace of new storage capacities."""
_IN_NAME = str.maketrans("_.", "--")
"""Characters of label values that a name cannot have, or not everywhere."""
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_IDENTITY = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "annotations", "labels")


class ChangedStorage(Rewritten):
    """Objects about volumes."""

    def __init__(self, change: Change, rewrite: Callable[[Book], Sequence[Content] | None], extent: int = 1) -> None:
        super().__init__(change, rewrite, (MORE_STORAGE, extent))


def more_volumes(volumes: Sequence[tuple[str, ClaimRequest]], domain: Domain | None) -> ChangedStorage:
    """Return the edit that adds local *volumes*, each a node and a claim that it is for, in *domain*; None is the cluster."""
    kinds = Counter((request.storage_class, request.size or 0) for _, request in volumes)
    nodes = tuple(sorted({node for node, _ in volumes}))
    added = changes.AddedVolumes(tuple(changes.LocalVolumes(count, *each) for each, count in kinds.items()), domain, nodes)

    def rewrite(book: Book) -> list[Content] | None:
        result: list[Content] = []
        numbers: dict[tuple[str, str], int] = {}
        for node, request in volumes:
            label = section(section(book.get("Node", "", node) or {}, "metadata"), "labels").get(HOSTNAME)
            if label is None:
                return None
            number = numbers.get((request.storage_class, node), 1)
            while book.get("PersistentVolume", "", name := f"{request.storage_class}-{node}{_ADDED}{number}") is not None:
                number += 1
            numbers[request.storage_class, node] = number + 1
            result.append(_local_volume(name, str(label), request))
        return result

    return ChangedStorage(added, rewrite, len(volumes))


def _local_volume(name: str, hostname: str, request: ClaimRequest) -> Content:
    """Return a volume on the node with the label *hostname* that serves *request*."""
    expressions = [each for each in request.selector or () if each.operator in ("In", "Exists")]
    spec = {
        "accessModes": [*request.access_modes] or ["ReadWriteOnce"],
        "capacity": {"storage": written(request.size or 1)},
        "local": {"path": f"/mnt/{name}"},
        "nodeAffinity": {
            "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [hostname]}]}]}
        },
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": request.storage_class,
        "volumeMode": request.mode,
        **({"volumeAttributesClassName": request.attributes} if request.attributes else {}),
    }
    labels = {each.key: (each.values or ("",))[0] for each in expressions}
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


class AddedCapacity(Record, frozen=True):
    """A storage capacity to raise or to add.

    Attributes:
        name: namespace and name of the object; None to add one.
        storage_class: its class.
        nodes: its nodes; None for all.
        before: present capacity in bytes; negative if there is none.
        labels: labels of its nodes, for a new object.
        total: bytes that all claims need, those of earlier roots included.
        largest: bytes of the largest volume.
        limit: present bytes of the largest volume; None if it is large enough, or if the capacity is the limit.
        taken: bytes that the claims of earlier roots need.
        sums_alone: True if the capacity is large enough for each claim alone.

    """

    name: ClaimName | None
    storage_class: str
    nodes: NodeLabel | Domain | None
    before: int
    labels: Mapping[str, str]
    total: int
    largest: int
    limit: int | None = None
    taken: int = 0
    sums_alone: bool = False

    @property
    def raises_capacity(self) -> bool:
        """Return whether the claims need more; an unknown capacity is not compared if the largest volume is known."""
        return self.before < self.total and (self.before >= 0 or self.limit is None)

    @property
    def raised(self) -> changes.RaisedCapacity | None:
        """Return the figures that are raised; None if there are none."""
        volume = None if self.limit is None else changes.Raised(self.limit, self.largest)
        capacity = changes.Raised(self.before if self.before >= 0 else None, self.total) if self.raises_capacity else None
        return None if volume is capacity is None else changes.RaisedCapacity(self.storage_class, self.nodes, volume, capacity)


def more_capacity(capacities: Sequence[AddedCapacity]) -> ChangedStorage:
    """Return the edit that raises storage capacities."""
    raised = changes.RaisedCapacities(tuple(each.raised for each in capacities if each.raised is not None))

    def rewrite(book: Book) -> list[Content] | None:
        result = []
        for each in capacities:
            content = _new_capacity(each, book) if each.name is None else book.get("CSIStorageCapacity", *each.name)
            if content is None:
                return None
            if each.raises_capacity:
                content["capacity"] = written(each.total)
            if each.limit is not None:
                content["maximumVolumeSize"] = written(max(each.limit, each.largest))
            result.append(content)
        return result

    return ChangedStorage(raised, rewrite, len(capacities))


def _new_capacity(each: AddedCapacity, book: Book) -> Content:
    # A label value can have characters that a name cannot have.
    suffix = "".join(f"-{value}" for value in each.labels.values()).lower().translate(_IN_NAME)
    names = (f"{each.storage_class}{_ADDED}{number}{suffix}" for number in itertools.count(1))
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {
            "name": next(name for name in names if book.get("CSIStorageCapacity", _NAMESPACE, name) is None),
            "namespace": _NAMESPACE,
        },
        "storageClassName": each.storage_class,
        "nodeTopology": {"matchLabels": dict(each.labels)},
    }


def more_attachments(driver: str, before: Mapping[str, int], more: int) -> ChangedStorage:
    """Return the edit that raises the attach limit of *driver* by *more*; *before* are the limits by node."""
    limits = tuple(changes.AttachLimit(node, limit) for node, limit in sorted(before.items()))

    def rewrite(book: Book) -> list[Content] | None:
        result = []
        for node, limit in sorted(before.items()):
            content = book.get("CSINode", "", node)
            entries = [each for each in section(content or {}, "spec").get("drivers") or () if each.get("name") == driver]
            if content is None or not entries:
                return None
            section(entries[0], "allocatable")["count"] = limit + more
            result.append(content)
        return result

    return ChangedStorage(changes.RaisedAttachLimits(driver, limits, more), rewrite, more * len(before))


def new_classes(names: Sequence[str], like: str) -> ChangedStorage:
    """Return the edit that creates storage classes like an existing one."""

    def rewrite(book: Book) -> list[Content] | None:
        content = book.get("StorageClass", "", like)
        if content is None:
            return None
        kept = {key: value for key, value in section(content, "metadata").items() if key not in _IDENTITY}
        return [{**content, "metadata": {**kept, "name": name}} for name in names]

    return ChangedStorage(changes.CreatedClassesLike(tuple(names), like), rewrite, len(names))


def provisioned_classes(names: Sequence[str], provisioner: str) -> ChangedStorage:
    """Return the edit that creates storage classes with *provisioner* that wait for a pod."""
    content = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": provisioner, "volumeBindingMode": WAITS}
    contents = [{**content, "metadata": {"name": name}} for name in names]
    return ChangedStorage(changes.CreatedClasses(tuple(names), provisioner), lambda _: contents, len(names))


def without_topologies(name: str) -> ChangedStorage:
    """Return the edit that drops the allowed topologies of a storage class."""

    def rewrite(book: Book) -> list[Content] | None:
        content = book.get("StorageClass", "", name)
        return None if content is None or content.pop("allowedTopologies", None) is None else [content]

    return ChangedStorage(changes.DroppedAllowedTopologies(name), rewrite)


def unselected(claims: Mapping[ClaimName, str]) -> ChangedStorage:
    """Return the edit that removes the selected node, by claim."""
    selected = tuple(changes.SelectedNode(Name("PersistentVolumeClaim", *claim), node) for claim, node in sorted(claims.items()))

    def rewrite(book: Book) -> list[Content] | None:
        result = []
        for name in sorted(claims):
            content = book.get("PersistentVolumeClaim", *name)
            if content is None or section(section(content, "metadata"), "annotations").pop(_SELECTED_NODE, None) is None:
                return None
            result.append(content)
        return result

    return ChangedStorage(changes.RemovedSelectedNodes(selected), rewrite, len(claims))
