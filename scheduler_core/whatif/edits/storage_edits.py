"""Changes of volumes, claims, storage classes, storage capacity and attach limits."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

from scheduler_core.model import nouns as phrases
from scheduler_core.model.decision import Step
from scheduler_core.model.delayed_claims import ClaimRequest, class_and_size, written
from scheduler_core.model.volumes import ClaimName
from scheduler_core.whatif.edits.edits import MORE_STORAGE, Weight
from scheduler_core.whatif.edits.node_templates import HOSTNAME, Content, section
from scheduler_core.whatif.edits.raw_objects import Book

WAITS = "WaitForFirstConsumer"
"""Binding mode of a class whose claims wait for a pod."""
_ADDED = "-added-"
_NAMESPACE = "default"
"""Namespace of new storage capacities."""
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_IDENTITY = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "annotations", "labels")


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedStorage:
    """Objects about volumes that are changed or added.

    Attributes:
        words: the change in words.
        change: returns the changed objects; None if they cannot be changed.
        extent: see Edit.

    """

    words: str
    change: Callable[[Book], Sequence[Content] | None]
    extent: int = 1

    @property
    def weight(self) -> Weight:
        """See Edit."""
        return MORE_STORAGE, self.extent

    def steps(self, book: Book) -> tuple[Step, ...] | None:
        """See Edit."""
        changed = self.change(book)
        return None if changed is None else tuple(Step(apply=each) for each in changed)


LocalVolumes = Sequence[tuple[str, ClaimRequest]]
"""New volumes: the node of each, and a claim that it is for."""


def more_volumes(volumes: LocalVolumes, where: str) -> ChangedStorage:
    """Return the edit that adds local *volumes*; *where* is their domain in words, empty for the cluster."""
    kinds: dict[tuple[str, int], int] = {}
    for _, request in volumes:
        kinds[request.storage_class, request.size or 0] = kinds.get((request.storage_class, request.size or 0), 0) + 1
    named = [f"{phrases.counted(count, 'more local volume')} of {class_and_size(*each)}" for each, count in kinds.items()]
    nodes = phrases.listed(sorted({node for node, _ in volumes}))
    words = f"{phrases.listed(named)}{f' in {where}' if where else ''}, on {nodes}"

    def change(book: Book) -> list[Content] | None:
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

    return ChangedStorage(words, change, len(volumes))


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


@dataclasses.dataclass(frozen=True, slots=True)
class AddedCapacity:
    """A storage capacity to raise or to add.

    Attributes:
        name: namespace and name of the object; None to add one.
        storage_class: its class.
        where: its nodes in words, such as ``in zone z1``; empty for all nodes.
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
    where: str
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
    def words(self) -> list[str]:
        """Return each figure that is raised, in words."""
        of_class = f"of class {self.storage_class}{f' {self.where}' if self.where else ''} raised"
        start = f"from {written(self.before)} " if self.before >= 0 else ""
        words = [] if self.limit is None else [f"maximum volume size {of_class} from {written(self.limit)} to {written(self.largest)}"]
        return [*words, f"storage capacity {of_class} {start}to {written(self.total)}"] if self.raises_capacity else words


def more_capacity(capacities: Sequence[AddedCapacity]) -> ChangedStorage:
    """Return the edit that raises storage capacities."""
    words = [figure for each in capacities for figure in each.words]

    def change(book: Book) -> list[Content] | None:
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

    return ChangedStorage(phrases.listed(words), change, len(capacities))


def _new_capacity(each: AddedCapacity, book: Book) -> Content:
    # A label value can have characters that a name cannot have.
    suffix = "".join(f"-{value}" for value in each.labels.values()).lower().replace("_", "-").replace(".", "-")
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
    nodes, limits = phrases.listed(sorted(before)), {*before.values()}
    amount = f"from {min(limits)} to {min(limits) + more}" if len(limits) == 1 else f"by {more}"

    def change(book: Book) -> list[Content] | None:
        result = []
        for node, limit in sorted(before.items()):
            content = book.get("CSINode", "", node)
            entries = [each for each in section(content or {}, "spec").get("drivers") or () if each.get("name") == driver]
            if content is None or not entries:
                return None
            section(entries[0], "allocatable")["count"] = limit + more
            result.append(content)
        return result

    return ChangedStorage(f"attach limit of CSI driver {driver} raised {amount} on {nodes}", change, more * len(before))


def new_classes(names: Sequence[str], like: str) -> ChangedStorage:
    """Return the edit that creates storage classes like an existing one."""

    def change(book: Book) -> list[Content] | None:
        content = book.get("StorageClass", "", like)
        if content is None:
            return None
        kept = {key: value for key, value in section(content, "metadata").items() if key not in _IDENTITY}
        return [{**content, "metadata": {**kept, "name": name}} for name in names]

    return ChangedStorage(f"StorageClass {phrases.listed(names)} created like {like}", change, len(names))


def provisioned_classes(names: Sequence[str], provisioner: str) -> ChangedStorage:
    """Return the edit that creates storage classes with *provisioner* that wait for a pod."""
    content = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": provisioner, "volumeBindingMode": WAITS}
    contents = [{**content, "metadata": {"name": name}} for name in names]
    return ChangedStorage(f"StorageClass {phrases.listed(names)} created with provisioner {provisioner}", lambda _: contents, len(names))


def without_topologies(name: str) -> ChangedStorage:
    """Return the edit that drops the allowed topologies of a storage class."""

    def change(book: Book) -> list[Content] | None:
        content = book.get("StorageClass", "", name)
        return None if content is None or content.pop("allowedTopologies", None) is None else [content]

    return ChangedStorage(f"allowed topologies of StorageClass {name} dropped", change)


def unselected(claims: Mapping[ClaimName, str]) -> ChangedStorage:
    """Return the edit that removes the selected node, by claim."""
    named = phrases.listed([f"{namespace}/{name} ({node})" for (namespace, name), node in sorted(claims.items())])

    def change(book: Book) -> list[Content] | None:
        result = []
        for name in sorted(claims):
            content = book.get("PersistentVolumeClaim", *name)
            if content is None or section(section(content, "metadata"), "annotations").pop(_SELECTED_NODE, None) is None:
                return None
            result.append(content)
        return result

    return ChangedStorage(f"selected node of {'claim' if len(claims) == 1 else 'claims'} {named} removed", change, len(claims))
